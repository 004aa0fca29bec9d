"""Chunks that wait for their vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from rag_core.types import Chunk


class Waiting:
    """The chunks of one document that have no vector yet, in the order they get them. Safe to use from many threads."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._lock = threading.Lock()
        self._pages = {chunk.id: {place.page for place in chunk.places} for chunk in chunks}
        self.total = len(self._pages)

    def __len__(self) -> int:
        return len(self._pages)

    def hurry(self, ids: Iterable[str]) -> None:
        """Put these chunks in front, as far as they wait, with all on the same pages."""
        with self._lock:
            asked = [chunk_id for chunk_id in ids if chunk_id in self._pages]
            pages = set().union(*(self._pages[chunk_id] for chunk_id in asked))
            near = [chunk_id for chunk_id, on in self._pages.items() if on & pages]
            first = dict.fromkeys([*asked, *near])
            self._pages = {chunk_id: self._pages[chunk_id] for chunk_id in [*first, *self._pages]}

    def take(self, count: int) -> list[str]:
        """Take the next ones out; there may be fewer."""
        with self._lock:
            taken = list(self._pages)[:count]
            for chunk_id in taken:
                del self._pages[chunk_id]
            return taken
