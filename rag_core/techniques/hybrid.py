"""Hybrid search: by meaning and by words at once, fused in Weaviate.

Vectors find what is said in other words; BM25 finds names, numbers and rare terms. Costs one embedding of the
query and one search.

Source: Bruch et al. 2023, "An Analysis of Fusion Functions for Hybrid Retrieval", https://arxiv.org/abs/2210.11934
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.techniques.base import Embedder, Searcher, Technique, TechniqueSettings
from rag_core.types import Hit, SearchFilter


class HybridSettings(TechniqueSettings):
    """How the collection is searched."""

    alpha: float = Field(default=0.5, ge=0, le=1, description="0 searches by words alone, 1 by meaning alone.")
    fusion: Literal["relative", "ranked"] = Field(
        default="relative", description="How the two lists become one: by their scores, or by their ranks alone."
    )
    limit: int = Field(default=10, ge=5, le=50, description="Chunks that a search brings.")
    threshold: float = Field(
        default=0.0, ge=0, le=1, description="Chunks whose meaning is less close than this are left out."
    )


class Hybrid:
    """Searches one collection."""

    def __init__(self, settings: HybridSettings, searcher: Searcher, embedder: Embedder) -> None:
        self._settings = settings
        self._searcher = searcher
        self._embedder = embedder

    def search(self, query: str, where: SearchFilter, *, at_least: int = 0) -> list[Hit]:
        """The best chunks for a query, best first: at most `max(limit, at_least)`, without duplicates.

        Raises:
            StoreError: The search failed.
        """
        settings = self._settings
        hits = self._searcher.hybrid(
            query,
            self._embedder.embed_one(query),
            alpha=settings.alpha,
            limit=max(settings.limit, at_least),
            fusion=settings.fusion,
            where=where,
        )
        # A chunk found by words alone has no closeness to hold against the threshold: it stays.
        return [hit for hit in hits if hit.scores.get("dense", 1.0) >= settings.threshold]


HYBRID = Technique(
    name="hybrid",
    label="hybrid",
    group="retrieve",
    summary="Searches by meaning and by words at once.",
    settings=HybridSettings,
    always=True,
)
