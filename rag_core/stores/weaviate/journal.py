"""The journal of recent writes: what to verify after a server did not stop in order.

Weaviate keeps every acknowledged object through a kill, but writes the vector index's own log late: some of the
last objects are then missing from the vector index for ever, silently, and a second put does not bring them back.
So the ids of a batch are noted before it is sent, and `repair` looks them up by their vectors after such a stop.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rag_core.errors import StoreError

LOOK_BACK_S = 60
"""Verified are the writes from this long before the last one on. Seen lost was at most a second's worth."""
KEEP_S = 300
PRUNE_EVERY = 50

_SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    collection TEXT, tenant TEXT, id TEXT, settled_at REAL, PRIMARY KEY (collection, tenant, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rescued (
    collection TEXT, tenant TEXT, id TEXT, object TEXT NOT NULL, PRIMARY KEY (collection, tenant, id)
) WITHOUT ROWID;
"""


class Write(NamedTuple):
    """One object that was written."""

    collection: str
    tenant: str
    id: str


class Journal:
    """Recent writes of every process that uses the server, in one SQLite file. Safe to use from many threads."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._lock = threading.Lock()
        self._begun = 0
        self._path = path
        self._base = sqlite3.connect(path, timeout=30, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=WAL")
        # What a killed process wrote is the system's to keep: no fsync per batch is needed for that.
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.executescript(_SCHEMA)

    def begin(self, writes: Sequence[Write]) -> None:
        """Note writes that are about to be sent."""
        self._many("INSERT OR REPLACE INTO writes VALUES (?, ?, ?, NULL)", writes)
        self._begun += 1
        if self._begun % PRUNE_EVERY == 0:
            self._many("DELETE FROM writes WHERE settled_at < ?", [(self._clock() - KEEP_S,)])

    def settle(self, writes: Sequence[Write]) -> None:
        """Note that they were acknowledged, now."""
        now = self._clock()
        self._many("INSERT OR REPLACE INTO writes VALUES (?, ?, ?, ?)", [(*write, now) for write in writes])

    def suspects(self) -> list[tuple[Write, bool]]:
        """Give the writes to verify, by collection and tenant, and whether each was acknowledged.

        They are those that never were, and those that were shortly before the last acknowledgement.
        """
        rows = self._all(
            "SELECT collection, tenant, id, settled_at IS NOT NULL FROM writes WHERE settled_at IS NULL"
            " OR settled_at >= (SELECT max(settled_at) FROM writes) - ? ORDER BY collection, tenant, id",
            (LOOK_BACK_S,),
        )
        return [(Write(*row[:3]), bool(row[3])) for row in rows]

    def forget(self, writes: Iterable[Write]) -> None:
        """Drop what has been verified."""
        self._many("DELETE FROM writes WHERE collection = ? AND tenant = ? AND id = ?", writes)

    def rescue(self, objects: Iterable[tuple[Write, str]]) -> None:
        """Keep whole objects (JSON) that are about to be deleted and written again, should that be cut short."""
        self._many("INSERT OR REPLACE INTO rescued VALUES (?, ?, ?, ?)", [(*write, text) for write, text in objects])

    def rescued(self) -> list[tuple[Write, str]]:
        """Give the objects that were being rewritten when it was cut short."""
        return [(Write(*row[:3]), row[3]) for row in self._all("SELECT * FROM rescued", ())]

    def returned(self, writes: Iterable[Write]) -> None:
        """Drop rescued objects that are back in their place."""
        self._many("DELETE FROM rescued WHERE collection = ? AND tenant = ? AND id = ?", writes)

    def close(self) -> None:
        with self._lock:
            self._base.close()

    def _many(self, statement: str, rows: Iterable[tuple]) -> None:
        with self._lock:
            try:
                with self._base:
                    self._base.executemany(statement, rows)
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"The journal {self._path} cannot be written ({error}): free some space and try again.", retry=True
                ) from error

    def _all(self, statement: str, values: tuple) -> list[tuple]:
        with self._lock:
            return self._base.execute(statement, values).fetchall()
