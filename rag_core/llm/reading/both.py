"""Whether the same is said of two things: 'Are A and B both composers?'"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.statements import Statement
from rag_core.llm.reading.words import stems

_ASKS = re.compile(r"^\W*(?:are|is|were|was|do|does|did|have|has|had|can|could)\b", re.IGNORECASE)
_BOTH = re.compile(r"\bboth\b", re.IGNORECASE)
_COMPARES = re.compile(r"\b(?:same|similar|more|less|than)\b", re.IGNORECASE)
_MOST_WORDS = 4
"""Content words of what is asked of both: more of them are rarely said in one sentence."""


@dataclass(frozen=True)
class OfBoth:
    """The two things, the statement on each, and for each whether it says what is asked."""

    names: tuple[str, str]
    statements: tuple[Statement, Statement]
    says: tuple[bool, bool]


def said_of_both(question: str, ranked: Sequence[Statement]) -> OfBoth | None:
    """What the statements say of each; None where that is not the question, or nothing is said of one or of either."""
    asked = _asked_of_both(question)
    if asked is None:
        return None
    names, predicate = asked
    found = [_statement_on(name, predicate, ranked) for name in names]
    one, other = found
    if one is None or other is None:
        return None
    says = predicate <= one.said, predicate <= other.said
    return OfBoth(names, (one, other), says) if any(says) else None


def _asked_of_both(question: str) -> tuple[tuple[str, str], set[str]] | None:
    """The two names and the stems of what is asked of them."""
    both = _BOTH.search(question)
    if both is None or not _ASKS.match(question) or _COMPARES.search(question):
        return None
    before = names_of(question[: both.start()])
    names = before or names_of(question[both.end() :])[:2]
    if len(names) < 2:
        return None
    start = both.end() if before else question.index(names[1], both.end()) + len(names[1])
    predicate = set(stems(question[start:]))
    return ((names[0], names[-1]), predicate) if 0 < len(predicate) <= _MOST_WORDS else None


def _statement_on(name: str, predicate: set[str], ranked: Sequence[Statement]) -> Statement | None:
    """The best statement on a name, one that says what is asked before all others."""
    wanted = set(stems(name))
    on_it = [one for one in ranked if wanted <= one.said]
    return max(on_it, key=lambda one: predicate <= one.said, default=None)
