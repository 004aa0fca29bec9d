"""The content ledger: which documents there are, what state each is in, what was read of them. SQLite.

A document is known by its collection and name; its content by the SHA-256. A new version of a document is worked on
beside the one that is searched and takes its place in one transaction (`flip`), so that a crash at any point leaves
either the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rag_core.errors import RagError, Stopped, StoreError, UnknownCollection
from rag_core.indexing.records import Captioned, CollectionInfo, DocumentRecord
from rag_core.parsing.records import FailedPage, PageOcr
from rag_core.types import Element, ElementKind, Value

_NAMESPACE = uuid.UUID("5b1f6f0e-3b0c-5a57-9d0e-52a65c6f7f11")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS collections (
    name TEXT PRIMARY KEY, tenant TEXT NOT NULL UNIQUE, description TEXT NOT NULL, created_at TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0, describes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, collection TEXT NOT NULL REFERENCES collections (name), name TEXT NOT NULL,
    sha256 TEXT NOT NULL, next_sha256 TEXT, bytes INTEGER NOT NULL, password TEXT, state TEXT NOT NULL,
    searchable INTEGER NOT NULL DEFAULT 0, title TEXT NOT NULL DEFAULT '', pages INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0, tables INTEGER NOT NULL DEFAULT 0, figures INTEGER NOT NULL DEFAULT 0,
    failed_pages TEXT NOT NULL DEFAULT '[]', page_sizes TEXT NOT NULL DEFAULT '[]', code TEXT, reason TEXT,
    seconds REAL NOT NULL DEFAULT 0, added_at TEXT NOT NULL, fingerprint TEXT, owner TEXT,
    deleting INTEGER NOT NULL DEFAULT 0, by_meaning INTEGER NOT NULL DEFAULT 0,
    ocr TEXT NOT NULL DEFAULT '{}');
CREATE INDEX IF NOT EXISTS documents_by_collection ON documents (collection, added_at);
CREATE TABLE IF NOT EXISTS pages (
    document TEXT NOT NULL, page INTEGER NOT NULL, elements TEXT NOT NULL, PRIMARY KEY (document, page))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS terms (
    document TEXT NOT NULL, stem TEXT NOT NULL, chunks INTEGER NOT NULL, PRIMARY KEY (document, stem))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moves (document TEXT PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS leaving (tenant TEXT PRIMARY KEY);
"""
_SHOWN = tuple(name for name in DocumentRecord.model_fields if name not in ("progress", "stale", "moving_to"))
_TENANT_TAKEN = "SELECT 1 FROM collections WHERE tenant = ?"
_MOST_NAME = 80


class Reading(Value):
    """What one pass over a document found, to take the place of what was there."""

    title: str
    pages: int
    page_sizes: tuple[tuple[float, float], ...]
    elements: tuple[Element, ...]
    failed: tuple[FailedPage, ...]
    ocr: dict[int, PageOcr] = Field(default_factory=dict, description="The pages that were read by OCR.")
    reason: str | None = Field(default=None, description="What else could not be read, in a sentence.")
    chunks: int
    stems: dict[str, int]
    fingerprint: str


Work = Literal["words", "meaning", "full"]
"""The three stages of a document: found by its words, found by meaning, refined."""


class Todo(Value):
    """A document to be worked on."""

    document: str
    owner: str | None = Field(description="The process that has it, alive or not.")
    work: Work = Field(description="What comes next for it.")


class Move(Value):
    """A document on its way to another collection."""

    source: str = Field(description="The tenant that it comes from.")
    target: str = Field(description="The tenant that it goes to.")
    flipped: bool = Field(description="It belongs to the target already; only what is left in the source has to go.")


