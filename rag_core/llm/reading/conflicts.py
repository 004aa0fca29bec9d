"""Conflicts: statements that say the same of something and give it different values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from rag_core.llm.reading.asked import Kind, values
from rag_core.llm.reading.statements import Statement
from rag_core.llm.reading.words import stems, words

_LEAST_SHARED = 0.6
"""Of the words of two statements that say the same; what is said of two matters shares fewer."""
_LEAST_WORDS = 5
_VALUE_WORDS = 5
_WORD = re.compile(r"\w[\w.,'’&$%-]*\w|\w")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NUMBERED = re.compile(r"([a-z]+)[\s-]+(\d{1,2})\b", re.IGNORECASE)
"""'Season 4', 'GPT-3'."""


@dataclass(frozen=True)
class Conflict:
    """Two statements and the value that each gives, as written."""

    one: Statement
    other: Statement
    value: str
    other_value: str


def conflict_among(found: Sequence[Statement], question: str, kind: Kind | None) -> Conflict | None:
    """The first pair, best statements first, that differs in a value of the kind asked for and in nothing else.

    Args:
        found: What speaks of the question; only sentences count, as rows and headings are alike by their form.
        kind: What answers the question; None takes names, dates and numbers.
    """
    asked = set(stems(question))
    told = [
        one for one in found if one.is_sentence and one.words >= _LEAST_WORDS and not _of_another(one.text, question)
    ]
    for one, other in combinations(told, 2):
        differing = _differing(one.text, other.text) if one.passage != other.passage else None
        if (
            differing is None
            or _asked_or_same(*differing, asked)
            or not all(_is_value(text, kind) for text in differing)
        ):
            continue
        if any(set(stems(text)) <= side.around for text, side in zip(differing, (one, other), strict=True)):
            continue  # two things are spoken of, each under its own heading
        return Conflict(one, other, _whole_date(differing[0], one.text), _whole_date(differing[1], other.text))
    return None


def _of_another(text: str, question: str) -> bool:
    """Whether it speaks of another year, season or quarter than the question and not of the one asked for."""
    years, told = set(_YEAR.findall(question)), set(_YEAR.findall(text))
    if years and told and not years & told:
        return True
    numbered = {(word.lower(), number) for word, number in _NUMBERED.findall(text)}
    return any(
        (word.lower(), number) not in numbered and any(word.lower() == other for other, _ in numbered)
        for word, number in _NUMBERED.findall(question)
    )


def _differing(one: str, other: str) -> tuple[str, str] | None:
    """The one stretch of words in which two texts differ, as each has it; None where more than that differs."""
    left, right = _WORD.findall(one), _WORD.findall(other)
    matcher = SequenceMatcher(None, [word.lower() for word in left], [word.lower() for word in right], autojunk=False)
    if matcher.ratio() < _LEAST_SHARED:
        return None
    changed = [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag == "replace"]
    pairs = {(" ".join(left[a:b]), " ".join(right[c:d])) for a, b, c, d in changed}
    if len(pairs) > 1:  # 'July 21, 2017' and 'July 1, 2007' differ in one value
        a, b, c, d = changed[0][0], changed[-1][1], changed[0][2], changed[-1][3]
        pairs = {(" ".join(left[a:b]), " ".join(right[c:d]))}
    pair = next(iter(pairs), None)
    return pair if pair and all(len(text.split()) <= _VALUE_WORDS for text in pair) else None


def _asked_or_same(one: str, other: str, asked: set[str]) -> bool:
    """Whether the difference is what the question speaks of, or one of spelling or exactness alone."""
    left, right = set(stems(one)), set(stems(other))
    return not left or not right or left <= right or right <= left or bool((left ^ right) & asked)


def _is_value(text: str, kind: Kind | None) -> bool:
    counted = any(mark.isdigit() for mark in text)
    if kind in ("date", "number"):
        return counted or bool(values(kind, text))
    return any(word[0].isupper() for word in text.split()) or (kind is None and counted)


def _whole_date(value: str, text: str) -> str:
    """The date that a value is a part of, as written; '21 2017' is one of 'July 21, 2017'. Else the value itself."""
    part = set(words(value))
    return next((date for date in values("date", text) if part <= set(words(date))), value)


def holders(value: str, found: Sequence[Statement]) -> list[Statement]:
    """The statements that have a value."""
    wanted = words(value)
    return [one for one in found if set(wanted) <= set(words(one.text))]
