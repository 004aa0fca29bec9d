"""How much room each part of what is kept takes on the disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from rag_core.types import Value

WAIT_S = 0.3
"""So long a page waits for the count: a slow disk must not hold it up."""

_PARTS = {
    "Documents": (("originals", "ledger.sqlite"), "The files, their figures, and what was read of them."),
    "Index": (("weaviate",), "Words and vectors of all chunks."),
    "History": (("runs.sqlite", "memories.sqlite", "ledgers"), "Runs, answers marked good, and ledgers."),
    "Graph": (("graphs",), "Entities and relations."),
    "Tree": (("trees.sqlite",), "Summaries of summaries."),
}
_OTHER = "Settings, and what is under way."
_CACHES = "The server and the weights, for all checkouts; made or fetched anew when missing."


class StoragePart(Value):
    """One part of what is kept."""

    part: str
    what: str
    bytes: int


class Storage:
    """Counts what is kept, in a thread of its own. Safe for threads."""

    def __init__(self, data_dir: Path, cache_dir: Path) -> None:
        self._data_dir = data_dir
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._counting: threading.Thread | None = None
        self._counted: list[StoragePart] | None = None

    def parts(self, wait_s: float = WAIT_S) -> list[StoragePart] | None:
        """What each part takes now, or took at the last count where this one takes longer than `wait_s`.

        Returns:
            The parts, the caches last; None before the first count is over.
        """
        with self._lock:
            if self._counting is None or not self._counting.is_alive():
                self._counting = threading.Thread(target=self._count, daemon=True, name="storage")
                self._counting.start()
            counting = self._counting
        counting.join(wait_s)
        return self._counted

    def _count(self) -> None:
        sizes = dict.fromkeys(_PARTS, 0)
        other = 0
        owners = {name: part for part, (names, _) in _PARTS.items() for name in names}
        for entry in _entries(self._data_dir):
            # Beside a database stand its log and its shared memory.
            part = owners.get(entry.name.removesuffix("-wal").removesuffix("-shm"))
            if part:
                sizes[part] += _size(entry)
            else:
                other += _size(entry)
        found = [StoragePart(part=part, what=_PARTS[part][1], bytes=size) for part, size in sizes.items()]
        found += [
            StoragePart(part="Other", what=_OTHER, bytes=other),
            StoragePart(part="Caches", what=_CACHES, bytes=sum(map(_size, _entries(self._cache_dir)))),
        ]
        self._counted = found


def _size(entry: os.DirEntry[str]) -> int:
    try:
        if entry.is_dir(follow_symlinks=False):
            return sum(map(_size, _entries(entry.path)))
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # it went between being listed and being looked at
        return 0


def _entries(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """What stands in a folder; nothing where it is not there, or may not be read."""
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError:
        return