class Ledger:
    """The documents of one data directory. Safe for threads and for several processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        # Transactions are ours to begin: isolation_level None keeps the driver from beginning its own.
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_SCHEMA)
        known = {column["name"] for column in self._db.execute("PRAGMA table_info(documents)")}
        if "ocr" not in known:
            self._db.execute("ALTER TABLE documents ADD COLUMN ocr TEXT NOT NULL DEFAULT '{}'")
        if "by_meaning" not in known:
            # What was indexed before there was such a column had its vectors when it became searchable.
            self._db.execute("ALTER TABLE documents ADD COLUMN by_meaning INTEGER NOT NULL DEFAULT 0")
            self._db.execute("UPDATE documents SET by_meaning = searchable")
        if "describes" not in {column["name"] for column in self._db.execute("PRAGMA table_info(collections)")}:
            self._db.execute("ALTER TABLE collections ADD COLUMN describes INTEGER NOT NULL DEFAULT 0")
        self._statistics: dict[str, tuple[int, int, dict[str, int]]] = {}

    # collections

    def create_collection(self, name: str, description: str = "") -> None:
        """Make a collection; an existing one of that name keeps its documents and takes the description, if any.

        Raises:
            RagError: The name is empty, or longer than 80 characters.
        """
        clean = _collection_name(name)
        with self._lock, self._transaction():
            self._db.execute(
                """INSERT INTO collections (name, tenant, description, created_at) VALUES (?,?,?,?) ON CONFLICT (name)
                   DO UPDATE SET description = excluded.description WHERE excluded.description != ''""",
                (clean, self._free_tenant(clean), description, _now()),
            )

    def change_collection(self, name: str, new_name: str, description: str) -> None:
        """Give a collection another name and description; its documents and their ids stay.

        Raises:
            RagError: The new name is taken or not allowed.
        """
        self.tenant(name)
        clean = _collection_name(new_name)
        with self._lock, self._transaction():
            if clean != name and self._row("SELECT 1 FROM collections WHERE name = ?", clean):
                raise RagError(f"There is a collection {clean!r} already; choose another name.")
            self._rename_collection(name, clean)
            self._db.execute("UPDATE collections SET description = ? WHERE name = ?", (description, clean))

    def delete_collection(self, name: str) -> None:
        """Take a collection out of sight with its documents; `forget_collection` ends it once they are gone.

        Raises:
            RagError: Documents of it are on their way to another one.
        """
        tenant = self.tenant(name)
        with self._lock, self._transaction():
            moving = self._row(
                "SELECT COUNT(*) AS n FROM moves m JOIN documents d ON d.id = m.document WHERE d.collection = ?"
                " AND m.source = ?",
                name,
                tenant,
            )
            if moving and moving["n"]:
                raise RagError(f"Documents of {name!r} are being moved; delete it when they have arrived.")
            self._db.execute("DELETE FROM moves WHERE target = ?", (tenant,))
            self._db.execute("INSERT INTO leaving VALUES (?)", (tenant,))
            self._db.execute("UPDATE documents SET deleting = 1 WHERE collection = ?", (name,))
            # Under a name that nobody can give, so that its own is free at once.
            self._rename_collection(name, f"\n{tenant}")

    def describes(self, collection: str) -> bool:
        """Whether the figures of a collection are to be described."""
        row = self._row("SELECT describes FROM collections WHERE name = ?", collection)
        return row is not None and bool(row["describes"])

    def describe(self, collection: str) -> list[str]:
        """Have the figures of a collection described from now on: the ids of the documents refined again for it."""
        chosen = "collection = ? AND figures > 0 AND state IN ('ready', 'partial') AND NOT deleting"
        with self._lock, self._transaction():
            self._db.execute("UPDATE collections SET describes = 1 WHERE name = ?", (collection,))
            rows = self._rows(f"SELECT id FROM documents WHERE {chosen} ORDER BY added_at, name", collection)
            self._db.execute(f"UPDATE documents SET state = 'refining', reason = NULL WHERE {chosen}", (collection,))
        return [row["id"] for row in rows]

    def emptied(self) -> list[str]:
        """The tenants of deleted collections that hold no document any more."""
        rows = self._rows(
            """SELECT tenant FROM leaving WHERE tenant NOT IN
               (SELECT c.tenant FROM collections c JOIN documents d ON d.collection = c.name)"""
        )
        return [row["tenant"] for row in rows]

    def forget_collection(self, tenant: str) -> None:
        with self._lock, self._transaction():
            self._db.execute("DELETE FROM collections WHERE tenant = ?", (tenant,))
            self._db.execute("DELETE FROM leaving WHERE tenant = ?", (tenant,))

    def collections(self) -> list[CollectionInfo]:
        """All collections, the oldest first."""
        rows = self._rows(
            """SELECT c.name, c.description, COUNT(d.id) AS documents, COALESCE(SUM(d.pages), 0) AS pages,
                      COALESCE(SUM(d.chunks), 0) AS chunks
               FROM collections c LEFT JOIN documents d ON d.collection = c.name AND NOT d.deleting
               WHERE c.tenant NOT IN (SELECT tenant FROM leaving) GROUP BY c.name ORDER BY c.created_at, c.rowid"""
        )
        return [CollectionInfo.model_validate(dict(row)) for row in rows]

    def tenant(self, collection: str) -> str:
        """The Weaviate tenant of a collection.

        Raises:
            UnknownCollection: There is none of that name.
        """
        row = self._row("SELECT tenant FROM collections WHERE name = ?", collection)
        if row is None:
            raise UnknownCollection(collection, [info.name for info in self.collections()])
        return row["tenant"]

    def collection(self, tenant: str) -> str:
        """The name that a collection has now.

        Raises:
            UnknownCollection: It was deleted.
        """
        row = self._row(
            "SELECT name FROM collections WHERE tenant = ? AND tenant NOT IN (SELECT tenant FROM leaving)", tenant
        )
        if row is None:
            raise UnknownCollection(tenant, [info.name for info in self.collections()])
        return row["name"]

    def tenants(self) -> set[str]:
        """Those of all collections."""
        rows = self._rows("SELECT tenant FROM collections WHERE tenant NOT IN (SELECT tenant FROM leaving)")
        return {row["tenant"] for row in rows}

    def ids(self, tenant: str) -> set[str]:
        """Those of the documents of a collection, whatever it is called meanwhile."""
        rows = self._rows(
            """SELECT d.id FROM collections c JOIN documents d ON d.collection = c.name
               WHERE c.tenant = ? AND NOT d.deleting""",
            tenant,
        )
        return {row["id"] for row in rows}

    def statistics(self, collection: str) -> Statistics:
        """How often words occur in the collection's chunks, as of now."""
        row = self._row("SELECT version FROM collections WHERE name = ?", collection)
        version = row["version"] if row else 0
        kept = self._statistics.get(collection)
        if kept is None or kept[0] != version:
            totals = self._rows(
                """SELECT stem, SUM(t.chunks) AS n FROM terms t JOIN documents d ON d.id = t.document
                   WHERE d.collection = ? GROUP BY stem""",
                collection,
            )
            chunks = self._row("SELECT COALESCE(SUM(chunks), 0) AS n FROM documents WHERE collection = ?", collection)
            kept = (version, chunks["n"] if chunks else 0, {total["stem"]: total["n"] for total in totals})
            self._statistics[collection] = kept
        return Statistics(kept[1], kept[2])

    # documents

    def add(self, collection: str, name: str, sha256: str, size: int, password: str | None) -> tuple[str, bool]:
        """Note a file to be indexed: `(document id, whether anything is to be done)`.

        The same content under the same name changes nothing, unless it had failed.
        """
        with self._lock, self._transaction():
            known = self._row("SELECT * FROM documents WHERE collection = ? AND name = ?", collection, name)
            if known and known["deleting"]:  # it goes its way under another name: what comes begins anew
                self._db.execute("UPDATE documents SET name = name || char(10) || id WHERE id = ?", (known["id"],))
                known = None
            document_id = known["id"] if known else self._free_id(f"{collection}\n{name}")
            if known is None:
                self._db.execute(
                    """INSERT INTO documents (id, collection, name, sha256, bytes, password, state, added_at)
                       VALUES (?,?,?,?,?,?,'waiting',?)""",
                    (document_id, collection, name, sha256, size, password, _now()),
                )
                return document_id, True
            if sha256 == (known["next_sha256"] or known["sha256"]) and known["state"] != "failed":
                return document_id, False
            # Nothing is searched of it yet: there is no earlier version to keep.
            column = "next_sha256" if known["searchable"] and sha256 != known["sha256"] else "sha256"
            self._db.execute(
                f"""UPDATE documents SET {column} = ?, bytes = ?, password = COALESCE(?, password), state = 'waiting',
                    code = NULL, reason = NULL WHERE id = ?""",
                (sha256, size, password, document_id),
            )
        return document_id, True

    def again(self, document_id: str, password: str | None = None) -> None:
        """Have a document read once more."""
        self._write(
            """UPDATE documents SET state = 'waiting', code = NULL, reason = NULL,
               password = COALESCE(?, password) WHERE id = ?""",
            (password, document_id),
        )

    def document(self, document_id: str) -> DocumentRecord | None:
        row = self._row("SELECT * FROM documents WHERE id = ?", document_id)
        return _record(row) if row else None

    def documents(self, collection: str) -> list[DocumentRecord]:
        """The documents of a collection, the newest first."""
        rows = self._rows(
            "SELECT * FROM documents WHERE collection = ? AND NOT deleting ORDER BY added_at DESC, name", collection
        )
        return [_record(row) for row in rows]

    def named(self, collection: str, name: str) -> DocumentRecord | None:
        row = self._row("SELECT * FROM documents WHERE collection = ? AND name = ? AND NOT deleting", collection, name)
        return _record(row) if row else None

    def source(self, document_id: str) -> tuple[str, str | None]:
        """`(sha256, password)` of the version that is to be worked on or, else, that is searched."""
        row = self._known(document_id)
        return row["next_sha256"] or row["sha256"], row["password"]

    def page_sizes(self, document_id: str) -> list[tuple[float, float]]:
        """Width and height of every page in points."""
        return [tuple(size) for size in json.loads(self._known(document_id)["page_sizes"])]

    def elements(self, document_id: str, page: int) -> list[Element]:
        row = self._row("SELECT elements FROM pages WHERE document = ? AND page = ?", document_id, page)
        return [Element.model_validate(element) for element in json.loads(row["elements"])] if row else []

    def captioned(self, document_id: str, kind: ElementKind) -> list[Captioned]:
        """The tables, or the figures, of all pages in their order; a caption stands directly before what it is of."""
        rows = self._rows(
            """SELECT value, CASE json_extract(before, '$.kind') WHEN 'caption' THEN json_extract(before, '$.text')
                      ELSE '' END AS caption
               FROM (SELECT p.page, e.key, e.value, LAG(e.value) OVER (ORDER BY p.page, e.key) AS before
                     FROM pages p, json_each(p.elements) e WHERE p.document = ?)
               WHERE json_extract(value, '$.kind') = ? ORDER BY page, key""",
            document_id,
            kind,
        )
        return [Captioned(element=Element.model_validate_json(row["value"]), caption=row["caption"]) for row in rows]

    def margins(self, document_id: str) -> list[tuple[int, str]]:
        """`(page, text)` of all headers and footers."""
        rows = self._rows(
            """SELECT p.page, json_extract(e.value, '$.text') AS text FROM pages p, json_each(p.elements) e
               WHERE p.document = ? AND json_extract(e.value, '$.kind') IN ('header', 'footer') ORDER BY p.page""",
            document_id,
        )
        return [(row["page"], row["text"]) for row in rows]

    def stale(self, collection: str, fingerprint: str) -> set[str]:
        """The documents that were read with other settings than those with this fingerprint."""
        rows = self._rows(
            "SELECT id FROM documents WHERE collection = ? AND searchable AND fingerprint IS NOT ?",
            collection,
            fingerprint,
        )
        return {row["id"] for row in rows}

    def uses(self, sha256: str) -> int:
        """How many documents have this content."""
        row = self._row("SELECT COUNT(*) AS n FROM documents WHERE sha256 = ? OR next_sha256 = ?", sha256, sha256)
        return row["n"] if row else 0

    @staticmethod
    def index_anew(path: Path) -> None:
        """Have every document of a ledger that nobody uses read again: its chunks are in no index here.

        Raises:
            sqlite3.Error: It is no ledger.
        """
        ledger = Ledger(path)
        try:
            with ledger._lock, ledger._transaction():
                ledger._db.execute("UPDATE documents SET fingerprint = NULL, owner = NULL")
                for table in ("moves", "leaving"):
                    ledger._db.execute(f"DELETE FROM {table}")
        finally:
            ledger.close()

    # moving

    def note_move(self, document_id: str, collection: str) -> None:
        """Note that a document goes to another collection.

        Raises:
            RagError: There is one of that name already, or it is on its way elsewhere.
        """
        target = self.tenant(collection)
        with self._lock, self._transaction():
            known = self._known(document_id)
            if known["collection"] == collection:
                return
            if self.move(document_id) is not None:
                raise RagError(f"{known['name']!r} is being moved already; wait until it has arrived.")
            if self._taken(known["name"], collection, target):
                raise RagError(f"There is a document {known['name']!r} in {collection!r} already; delete one first.")
            source = self.tenant(known["collection"])
            self._db.execute("INSERT INTO moves VALUES (?,?,?)", (document_id, source, target))

    def moves(self) -> dict[str, str]:
        """Document id -> name of the collection that it goes to."""
        rows = self._rows("SELECT m.document, c.name FROM moves m JOIN collections c ON c.tenant = m.target")
        return {row["document"]: row["name"] for row in rows}

    def move(self, document_id: str) -> Move | None:
        """The move that a document is on; None where it stays."""
        row = self._row(
            """SELECT m.source, m.target, c.tenant = m.target AS flipped FROM moves m
               JOIN documents d ON d.id = m.document JOIN collections c ON c.name = d.collection
               WHERE m.document = ?""",
            document_id,
        )
        return Move(source=row["source"], target=row["target"], flipped=row["flipped"]) if row else None

    def flip_move(self, document_id: str) -> bool:
        """Let a document belong to the collection it goes to; False where that was called off or its name is taken."""
        with self._lock, self._transaction():
            row = self._row(
                """SELECT d.name, d.collection AS source, c.name AS target, c.tenant FROM moves m
                   JOIN documents d ON d.id = m.document JOIN collections c ON c.tenant = m.target
                   WHERE m.document = ?""",
                document_id,
            )
            if row is None or self._taken(row["name"], row["target"], row["tenant"], but=document_id):
                return False
            self._db.execute("UPDATE documents SET collection = ? WHERE id = ?", (row["target"], document_id))
            self._touch(row["source"])
            self._touch(row["target"])
        return True

    def end_move(self, document_id: str) -> None:
        self._write("DELETE FROM moves WHERE document = ?", (document_id,))

    # work

    def unfinished(self, fingerprint: str) -> list[Todo]:
        """What is to be worked on, the oldest first: what is new, cut short, deleted or stale."""
        rows = self._rows(
            """SELECT id, owner, CASE
                   WHEN deleting OR state != 'refining' OR NOT searchable OR fingerprint IS NOT ?
                        OR id IN (SELECT document FROM moves) THEN 'words'
                   WHEN NOT by_meaning THEN 'meaning' ELSE 'full' END AS work
               FROM documents WHERE deleting OR id IN (SELECT document FROM moves)
               OR state IN ('waiting', 'reading', 'refining')
               OR (searchable AND state != 'failed' AND fingerprint IS NOT ?) ORDER BY added_at, name""",
            fingerprint,
            fingerprint,
        )
        return [Todo(document=row["id"], owner=row["owner"], work=row["work"]) for row in rows]

    def claim(self, document_id: str, owner: str, expected: str | None) -> bool:
        """Take the work on a document; False where another process was quicker."""
        with self._lock, self._transaction():
            done = self._db.execute(
                "UPDATE documents SET owner = ? WHERE id = ? AND owner IS ?", (owner, document_id, expected)
            )
            return done.rowcount == 1

    def release(self, document_id: str) -> None:
        self._write("UPDATE documents SET owner = NULL WHERE id = ?", (document_id,))

    def set_state(self, document_id: str, state: str) -> None:
        self._write("UPDATE documents SET state = ?, reason = NULL WHERE id = ?", (state, document_id))

    def postpone(self, document_id: str, reason: str) -> None:
        """Note that the work on a document waits for something that is not its own fault."""
        self._write("UPDATE documents SET state = 'waiting', reason = ? WHERE id = ?", (reason, document_id))

    def fail(self, document_id: str, code: str, reason: str) -> None:
        """Note why a document could not be indexed; an earlier version of it stays searched, and the reason says so."""
        kept = " Its earlier version is still searched."
        self._write(
            """UPDATE documents SET state = 'failed', code = ?, next_sha256 = NULL,
               reason = ? || CASE WHEN searchable THEN ? ELSE '' END WHERE id = ?""",
            (code, reason, kept, document_id),
        )

    def flip(
        self,
        document_id: str,
        reading: Reading,
        *,
        state: str,
        seconds: float,
        by_meaning: bool = True,
        sha256: str | None = None,
    ) -> str | None:
        """Put what was read in the place of what was there, at once.

        Args:
            by_meaning: Whether all its chunks have their vectors.
            sha256: The content that was read; the newest when not given.

        Returns:
            The content that is no longer used.

        Raises:
            Stopped: Newer content was added meanwhile; nothing is changed.
        """
        by_page: dict[int, list[dict[str, Any]]] = {}
        for element in reading.elements:
            by_page.setdefault(element.place.page, []).append(element.model_dump(mode="json"))
        kinds = Counter(element.kind for element in reading.elements)
        with self._lock, self._transaction():
            before = self._known(document_id)
            if sha256 not in (None, before["next_sha256"] or before["sha256"]):
                raise Stopped("A newer version of the document was added.")
            self._db.execute(
                """UPDATE documents SET sha256 = COALESCE(next_sha256, sha256), next_sha256 = NULL, state = ?,
                   searchable = 1, by_meaning = ?, title = ?, pages = ?, chunks = ?, tables = ?, figures = ?,
                   failed_pages = ?, page_sizes = ?, ocr = ?, code = NULL, reason = ?, seconds = ?, fingerprint = ?
                   WHERE id = ?""",
                (
                    state,
                    by_meaning,
                    reading.title,
                    reading.pages,
                    reading.chunks,
                    kinds["table"],
                    kinds["figure"],
                    json.dumps([failure.model_dump() for failure in reading.failed]),
                    json.dumps(reading.page_sizes),
                    json.dumps({page: ocr.model_dump() for page, ocr in reading.ocr.items()}),
                    reading.reason,
                    seconds,
                    reading.fingerprint,
                    document_id,
                ),
            )
            self._forget_content(document_id)
            self._db.executemany(
                "INSERT INTO pages VALUES (?,?,?)",
                [(document_id, page, json.dumps(elements)) for page, elements in by_page.items()],
            )
            self._db.executemany(
                "INSERT INTO terms VALUES (?,?,?)", [(document_id, stem, n) for stem, n in reading.stems.items()]
            )
            self._touch(before["collection"])
            replaced = before["sha256"] if before["next_sha256"] else None
        return replaced if replaced and not self.uses(replaced) else None

    def has_meaning(self, document_id: str, *, state: str, seconds: float) -> None:
        """Note that all chunks of a document have their vectors, and its state unless there is new work for it."""
        self._write(
            """UPDATE documents SET by_meaning = 1, seconds = seconds + ?,
               state = CASE state WHEN 'refining' THEN ? ELSE state END WHERE id = ?""",
            (seconds, state, document_id),
        )

    def mark_deleting(self, document_id: str) -> None:
        """Take a document out of sight; `forget` ends it once its chunks are gone."""
        with self._lock, self._transaction():
            self._db.execute("UPDATE documents SET deleting = 1 WHERE id = ?", (document_id,))

    def is_deleting(self, document_id: str) -> bool:
        row = self._row("SELECT deleting FROM documents WHERE id = ?", document_id)
        return row is None or bool(row["deleting"])

    def forget(self, document_id: str) -> list[str]:
        """Remove a document; returns the contents (SHA-256) that no document uses any more."""
        with self._lock, self._transaction():
            row = self._known(document_id)
            self._forget_content(document_id)
            self._db.execute("DELETE FROM documents WHERE id = ?", (document_id,))
            self._db.execute("DELETE FROM moves WHERE document = ?", (document_id,))
            self._touch(row["collection"])
        return [sha for sha in (row["sha256"], row["next_sha256"]) if sha and not self.uses(sha)]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # the database

    def _forget_content(self, document_id: str) -> None:
        self._db.execute("DELETE FROM pages WHERE document = ?", (document_id,))
        self._db.execute("DELETE FROM terms WHERE document = ?", (document_id,))

    def _free_tenant(self, collection: str) -> str:
        """A tenant for a new collection: one that was renamed, or is being deleted, may have the name's own."""
        tenant = _tenant(collection)
        return _tenant(f"{collection}\n{uuid.uuid4()}") if self._row(_TENANT_TAKEN, tenant) else tenant

    def _free_id(self, named: str) -> str:
        """An id for a new document: one that was moved away may have the name's own."""
        document_id = str(uuid.uuid5(_NAMESPACE, named))
        return str(uuid.uuid4()) if self._row("SELECT 1 FROM documents WHERE id = ?", document_id) else document_id

    def _rename_collection(self, name: str, new_name: str) -> None:
        self._db.execute("UPDATE collections SET name = ? WHERE name = ?", (new_name, name))
        self._db.execute("UPDATE documents SET collection = ? WHERE collection = ?", (new_name, name))

    def _taken(self, name: str, collection: str, tenant: str, but: str = "") -> bool:
        """Whether a collection has a document of that name, or will have."""
        row = self._row(
            """SELECT 1 FROM documents d LEFT JOIN moves m ON m.document = d.id
               WHERE d.name = ? AND d.id != ? AND (d.collection = ? OR m.target = ?)""",
            name,
            but,
            collection,
            tenant,
        )
        return row is not None

    def _touch(self, collection: str) -> None:
        self._db.execute("UPDATE collections SET version = version + 1 WHERE name = ?", (collection,))

    def _known(self, document_id: str) -> sqlite3.Row:
        row = self._row("SELECT * FROM documents WHERE id = ?", document_id)
        if row is None:
            raise RagError("That document is not here; it may have been deleted.")
        return row

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db)

    def _write(self, sql: str, values: Sequence[Any]) -> None:
        with self._lock, self._transaction():
            self._db.execute(sql, values)

    def _row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        return next(iter(self._rows(sql, *values)), None)

    def _rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()


