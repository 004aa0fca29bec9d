"""Bridges: names in what was found that lead from what a question names to what it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag_core.llm.reading.languages import language_of
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.wordings import of_fiscal_year
from rag_core.llm.reading.words import stems, words

_ASKS = re.compile(
    r"\?|\b(?:who|whom|whose|what|which|when|where|why|how)\b"
    r"|^\W*(?:please|compare|describe|explain|find|give|identify|list|name|say|show|tell)\b",
    re.IGNORECASE,
)


def bridges_of(
    question: str, passages: Sequence[tuple[str, str, float]], tried: Sequence[str], reading: Reading
) -> list[str]:
    """Names that were not searched for yet, the nearest to the question first; none where none can help.

    Args:
        passages: `(heading, text, score)` of what was found.
        tried: The queries until now.
    """
    if not _has_unknown(question) or not _of_one_language(question, [text for _, text, _ in passages]):
        return []
    used = {stem for text in [question, *tried] for stem in stems(text)}
    asked = stems(question)
    worth: dict[str, float] = {}
    for heading, text, score in passages:
        for sentence in sentences(text):
            near = score * reading.coverage(asked, stems(f"{heading} {sentence}"))
            for name in names_of(sentence):
                if not used.issuperset(stems(name)):
                    worth[name] = max(worth.get(name, 0.0), near)
    return sorted(worth, key=worth.__getitem__, reverse=True)


def predicate_of(question: str) -> list[str]:
    """The question's content words that are no names."""
    named = {stem for name in names_of(question) for stem in stems(name)}
    return as_written(question, set(stems(question)) - named)


def as_written(text: str, wanted: Iterable[str]) -> list[str]:
    """Stems as the text has them, in its order."""
    kept = set(wanted)
    return [word for word in dict.fromkeys(words(text)) if kept.intersection(stems(word))]


def _has_unknown(question: str) -> bool:
    """Whether something between what a question names and what it asks for may be unknown.

    A claim and a figure of a fiscal year are of what is named, and one that names nothing has nothing to go on from:
    there what another hop brings only pushes the evidence down.
    """
    claims = question.rstrip().endswith(".") and not _ASKS.search(question)
    return bool(names_of(question)) and not claims and not of_fiscal_year(question)


def _of_one_language(question: str, texts: Sequence[str]) -> bool:
    """Whether question and evidence can be compared by their words."""
    return language_of(question, least=1) == language_of(" ".join(texts))
