"""The answers that users marked good, in SQLite: what the technique `memory` looks through."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rag_core.errors import StoreError
from rag_core.pipeline.run import Run
from rag_core.techniques.base import Remembered

# Beyond this the oldest rest: comparing a question with all of them must stay a matter of milliseconds.
MOST_KEPT = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    run TEXT PRIMARY KEY, tenant TEXT NOT NULL, kept_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS memories_by_tenant ON memories (tenant);
CREATE TABLE IF NOT EXISTS cited (run TEXT NOT NULL REFERENCES memories ON DELETE CASCADE, document TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS cited_by_document ON cited (document);
"""


class MemoryStore:
    """The memories of one data directory, by the tenant of their collection. Safe for threads and processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA foreign_keys=ON")
        self._db.executescript(_SCHEMA)

    def keep(self, tenant: str, memory: Remembered) -> None:
        """Remember an answer, in place of what that run left before.

        Raises:
            StoreError: The disk is full or the file cannot be written.
        """
        documents = [(memory.run, document) for document in memory.documents]
        with self._at_work():
            self._db.execute("DELETE FROM memories WHERE run = ?", (memory.run,))
            row = (memory.run, tenant, memory.model_dump_json())
            self._db.execute("INSERT INTO memories (run, tenant, record) VALUES (?,?,?)", row)
            self._db.executemany("INSERT INTO cited VALUES (?,?)", documents)

    def kept(self, tenant: str) -> list[Remembered]:
        """The memories of a collection, the latest first."""
        sql = "SELECT record FROM memories WHERE tenant = ? ORDER BY rowid DESC LIMIT ?"
        with self._at_work():
            rows = self._db.execute(sql, (tenant, MOST_KEPT)).fetchall()
        return [Remembered.model_validate_json(record) for (record,) in rows]

    def forget(self, runs: Sequence[str]) -> None:
        """Forget the answers of these runs; those that are not remembered are no error."""
        with self._at_work():
            self._db.executemany("DELETE FROM memories WHERE run = ?", [(run,) for run in runs])

    def forget_document(self, document: str) -> None:
        """Forget every answer that cites this document."""
        with self._at_work():
            self._db.execute(
                "DELETE FROM memories WHERE run IN (SELECT run FROM cited WHERE document = ?)", (document,)
            )

    def of(self, *tenants: str) -> TenantMemories:
        """The memories of some collections, for the technique."""
        return TenantMemories(self, tenants)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """One piece of work, whole or not at all.

        Raises:
            StoreError: The disk is full, or the file cannot be read or written.
        """
        try:
            with self._lock, self._db:
                yield
        except sqlite3.Error as error:
            raise StoreError(f"What is remembered cannot be reached: {error}. Make room on the disk.") from error

    def close(self) -> None:
        with self._lock:
            self._db.close()


class TenantMemories:
    """The memories of some collections."""

    def __init__(self, store: MemoryStore, tenants: Sequence[str]) -> None:
        self._store = store
        self._tenants = tenants

    def kept(self) -> Sequence[Remembered]:
        return [memory for tenant in self._tenants for memory in self._store.kept(tenant)]

    def forget(self, runs: Sequence[str]) -> None:
        self._store.forget(runs)


def memory_of(run: Run, versions: Mapping[str, str]) -> Remembered | None:
    """What a run leaves to be remembered; None where its answer cites nothing that is still as it was.

    Args:
        versions: The collection's documents, each with its version now.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in run.evidence}
    cited = list(dict.fromkeys(id_ for sentence in run.sentences for id_ in sentence.citations if id_ in chunks))
    documents = {chunks[id_].document for id_ in cited}
    if not cited or run.refused or not documents <= versions.keys():
        return None
    return Remembered(
        run=run.id,
        # A follow-up as it was made to stand alone: later questions are compared so, too.
        question=next((str(span.attributes["query"]) for span in run.spans if span.name == "rewrite"), run.question),
        answer=run.final_answer,
        evidence=tuple(cited),
        documents={document: versions[document] for document in sorted(documents)},
    )
