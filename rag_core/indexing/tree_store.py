"""The trees of summaries, in SQLite beside the ledger: a document's by its id, that over documents by its tenant.

They do not stand among the chunks, so that no search meets a summary unasked, and a tree comes and goes in one
transaction. Every summary is kept as soon as it is written: what a crash cuts short is not paid twice.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rag_core.errors import StoreError
from rag_core.techniques.raptor.growing import Written
from rag_core.techniques.raptor.nodes import EMPTY, Node, Tree
from rag_core.types import Value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS grown (
    scope TEXT PRIMARY KEY, made_of TEXT NOT NULL, made_by TEXT NOT NULL, revision TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nodes (
    scope TEXT NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL, level INTEGER NOT NULL, document TEXT NOT NULL,
    text TEXT NOT NULL, children TEXT NOT NULL, made_by TEXT NOT NULL, tokens INTEGER NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (scope, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS summaries (
    scope TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, made_by TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (scope, key)) WITHOUT ROWID;
"""


class Grown(Value):
    """What a tree was made of, and how; `revision` is another one whenever its nodes change."""

    made_of: dict[str, str]
    made_by: str
    revision: str


class TreeStore:
    """The trees of one data directory, by scope: a document's id or a collection's tenant. Safe for threads, processes.

    Every call may raise StoreError.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # trees

    def grown(self) -> dict[str, Grown]:
        """What there is, by scope."""
        with self._at_work():
            rows = self._db.execute("SELECT * FROM grown").fetchall()
        return {
            row["scope"]: Grown(made_of=json.loads(row["made_of"]), made_by=row["made_by"], revision=row["revision"])
            for row in rows
        }

    def tree(self, scope: str) -> Tree:
        """The tree of a scope; empty where there is none."""
        with self._at_work():
            rows = self._db.execute("SELECT * FROM nodes WHERE scope = ? ORDER BY place", (scope,)).fetchall()
        if not rows:
            return EMPTY
        return Tree(tuple(map(_node, rows)), np.stack([_vector(row["vector"]) for row in rows]))

    def put(self, scope: str, tree: Tree, *, made_of: dict[str, str], made_by: str) -> None:
        """Put a tree in the place of the one that was there; summaries that it does not say are forgotten."""
        rows = [
            (scope, place, node.id, node.level, node.document, node.text, json.dumps(node.children), node.made_by,
             node.tokens, _blob(vector))
            for place, (node, vector) in enumerate(zip(tree.nodes, tree.vectors, strict=True))
        ]  # fmt: skip
        with self._at_work():
            self._db.execute("DELETE FROM nodes WHERE scope = ?", (scope,))
            self._db.executemany(f"INSERT INTO nodes VALUES ({','.join('?' * 10)})", rows)
            self._note(scope, made_of, made_by)
            self._drop_unsaid(scope)

    def forget(self, scopes: Sequence[str]) -> None:
        """Forget the trees of these documents and collections, and whatever was summarised of them elsewhere."""
        gone = set(scopes)
        with self._at_work():
            for scope in gone:
                for table in ("grown", "nodes", "summaries"):
                    self._db.execute(f"DELETE FROM {table} WHERE scope = ?", (scope,))
            for row in self._db.execute("SELECT * FROM grown").fetchall():
                made_of = json.loads(row["made_of"])
                if gone & made_of.keys():
                    self._cut(row["scope"], made_of.keys() - gone)
                    # Made of something that is nowhere: it is to be made again.
                    self._note(row["scope"], made_of | dict.fromkeys(gone & made_of.keys(), ""), "")

    def _cut(self, scope: str, made_of: Iterable[str]) -> None:
        """Remove what stands over nodes that are there no more."""
        there: set[str] = set()
        for below in made_of:
            there.update(row["id"] for row in self._db.execute("SELECT id FROM nodes WHERE scope = ?", (below,)))
        for row in self._db.execute("SELECT * FROM nodes WHERE scope = ? ORDER BY place", (scope,)).fetchall():
            if there.issuperset(json.loads(row["children"])):
                there.add(row["id"])
            else:
                self._db.execute("DELETE FROM nodes WHERE scope = ? AND place = ?", (scope, row["place"]))
        self._drop_unsaid(scope)

    def _note(self, scope: str, made_of: dict[str, str], made_by: str) -> None:
        row = (scope, json.dumps(made_of, sort_keys=True), made_by, uuid.uuid4().hex)
        self._db.execute("INSERT OR REPLACE INTO grown VALUES (?,?,?,?)", row)

    def _drop_unsaid(self, scope: str) -> None:
        self._db.execute(
            "DELETE FROM summaries WHERE scope = ? AND text NOT IN (SELECT text FROM nodes WHERE scope = ?)",
            (scope, scope),
        )

    # summaries

    def written(self, scope: str, keys: Sequence[str]) -> dict[str, Written]:
        """The summaries that were written for these keys."""
        with self._at_work():
            found = [
                self._db.execute("SELECT * FROM summaries WHERE scope = ? AND key = ?", (scope, key)).fetchone()
                for key in keys
            ]
        return {row["key"]: Written(row["text"], _vector(row["vector"]), row["made_by"]) for row in found if row}

    def keep(self, scope: str, key: str, written: Written) -> None:
        """Keep a summary as soon as it is written."""
        row = (scope, key, written.text, written.made_by, _blob(written.vector))
        with self._at_work():
            self._db.execute("INSERT OR REPLACE INTO summaries VALUES (?,?,?,?,?)", row)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """One piece of work, whole or not at all."""
        try:
            with self._lock, self._db:
                yield
        except sqlite3.Error as error:
            raise StoreError(f"The trees cannot be reached: {error}. Make room on the disk.", retry=True) from error


def _node(row: sqlite3.Row) -> Node:
    stored = {name: row[name] for name in Node.model_fields}
    return Node.model_validate({**stored, "children": json.loads(row["children"])})


def _blob(vector: np.ndarray) -> bytes:
    return vector.astype(np.float32).tobytes()


def _vector(blob: bytes) -> np.ndarray:
    return np.frombuffer(blob, dtype=np.float32)
