"""Memory: answers that you marked good help with similar questions later.

A remembered answer is shown beside the evidence as what it is, with its question and how similar that was; the chunks
that it cites join the evidence, labelled. It is never silently the answer. Years, numbers and names must be the same:
vectors hardly tell '2022' from '2023'. It dies with its documents: when one that it cites is changed or deleted, it
is forgotten. Costs the embedding of the questions remembered, once.

Source: Zhong et al. 2023, "MemoryBank: Enhancing Large Language Models with Long-Term Memory",
https://arxiv.org/abs/2305.10250
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems, words
from rag_core.techniques.base import Catalogue, Memories, Passages, Remembered, Technique, TechniqueSettings
from rag_core.types import Hit, SearchFilter, Value

# What is asked for where the first word says so; 'what' may ask for anything.
_SORT = re.compile(r"(?:who|when|where|why|how (?:many|much|long|large))\b", re.IGNORECASE)


class MemorySettings(TechniqueSettings):
    """Which remembered answers are taken up."""

    threshold: float = Field(
        default=0.7, ge=0, le=1, description="How similar the questions must be, half by meaning and half by words."
    )
    most: int = Field(default=3, ge=1, le=10, description="Remembered answers that a question brings back.")


class Recalled(Value):
    """A remembered answer that fits the question."""

    run: str = Field(description="Id of the run that gave it.")
    question: str = Field(description="As it was asked then.")
    answer: str
    similarity: float = Field(ge=0, le=1)
    hits: tuple[Hit, ...] = Field(description="The chunks that it cites; 'memory' is the similarity.")

    def as_json(self) -> dict[str, Any]:
        """What the trace keeps of it: the chunks by their ids."""
        return self.model_dump(exclude={"hits"}) | {"chunks": [hit.chunk.id for hit in self.hits]}


class Memory:
    """Brings back good answers to similar questions."""

    def __init__(
        self, settings: MemorySettings, memories: Memories, passages: Passages, catalogue: Catalogue, reading: Reading
    ) -> None:
        self._settings = settings
        self._memories = memories
        self._passages = passages
        self._catalogue = catalogue
        self._reading = reading

    def recall(self, question: str, where: SearchFilter) -> list[Recalled]:
        """The remembered answers to similar questions over this collection, the most similar first.

        What rests on a document that has changed is forgotten on the way.

        Args:
            where: Answers that cite anything outside of it are left out.

        Raises:
            StoreError: The chunks could not be read.
        """
        alive = self._alive()
        if not alive:
            return []
        fitting = [
            (similarity, memory)
            for similarity, memory in self._similar(question, alive)
            if similarity >= self._settings.threshold and _same_particulars(question, memory.question)
        ]
        # The same question may have been marked more than once: the latest stands for all.
        once = {" ".join(words(memory.question)): (close, memory) for close, memory in reversed(fitting)}
        best = sorted(once.values(), key=lambda pair: -pair[0])[: self._settings.most]
        recalled = [self._recalled(memory, close) for close, memory in best]
        return [one for one in recalled if one and all(where.admits(hit.chunk) for hit in one.hits)]

    def _similar(self, question: str, memories: Sequence[Remembered]) -> Iterator[tuple[float, Remembered]]:
        """How similar each question is: vectors alone have 'who founded it' and 'who led it' at 0.86."""
        asked = stems(question)
        closeness = self._reading.closeness(question, [memory.question for memory in memories])
        for close, memory in zip(closeness, memories, strict=True):
            then = stems(memory.question)
            shared = (self._reading.coverage(asked, then) + self._reading.coverage(then, asked)) / 2
            yield min(1.0, max(0.0, 0.5 * float(close) + 0.5 * shared)), memory

    def _alive(self) -> list[Remembered]:
        """Those whose documents are all there as they were; one that is only being read again is not forgotten."""
        now = {document.id: document.version for document in self._catalogue.documents()}
        kept = self._memories.kept()
        changed = [one.run for one in kept if any(now.get(id_, then) != then for id_, then in one.documents.items())]
        if changed:
            self._memories.forget(changed)
        return [one for one in kept if one.documents.items() <= now.items()]

    def _recalled(self, memory: Remembered, similarity: float) -> Recalled | None:
        there = {chunk.id: chunk for chunk in self._passages.get(memory.evidence)}
        if len(there) < len(set(memory.evidence)):  # the index was made anew since, with other chunks
            self._memories.forget([memory.run])
            return None
        hits = tuple(
            Hit(chunk=there[chunk_id], score=similarity, scores={"memory": similarity}) for chunk_id in memory.evidence
        )
        return Recalled(
            run=memory.run, question=memory.question, answer=memory.answer, similarity=similarity, hits=hits
        )


def with_recalled(hits: Sequence[Hit], recalled: Sequence[Recalled]) -> list[Hit]:
    """The evidence with what is remembered: hits that are in both carry the label, the others come after the found.

    A search's ranking stays as it is: memory adds and never displaces.
    """
    remembered = {hit.chunk.id: hit for one in reversed(recalled) for hit in one.hits}
    found = {hit.chunk.id for hit in hits}
    labelled = [
        hit.model_copy(update={"scores": hit.scores | remembered[hit.chunk.id].scores})
        if hit.chunk.id in remembered
        else hit
        for hit in hits
    ]
    least = min((hit.score for hit in hits), default=1.0)
    added = [hit.model_copy(update={"score": least * hit.score}) for id_, hit in remembered.items() if id_ not in found]
    return [*labelled, *added]


def _same_particulars(one: str, other: str) -> bool:
    """Whether two questions speak of the same numbers and names, and ask for the same sort of thing."""
    sorts = {asked[0].lower() for asked in (_SORT.match(one), _SORT.match(other)) if asked}
    return len(sorts) < 2 and _particulars(one) == _particulars(other)


def _particulars(question: str) -> tuple[set[str], set[str]]:
    numbers = set(re.findall(r"\d+(?:[.,]\d+)*", question))
    return numbers, {" ".join(words(name)) for name in names_of(question)}


MEMORY_TECHNIQUE = Technique(
    name="memory",
    label="good answers of before",
    group="retrieve",
    summary="Shows answers to similar questions that you marked good, and adds what they cite to the evidence.",
    settings=MemorySettings,
    verb=Memory.recall,
)
