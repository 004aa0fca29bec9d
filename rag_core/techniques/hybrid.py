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
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

import numpy as np
from pydantic import Field

from rag_core.llm.reading.wordings import other_wordings
from rag_core.techniques.base import Embedder, Searcher, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, SearchFilter

# Hits that pages and documents are weighed by: recall@5 of pages was less with 20 and the same with 50 and 100, and
# each 10 cost 0.5 ms.
DEPTH = 30
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
        default=0.5, ge=0, le=2, description="How much the words found on its page count for a chunk; 0 ranks it alone."
    )
    document_weight: float = Field(
        default=0.3, ge=0, le=2, description="How much the other hits in its document count for a chunk."
    )


def query_for(question: str, settings: HybridSettings) -> str:
    """What is searched for: the question, and after it what documents may call the same."""
    return " ".join([question, *other_wordings(question)]) if settings.wordings else question


class Hybrid:
    """Searches one collection."""

    def __init__(self, settings: HybridSettings, searcher: Searcher, embedder: Embedder) -> None:
        self._settings = settings
        self._searcher = searcher
        self._embedder = embedder

    def query(self, question: str) -> str:
        """What is searched for."""
        return query_for(question, self._settings)

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

    A page has the BM25 of its hits, the second for a half, the third for a third: words that a question asks for
    together add up over its chunks, while vectors of one page all say the same.

    Args:
        hits: Best first, with fused scores in 0..1.

    Returns:
        The same hits, best first; their scores in 0..1, with 'page' and 'document' in 0..1 beside 'fused'. Passages
        without pages keep their order.
    """
    found: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    documents: defaultdict[str, list[float]] = defaultdict(list)
    for hit in hits:
        documents[hit.chunk.document].append(hit.score)
        if page := _page_of(hit.chunk):
            found[page].append(hit.scores.get("lexical", 0.0))
    of_page = _shares({page: _falling(scores) for page, scores in found.items()})
    of_document = _shares({name: sum(scores[:_OF_A_DOCUMENT]) for name, scores in documents.items()})
    made = []
    for hit in hits:
        page = _page_of(hit.chunk)
        extra = {
            "page": of_page[page] if page else hit.score / (hits[0].score or 1),
            "document": of_document[hit.chunk.document],
        }
        score = hit.score + page_weight * extra["page"] + document_weight * extra["document"]
        weight = 1 + page_weight + document_weight
        made.append(hit.model_copy(update={"score": score / weight, "scores": hit.scores | extra}))
    return sorted(made, key=lambda hit: -hit.score)


def _page_of(chunk: Chunk) -> tuple[str, int] | None:
    return (chunk.document, chunk.page) if chunk.page else None


def _falling(scores: Iterable[float]) -> float:
    return sum(score / rank for rank, score in enumerate(sorted(scores, reverse=True), start=1))


_Key = TypeVar("_Key")


def _shares(scores: dict[_Key, float]) -> dict[_Key, float]:
    """Each as a share of the best: 0..1."""
    best = max(scores.values(), default=0) or 1
    return {key: score / best for key, score in scores.items()}


HYBRID = Technique(
    name="hybrid",
    label="hybrid",
    group="retrieve",
    summary="Searches by meaning and by words at once.",
    settings=HybridSettings,
    always=True,
    verb=Hybrid.search,
)
