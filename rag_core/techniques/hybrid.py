"""Hybrid search: by meaning and by words at once, fused in Weaviate, then weighed by the company that chunks keep.

Vectors find what is said in other words; BM25 finds names, numbers and rare terms. An answer is seldom in the only
chunk of its page and document that speaks of the question, so pages and documents with more hits come first. Costs
one embedding of the query and one search, some 2 ms of which are for the deeper list.

Sources: Bruch et al. 2023, "An Analysis of Fusion Functions for Hybrid Retrieval", https://arxiv.org/abs/2210.11934;
Bendersky and Kurland 2008, "Utilizing Passage-Based Language Models for Document Retrieval",
https://doi.org/10.1007/978-3-540-78646-7_17
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from rag_core.llm.reading.wordings import other_wordings
from rag_core.techniques.base import Embedder, Searcher, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, SearchFilter

# Hits that pages and documents are weighed by: recall@5 of pages was the same with 60 and 100, each 10 cost 0.5 ms.
DEPTH = 50
_OF_A_DOCUMENT = 5


class HybridSettings(TechniqueSettings):
    """How the collection is searched."""

    alpha: float = Field(default=0.5, ge=0, le=1, description="0 searches by words alone, 1 by meaning alone.")
    fusion: Literal["relative", "ranked"] = Field(
        default="relative", description="How the two lists become one: by their scores, or by their ranks alone."
    )
    limit: int = Field(default=10, ge=5, le=50, description="Chunks that a search brings.")
    threshold: float = Field(
        default=0.0, ge=0, le=1, description="Chunks whose meaning is less close than this are left out; 0 keeps all."
    )
    wordings: bool = Field(
        default=True, description="Search also for what the question abbreviates: long forms, years of 'FY18'."
    )
    page_weight: float = Field(
        default=0.5, ge=0, le=2, description="How much the other hits on its page count for a chunk; 0 ranks it alone."
    )
    document_weight: float = Field(
        default=0.3, ge=0, le=2, description="How much the other hits in its document count for a chunk."
    )


class Hybrid:
    """Searches one collection."""

    def __init__(self, settings: HybridSettings, searcher: Searcher, embedder: Embedder) -> None:
        self._settings = settings
        self._searcher = searcher
        self._embedder = embedder

    def query(self, question: str) -> str:
        """What is searched for: the question, and after it what documents may call the same."""
        return " ".join([question, *other_wordings(question)]) if self._settings.wordings else question

    def limit(self, at_least: int) -> int:
        """How many hits a search brings where at least so many are wanted."""
        return max(self._settings.limit, at_least)

    def search(
        self, query: str, where: SearchFilter, *, at_least: int = 0, vector: np.ndarray | None = None
    ) -> list[Hit]:
        """The best chunks for a query, best first: at most `limit(at_least)`, without duplicates.

        Args:
            vector: What to search for by meaning, (dimensions,) of unit length; the query's own where not given.

        Raises:
            StoreError: The search failed.
        """
        settings = self._settings
        wanted = self.limit(at_least)
        # Both ends of alpha stay exact: words alone, meaning alone.
        weighs = 0 < settings.alpha < 1 and (settings.page_weight > 0 or settings.document_weight > 0)
        hits = self._searcher.hybrid(
            query,
            self._embedder.embed_one(query) if vector is None else vector,
            alpha=settings.alpha,
            limit=max(wanted, DEPTH) if weighs else wanted,
            fusion=settings.fusion,
            where=where,
        )
        # A chunk found by words alone has no closeness to hold against the threshold: it stays.
        least = settings.threshold or -1.0
        close = [hit for hit in hits if hit.scores.get("dense", 1.0) >= least]
        return (weighed(close, settings.page_weight, settings.document_weight) if weighs else close)[:wanted]


def weighed(hits: Sequence[Hit], page_weight: float, document_weight: float) -> list[Hit]:
    """Rank hits by their own score, that of their page and that of their document.

    Args:
        hits: Best first, with scores in 0..1.

    Returns:
        The same hits, best first; their scores in 0..1, with 'page' and 'document' in 0..1 beside 'fused'. Passages
        without pages keep their order.
    """
    pages: dict[tuple[str, object], float] = defaultdict(float)
    documents: dict[str, float] = defaultdict(float)
    on_page: dict[tuple[str, object], int] = defaultdict(int)
    in_document: dict[str, int] = defaultdict(int)
    for hit in hits:
        page, document = _page_of(hit.chunk), hit.chunk.document
        on_page[page] += 1
        pages[page] += hit.score / on_page[page]
        in_document[document] += 1
        if in_document[document] <= _OF_A_DOCUMENT:
            documents[document] += hit.score
    best_page, best_document = max(pages.values(), default=0) or 1, max(documents.values(), default=0) or 1
    made = []
    for hit in hits:
        page = pages[_page_of(hit.chunk)] / best_page
        document = documents[hit.chunk.document] / best_document
        score = (hit.score + page_weight * page + document_weight * document) / (1 + page_weight + document_weight)
        made.append(
            hit.model_copy(update={"score": score, "scores": hit.scores | {"page": page, "document": document}})
        )
    return sorted(made, key=lambda hit: -hit.score)


def _page_of(chunk: Chunk) -> tuple[str, object]:
    return chunk.document, chunk.page or chunk.id


HYBRID = Technique(
    name="hybrid",
    label="hybrid",
    group="retrieve",
    summary="Searches by meaning and by words at once.",
    settings=HybridSettings,
    always=True,
    verb=Hybrid.search,
)