class Statistics:
    """How often words occur in a collection, as of one moment."""

    def __init__(self, chunks: int, by_stem: dict[str, int]) -> None:
        self.chunks = chunks
        self._by_stem = by_stem

    def chunks_with(self, stem: str) -> int:
        return self._by_stem.get(stem, 0)


class _Transaction:
    """Commits or rolls back; what SQLite says of a full or broken disk becomes one sentence."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if kind:
                self._db.rollback()
            else:
                self._db.commit()
        except sqlite3.Error as failed:
            self._db.rollback()
            raise _as_store_error(failed) from failed
        if isinstance(error, sqlite3.Error):
            raise _as_store_error(error) from error


def _as_store_error(error: sqlite3.Error) -> StoreError:
    if "full" in str(error):
        return StoreError("The disk is full: make room, then try again; nothing that was there is lost.", retry=True)
    return StoreError(f"The ledger could not be written: {error}.", retry=True)


def count_stems(stems_by_chunk: Iterable[Iterable[str]]) -> Counter[str]:
    """In how many chunks each stem occurs."""
    counted: Counter[str] = Counter()
    for stems in stems_by_chunk:
        counted.update(set(stems))
    return counted


def _record(row: sqlite3.Row) -> DocumentRecord:
    values = {name: row[name] for name in _SHOWN}
    told = {name: json.loads(row[name]) for name in ("failed_pages", "ocr")}
    return DocumentRecord.model_validate({**values, **told})


def _collection_name(given: str) -> str:
    clean = " ".join(given.split())
    if not clean or len(clean) > _MOST_NAME:
        raise RagError(f"A collection needs a name of 1 to {_MOST_NAME} characters.")
    return clean


def _tenant(name: str) -> str:
    """A tenant's name: Weaviate allows letters, digits, '-' and '_' only, so what else a name has goes into a hash."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return f"{readable or 'c'}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
