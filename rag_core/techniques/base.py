"""What every technique has: frozen settings, an entry for the table, and the collaborators that it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import Field

from rag_core.llm.signature import Signature
from rag_core.types import Chunk, Hit, SearchFilter, Support, Value

Group = Literal["question", "retrieve", "check", "answer"]


class TechniqueSettings(Value):
    """Settings of one technique. A technique that is off is absent from the plan."""


@dataclass(frozen=True)
class Technique:
    """One line of the table `TECHNIQUES`: what toggles, trace, command line and evaluation need to know.

    Args:
        verb: The method that a plain function may take the place of.
        signatures: What it asks an engine; each may get another prompt and another model.
    """

    name: str
    label: str
    group: Group
    summary: str
    settings: type[TechniqueSettings]
    always: bool = False
    verb: Callable[..., Any] | None = None
    signatures: tuple[Signature[Any, Any], ...] = ()


class Searcher(Protocol):
    """A collection's chunks, to be searched."""

    def hybrid(
        self,
        query: str,
        vector: np.ndarray,
        *,
        alpha: float,
        limit: int,
        fusion: Literal["relative", "ranked"],
        where: SearchFilter,
    ) -> list[Hit]: ...

    def document(self, document: str) -> Iterator[Chunk]:
        """All chunks of a document, in its order."""
        ...


class Listed(Value):
    """A document as a question may speak of it."""

    id: str
    name: str
    title: str = ""
    pages: int = 0
    version: str = Field(default="", description="Another one when its content has changed.")
    by_meaning: bool = Field(default=True, description="All its chunks have vectors; else words alone find the rest.")


class Catalogue(Protocol):
    """The documents of the searched collection."""

    def documents(self) -> Sequence[Listed]: ...

    def printed(self, document: str, number: str) -> Sequence[int]:
        """The pages that have this number printed in their margin."""
        ...


class Turn(Value):
    """An earlier question of the chat and what was answered."""

    question: str
    answer: str = ""


class Remembered(Value):
    """An answer that the user marked good."""

    run: str
    question: str
    answer: str
    evidence: tuple[str, ...] = Field(description="Ids of the chunks that it cites.")
    documents: dict[str, str] = Field(description="Ids of their documents, each with its version then.")


class Memories(Protocol):
    """The answers marked good over one collection."""

    def kept(self) -> Sequence[Remembered]:
        """All of them, the latest first."""
        ...

    def forget(self, runs: Sequence[str]) -> None: ...


class Figures(Protocol):
    """A collection's figures, to be searched by what they show."""

    by_picture: bool
    """Whether a picture was given with the question."""

    def like(self, question: str, *, limit: int, where: SearchFilter) -> list[Hit]:
        """Those that show what the question says or, where a picture was given with it, what that shows; best first."""
        ...


class Passages(Protocol):
    """A collection's chunks by id."""

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Those of them that are still there."""
        ...


class Embedder(Protocol):
    """Text vectors: unit length, float32."""

    def embed(self, texts: Sequence[str]) -> np.ndarray: ...

    def embed_one(self, text: str) -> np.ndarray: ...


class Judged(Protocol):
    """How likely passages support a claim, and how likely they contradict it: 0..1 each."""

    @property
    def supported(self) -> float: ...

    @property
    def contradicted(self) -> float: ...


class Critic(Protocol):
    """Judges without a model; what it says are calibrated probabilities."""

    def relevance(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """How likely each passage helps to answer the question."""
        ...

    def support(self, claims: Sequence[str], passages: Sequence[str], question: str = "") -> Sequence[Sequence[Judged]]:
        """Each claim, row by row, against each passage."""
        ...

    def answer_support(self, claim: str, passages: Sequence[str], question: str = "") -> Judged:
        """A claim against all passages together."""
        ...

    def usefulness(self, question: str, answer: str) -> Sequence[float]:
        """How likely an answer is of each use to the one who asks, 1 to 5: five probabilities."""
        ...

    def to_support(self, probability: float) -> Support: ...
