"""Names and periods: what a question is about and when, told by how they are written."""

from __future__ import annotations

import re

_JOINT = r"(?:of|the|de|da|di|del|della|van|von|der|den|la|le|du|y|for|and|&)"
_CAPITAL = r"(?:[A-Z][a-z]{0,3}\.(?=\s\S)|[^\W\d_a-zß-öø-ÿ][\w&’'-]*)"  # 'Dr.' with its point
_MIXED = r"[^\W_]+[A-Z][\w&-]*"  # 'DataWeave', '3M'
_WORD = rf"(?:{_CAPITAL}|{_MIXED})"
_NAME = re.compile(rf"(?<!\w){_WORD}(?:\s+(?:{_WORD}|\d{{1,3}}\b(?!\s*%))|\s+{_JOINT}(?:\s+the)?\s+{_WORD})*")
_QUOTED = re.compile(r"[\"“]([^\"”]{2,80})[\"”]")
# What begins a sentence with a capital and is no name.
_OPENERS = frozenset(
    """a about after all also although an and any are as at be because before between both but by can compare compute
    could count current describe did do does during each enumerate every explain find following for from give had has
    have he hello her hers hey hi his how however i if in into is it its list main many may me might more most my name
    no not of ok okay on one or other our outline over please she should show since so some sum summarise summarize
    summary tell thank thanks that the their them then there these they this those through to total until up was we
    well were what whats what's when where which while who whom whose why will with would yes you your""".split()
)
_PERIOD = re.compile(
    r"\b(?:(?:the )?(?:first|second|third|fourth|last|1st|2nd|3rd|4th) (?:quarter|half)"
    r"(?:(?: of)?(?: (?:FY ?)?(?:19|20)\d\d))?"
    r"|(?:[QH][1-4]|[1-4]Q)(?:\s*(?:of\s+)?(?:FY ?)?(?:(?:19|20)\d\d|['’]\d\d))?"
    r"|(?:\d{1,2}\s+)?(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?:\s+\d{1,2},)?\s+(?:19|20)\d\d"
    r"|(?:FY|CY|fiscal(?: year)?)\s?['’]?(?:(?:19|20)\d\d|\d\d)"
    r"|(?:19|20)\d\d(?:[-–/]\d{2,4})?"
    r"|(?:last|this|next|previous) (?:year|quarter|month|week))\b",
    re.IGNORECASE,
)


def periods_of(text: str) -> list[str]:
    """The years, quarters and dates of a text as they are written, in its order."""
    return [match.group() for match in _PERIOD.finditer(text)]


def names_of(text: str) -> list[str]:
    """The names of a text as they are written, in its order, each once: what is quoted, and what has capitals.

    The word that begins a sentence counts where it is none that usually does.
    """
    found = [(match.start(1), match.group(1)) for match in _QUOTED.finditer(text)]
    bare = _PERIOD.sub(lambda match: " ; " + " " * max(0, len(match.group()) - 3), _QUOTED.sub(_blank, text))
    for match in _NAME.finditer(bare):
        at, name = match.start(), match.group()
        while name and name.split()[0].lower().rstrip(".,") in _OPENERS:
            rest = name.split(maxsplit=1)[1:]
            at, name = (at + len(name) - len(rest[0]), rest[0]) if rest else (at, "")
        name = re.sub(r"['’]s?$", "", name.rstrip(".,-"))
        if len(name) > 1 or name.isdigit():
            found += _apart(at, name)
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _apart(at: int, name: str) -> list[tuple[int, str]]:
    """'Cloud Platform and Enterprise Software' is two names, and so are "3M's Post-it" and 'CFO of AMD'."""
    parts, start = [], 0
    for joint in [*re.finditer(r"['’]s\s+|\s+and\s+(?!the\b)|(?<=[A-Z]{3})\s+of\s+(?:the\s+)?", name)]:
        parts.append((at + start, name[start : joint.start()]))
        start = joint.end()
    return [*parts, (at + start, name[start:])]


def _blank(match: re.Match[str]) -> str:
    return " ; " + " " * max(0, len(match.group()) - 3)
