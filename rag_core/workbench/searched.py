"""What a run searches: the chunks of some collections, and what is known of their documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_core.embedding.clip import ImageEmbedder
from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import DocumentRecord
from rag_core.llm.reading.reading import Corpus
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.base import Listed
from rag_core.types import Chunk, Hit, SearchFilter

_PAGE_NUMBER = re.compile(r"(?:^|\s)(?:page\s*)?([0-9]{1,4}|[ivxlc]{1,6})(?:\s*(?:of|/)\s*[0-9]{1,4})?(?:\s|$)", re.I)


class Tenant:
    """The store, narrowed to the chunks of one collection."""

    def __init__(self, store: ChunkStore, tenant: str, met: Callable[[Iterable[Chunk]], None]) -> None:
        """Search a tenant.

        Args:
            met: Told the chunks found by their words alone: they may still wait for their vectors.
        """
        self._store = store
        self._tenant = tenant
        self._met = met

    def hybrid(self, query: str, vector: np.ndarray, **asked: Any) -> list[Hit]:
        hits = self._store.hybrid(self._tenant, query, vector, **asked)
        self._met(hit.chunk for hit in hits if "dense" not in hit.scores)
        return hits

    def document(self, document: str) -> Iterator[Chunk]:
        """All chunks of a document, in its order."""
        return self._store.document(self._tenant, document)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Those of these chunks that are there."""
        return self._store.get(self._tenant, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """The text vectors, (dim,), of those of these chunks that have one."""
        return self._store.vectors(self._tenant, ids)


class Tenants:
    """Several collections, searched as one."""

    def __init__(self, tenants: Sequence[Tenant]) -> None:
        self._tenants = tenants

    def hybrid(self, query: str, vector: np.ndarray, *, alpha: float, limit: int, **asked: Any) -> list[Hit]:
        if len(self._tenants) == 1:
            return self._tenants[0].hybrid(query, vector, alpha=alpha, limit=limit, **asked)
        lists = fan_out(
            lambda tenant: tenant.hybrid(query, vector, alpha=alpha, limit=limit, **asked),
            self._tenants,
            at_once=len(self._tenants),
        )
        failed = [one for one in lists if isinstance(one, RagError)]
        if failed:  # an answer must not look as if all collections had been searched
            raise failed[0]
        return on_one_scale([hit for one in lists if not isinstance(one, RagError) for hit in one], alpha)[:limit]

    def document(self, document: str) -> Iterator[Chunk]:
        for tenant in self._tenants:
            yield from tenant.document(document)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [chunk for tenant in self._tenants for chunk in tenant.get(ids)]

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        return {id_: vector for tenant in self._tenants for id_, vector in tenant.vectors(ids).items()}


def on_one_scale(hits: Sequence[Hit], alpha: float) -> list[Hit]:
    """Hits of several searches for the same query as one list, best first.

    Each search scaled its fused scores by its own best and worst; what stands behind them, cosine and BM25, is scaled
    anew over all.
    """
    dense, lexical = (_scaled([hit.scores.get(side) for hit in hits]) for side in ("dense", "lexical"))
    fused = [alpha * close + (1 - alpha) * worded for close, worded in zip(dense, lexical, strict=True)]
    scored = (
        hit.model_copy(update={"score": score, "scores": hit.scores | {"fused": score}})
        for hit, score in zip(hits, fused, strict=True)
    )
    return sorted(scored, key=lambda hit: -hit.score)


def _scaled(values: Sequence[float | None]) -> list[float]:
    """0 for the least and for what is absent, 1 for the best."""
    there = [value for value in values if value is not None]
    least, most = min(there, default=0.0), max(there, default=0.0)
    return [0.0 if value is None else (value - least) / (most - least) if most > least else 1.0 for value in values]


class Together:
    """The word statistics of several collections."""

    def __init__(self, parts: Sequence[Corpus]) -> None:
        self._parts = parts

    @property
    def chunks(self) -> int:
        return sum(part.chunks for part in self._parts)

    def chunks_with(self, stem: str) -> int:
        return sum(part.chunks_with(stem) for part in self._parts)


class Figures:
    """The figures of some collections, by their image vectors."""

    def __init__(self, store: ChunkStore, tenants: Sequence[str], images: ImageEmbedder, picture: Path | None) -> None:
        """Search tenants, by the picture where one is given.

        Raises:
            PictureError: It is none that can be read.
        """
        self._store = store
        self._tenants = tenants
        self._images = images
        self.by_picture = picture is not None
        self._given = None if picture is None else images.embed_images([picture])[0]

    def like(self, question: str, *, limit: int, where: SearchFilter) -> list[Hit]:
        vector = self._images.embed_texts([question])[0] if self._given is None else self._given
        found = [self._store.near_image(tenant, vector, limit=limit, where=where) for tenant in self._tenants]
        return sorted((hit for hits in found for hit in hits), key=lambda hit: -hit.score)[:limit]


class Documents:
    """The documents of the searched collections that can be asked now."""

    def __init__(self, ledger: Ledger, records: Sequence[DocumentRecord]) -> None:
        self._ledger = ledger
        self._listed = [
            Listed(version=record.sha256, **record.model_dump(include=set(Listed.model_fields))) for record in records
        ]

    def documents(self) -> Sequence[Listed]:
        return self._listed

    def printed(self, document: str, number: str) -> Sequence[int]:
        """The pages that have this number in their header or footer."""
        margins = self._ledger.margins(document)
        return sorted({page for page, text in margins if number.lower() in _PAGE_NUMBER.findall(text.lower())})
