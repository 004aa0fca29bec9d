"""What a question asks for, told by its words: the kind of thing that answers it, and what is asked about."""

from __future__ import annotations

import re
from typing import Literal

from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.words import stems

Kind = Literal["date", "number", "person", "place"]

_KINDS: dict[Kind, re.Pattern[str]] = {
    "date": re.compile(
        r"\bwhen\b|\b(?:what|which) (?:[\w-]+ )?(?:year|date|day|month|century|decade)\b|\bdate of\b", re.IGNORECASE
    ),
    "number": re.compile(
        r"\bhow (?:many|much|long|old|far|often|large|big|high|tall|fast|soon)\b"
        r"|\bwhat (?:[\w-]+ )?(?:percentage|percent|number|share|amount|age|size|revenue|population)\b",
        re.IGNORECASE,
    ),
    "person": re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE),
    "place": re.compile(
        r"\bwhere\b|\b(?:what|which) (?:[\w-]+ )?(?:city|country|state|town|place|county|region|river|continent)\b",
        re.IGNORECASE,
    ),
}
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:1\d|20)\d\d"
_DATE = re.compile(
    rf"\b{_MONTH} {_DAY}(?:,? {_YEAR})?\b|\b(?:{_DAY} )?{_MONTH},? {_YEAR}\b|\b{_DAY} (?:of )?{_MONTH}(?=\W|$)"
    rf"|\b{_YEAR}s?\b|\b(?:[a-z]+teenth|\d\dth) century\b"
)
_YEARS = re.compile(r"(?:19|20)\d\d")
_NUMBER = re.compile(
    r"\d[\d.,]*(?<![.,])|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|hundreds?|thousands?|millions?|billions?|dozens?|half|third|quarter|once|twice)\b",
    re.IGNORECASE,
)
# What is said of the document and of the form of the answer, and not of what the document is about.
_TOLD_HOW = re.compile(
    r"(?:(?<=[?.!])|^)\s*(?:please|write|give me|answer|directly answer|format|round|enumerate|(?:your|the) answer"
    r"|for example)\b[^?]*?(?:[.!](?=\s|$)|$)",
    re.IGNORECASE,
)
_OF_THE_DOCUMENT = frozenset(
    stems(
        "document paper report article deck slide presentation file pdf book guide guidebook manual page figure table "
        "chart graph image picture photo section chapter appendix column according shown listed mentioned given "
        "following write answer list format integer float name number many much type kind example"
    )
)
_POINTS = re.compile(
    r"\b(?:page|slide|figure|fig\.?|table|section|chapter|appendix)s? [\divx]+\b"
    r"|\b\w+(?:st|nd|rd|th|last) (?:page|slide)\b|\bin (?:the )?(?:appendix|(?:[\w-]+ ){1,3}section)\b"
    r"|\b(?:chart|graph|diagram|figure|image|picture|photo|logo|icon|cover|box|bar|layout|colou?r)(?:s|ed)?\b"
    r"|\bthis (?:document|paper|article|report|slides?|guide(?:book)?|deck)\b|\b(?:slides|guidebook|deck)\b",
    re.IGNORECASE,
)


def kind_asked(question: str) -> Kind | None:
    """The kind of thing that answers a question; None where its words do not tell."""
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(question)), None)


def values(kind: Kind, text: str) -> list[str]:
    """All things of a kind that a text names, as written, in its order."""
    if kind == "date":
        return _DATE.findall(text)
    return _NUMBER.findall(text) if kind == "number" else names_of(text)


def without_orders(question: str) -> str:
    """The question without what it says on the form of its answer: 'Write the answer in integer format.'"""
    return _TOLD_HOW.sub(" ", question).strip() or question


def subject_of(question: str) -> list[str]:
    """The stems of what is asked about: without words that only speak of the document or of the answer's form."""
    said = stems(without_orders(question))
    return [stem for stem in said if stem not in _OF_THE_DOCUMENT] or said


def points_at(question: str) -> bool:
    """Whether a question points at the look or a place of the document: 'the red box on page 5'."""
    return bool(_POINTS.search(question))


def specifics_of(question: str) -> list[frozenset[str]]:
    """The names and years that a question speaks of, each as its stems."""
    asked = without_orders(question)
    found = [frozenset(stems(name)) - _OF_THE_DOCUMENT for name in [*names_of(asked), *_YEARS.findall(asked)]]
    return [one for one in found if one]
