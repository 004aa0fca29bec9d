"""The parts of a question, told by its grammar: what it asks for one after the other, and of whom it asks the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.words import stems, words

_JOINS = re.compile(
    r"(?:'s)?[\s,]*(?:[a-z]+\s+){0,3}(?:(?P<word>and|or|nor|versus|vs\.?|than)|,)\s+(?:[a-z]+\s+){0,3}[\"“]?",
    re.IGNORECASE,
)
"""What stands between two names of which the same is asked: 'A or B', 'A older than B', 'A and the film B'."""
_NEXT_CLAUSE = re.compile(
    r"(?<=\?)\s+(?=\w)|,?\s+(?:and|or|as well as)\s+(?=(?:what|who|whom|whose|when|where|which|why|how)\b)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?\s*$|\b(?:what|who|whom|whose|when|where|which|why|how)\s+\w", re.IGNORECASE)
"""A clause that asks; the others say how to answer, or what a word of the question means."""
_LEAST_WORDS = 2
"""Content words of a clause that can be asked by itself."""


def parts_of(question: str) -> tuple[list[str], str]:
    """The parts, at least one, and why: one for each clause that asks something, else one for each of several names."""
    clauses = [clause.strip(" ,?") for clause in _NEXT_CLAUSE.split(question) if _ASKS.search(clause)]
    clauses = [clause for clause in clauses if len(stems(clause)) >= _LEAST_WORDS]
    if len(clauses) > 1:
        return clauses, "It asks several things."
    asked = clauses[0] if clauses else question
    named = _joined(asked)
    if len(named) > 1:
        predicate = _without(asked, named)
        return [" ".join([name, *predicate]) for name in named], f"It is about {', '.join(named)}."
    return [question], "It asks one thing."


def _joined(question: str) -> list[str]:
    """The longest run of names with joints between them, one of which is a word: 'Ada, Duchess of York' is one."""
    runs: list[list[str]] = [[]]
    by_word: list[bool] = [False]
    end = 0
    for name in names_of(question):
        at = question.find(name, end)
        if at < 0:
            continue
        joint = _JOINS.fullmatch(question, end, at) if runs[-1] else None
        if joint is None:
            runs.append([])
            by_word.append(False)
        runs[-1].append(name)
        by_word[-1] |= joint is not None and joint["word"] is not None
        end = at + len(name)
    return max((run for run, word in zip(runs, by_word, strict=True) if word), key=len, default=[])


def _without(question: str, names: Sequence[str]) -> list[str]:
    """The question's content words without those of the names and without what only compares."""
    left_out = {stem for name in names for stem in stems(name)} | set(stems("both either compare same respectively"))
    return [word for word in dict.fromkeys(words(question)) if (own := set(stems(word))) and not own <= left_out]
