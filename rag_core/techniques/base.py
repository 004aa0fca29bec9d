"""What every technique has: frozen settings, an entry for the table, and the collaborators that it may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from rag_core.types import Hit, SearchFilter, Value

Group = Literal["question", "retrieve", "check", "answer"]


class TechniqueSettings(Value):
    """Settings of one technique. A technique that is off is absent from the plan."""


@dataclass(frozen=True)
class Technique:
    """One line of the table `TECHNIQUES`: what toggles, trace, command line and evaluation need to know."""

    name: str
    label: str
    group: Group
    summary: str
    settings: type[TechniqueSettings]
    always: bool = False


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


class Embedder(Protocol):
    """Text vectors: unit length, float32."""

    def embed(self, texts: Sequence[str]) -> np.ndarray: ...

    def embed_one(self, text: str) -> np.ndarray: ...
