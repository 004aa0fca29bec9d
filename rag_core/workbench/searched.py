"""What a run searches: the chunks of one collection, and what is known of its documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_core.embedding.clip import ImageEmbedder
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import DocumentRecord
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.base import Listed
from rag_core.types import Chunk, Hit, SearchFilter

_AT_ONCE = 1_000
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
        last: str | None = None
        while page := self._store.chunks(self._tenant, document, after=last, limit=_AT_ONCE):
            yield from page
            if len(page) < _AT_ONCE:
                return
            last = page[-1].id

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Those of these chunks that are there."""
        return self._store.get(self._tenant, ids)


class Figures:
    """The figures of one collection, by their image vectors."""

    def __init__(self, store: ChunkStore, tenant: str, images: ImageEmbedder, picture: Path | None) -> None:
        """Search a tenant, by the picture where one is given.

        Raises:
            PictureError: It is none that can be read.
        """
        self._store = store
        self._tenant = tenant
        self._images = images
        self.by_picture = picture is not None
        self._given = None if picture is None else images.embed_images([picture])[0]

    def like(self, question: str, *, limit: int, where: SearchFilter) -> list[Hit]:
        vector = self._images.embed_texts([question])[0] if self._given is None else self._given
        return self._store.near_image(self._tenant, vector, limit=limit, where=where)


class Documents:
    """The documents of one collection that can be asked now."""

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
