"""Mending an answer: what is shown of its evidence, what becomes of its sentences, and how it is done without a model.

Without one, what nothing holds goes and what is missing is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.statements import statements
from rag_core.llm.reading.words import stems
from rag_core.types import Chunk, Hit, Sentence

HELD = 0.5
"""A sentence that is less likely supported than this is held by nothing."""
_LEAST_GAIN = 0.15
"""The share of the question that a quoted sentence must add."""


class CitedText(BaseModel):
    """A sentence and the numbers of the passages that hold it, from 1."""

    text: str
    passages: list[int] = Field(default=[])


def evidence_of(answer: Sequence[Sentence], hits: Sequence[Hit], most: int) -> list[Chunk]:
    """The chunks that an answer cites and then the best others, `most` of them or as many as are cited."""
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    cited = [chunks[id_] for sentence in answer for id_ in sentence.citations if id_ in chunks]
    ordered = list({chunk.id: chunk for chunk in [*cited, *chunks.values()]}.values())
    return ordered[: max(most, len({chunk.id for chunk in cited}))]


def numbered(chunks: Sequence[Chunk]) -> str:
    """Passages as a model reads them, numbered from 1."""
    return "\n".join(f"[{number}]\n{quoted(chunk.searchable_text)}" for number, chunk in enumerate(chunks, start=1))


def quotable(chunk: Chunk) -> list[str]:
    """What of a chunk can be quoted, in its order: whole sentences; rows of tables with the names of their cells."""
    found = list(statements(chunk.text, 0, table=chunk.kind == "table"))
    whole = [one for one in found if one.row or one.is_sentence] or found
    return list(dict.fromkeys(one.text for one in whole))


def as_sentences(written: Sequence[CitedText], before: Sequence[Sentence], chunks: Sequence[Chunk]) -> list[Sentence]:
    """The sentences of a mended answer, each text once.

    One that stayed as it was keeps what is known of it; another has its citations alone, and is still to be checked.
    """
    known = {sentence.text: sentence for sentence in before}
    found: dict[str, Sentence] = {}
    for one in written:
        text = " ".join(one.text.split())
        cited = [chunks[number - 1].id for number in one.passages if 0 < number <= len(chunks)]
        if text:
            found.setdefault(text, known.get(text) or Sentence(text=text, citations=tuple(dict.fromkeys(cited))))
    return list(found.values())


def mended(
    question: str,
    answer: Sequence[str],
    supported: Sequence[float],
    passages: Sequence[Sequence[str]],
    reading: Reading,
    most: int,
) -> list[CitedText]:
    """The sentences that are held, and quotes of the passages that say more of what was asked.

    A quote takes the place of the first sentence that went; further ones follow at the end. Where no sentence is held
    and nothing can be quoted, the answer stays as it is: to say nothing is not the mender's to decide.

    Args:
        supported: For each sentence, the probability that it is supported.
        passages: For each passage what of it can be quoted.
        most: Sentences that are quoted, at most.
    """
    kept = [text for text, held in zip(answer, supported, strict=True) if held >= HELD]
    quotes = _quotes(question, kept, passages, reading, most)
    if not kept and not quotes:
        return [CitedText(text=text) for text in answer]
    place = next((at for at, held in enumerate(supported) if held < HELD), len(kept))
    stayed = [CitedText(text=text) for text in kept]
    return [*stayed[:place], *quotes[:1], *stayed[place:], *quotes[1:]]


def _quotes(
    question: str, said: Sequence[str], passages: Sequence[Sequence[str]], reading: Reading, most: int
) -> list[CitedText]:
    """Sentences of the passages, each the one that adds most of the question's words to what is said before it."""
    asked = stems(question)
    found: dict[str, int] = {}
    for number, passage in enumerate(passages, start=1):
        for text in passage:
            found.setdefault(text, number)
    held = {stem for text in said for stem in stems(text)}
    chosen: list[CitedText] = []
    while found and len(chosen) < most:
        covered = reading.coverage(asked, held)
        gains = {text: reading.coverage(asked, held.union(stems(text))) - covered for text in found}
        best = max(gains, key=gains.__getitem__)
        if gains[best] < _LEAST_GAIN:
            break
        chosen.append(CitedText(text=best, passages=[found.pop(best)]))
        held.update(stems(best))
    return chosen
