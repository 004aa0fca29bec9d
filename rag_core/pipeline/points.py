"""Where runs stood before each of their steps, kept in SQLite: what a branch goes on from.

A point keeps what its step changed against the point before it, and every chunk's text once a run.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from rag_core.errors import StoreError
from rag_core.pipeline.run import Prompt
from rag_core.pipeline.state import RunState
from rag_core.trace import TraceEvent
from rag_core.types import Value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS points (
    run TEXT NOT NULL, n INTEGER NOT NULL, step TEXT, span INTEGER NOT NULL, seconds REAL NOT NULL,
    changes BLOB NOT NULL, PRIMARY KEY (run, n)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS branches (
    run TEXT PRIMARY KEY, parent TEXT NOT NULL, root TEXT NOT NULL, step INTEGER NOT NULL, edited TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS branches_by_root ON branches (root);
"""
# A run that is kept anew replaces its row, which fires no trigger; only one that is deleted takes these along.
_FORGETTING = """
CREATE TRIGGER IF NOT EXISTS points_go AFTER DELETE ON runs BEGIN
    DELETE FROM points WHERE run = OLD.id;
    DELETE FROM branches WHERE run = OLD.id;
END;
"""


class Point(Value):
    """Where a run stood before one of its steps, or at its end."""

    n: int = Field(ge=0, description="Its place among the run's points, from 0.")
    step: str | None = Field(description="What came next; None at the end.")
    span_id: int = Field(ge=0, description="The id of the step's span: those of before have smaller ones.")
    seconds: float = Field(ge=0, description="Since the run began.")
    state: RunState


@dataclass(frozen=True)
class Beginning:
    """What a branch goes on from: the edited state, and what had happened until then."""

    state: RunState
    points: tuple[Point, ...]
    spans: tuple[TraceEvent, ...]
    prompts: tuple[Prompt, ...]


class BranchInfo(Value):
    """A branch, for the tree of its family."""

    run: str
    parent: str
    step: int = Field(description="The point of the parent that it left from.")
    edited: str = Field(description="What was edited, in words.")


class PointStore:
    """The points of one data directory's runs. Safe for threads and for several processes."""

    def __init__(self, path: Path) -> None:
        """Open the file of the runs' history, which is there already."""
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA + _FORGETTING)

    def keep(self, run_id: str, points: Iterable[tuple[Point, bytes]]) -> None:
        """Write points, each with what `Packing` made of its state.

        Raises:
            StoreError: The disk is full or the file cannot be written.
        """
        rows = [(run_id, one.n, one.step, one.span_id, one.seconds, packed) for one, packed in points]
        self._write("INSERT OR REPLACE INTO points VALUES (?,?,?,?,?,?)", rows)

    def get(self, run_id: str) -> list[Point]:
        """The points of a run in order; none where it was kept without them."""
        sql = "SELECT n, step, span, seconds, changes FROM points WHERE run = ? ORDER BY n"
        with self._lock:
            rows = self._db.execute(sql, (run_id,)).fetchall()
        states = unpacked([packed for *_, packed in rows])
        return [
            Point(n=n, step=step, span_id=span, seconds=seconds, state=state)
            for (n, step, span, seconds, _), state in zip(rows, states, strict=True)
        ]

    def branch(self, info: BranchInfo) -> None:
        """Note a new branch.

        Raises:
            StoreError: The disk is full or the file cannot be written.
        """
        row = (info.run, info.parent, self._root(info.parent), info.step, info.edited)
        self._write("INSERT OR REPLACE INTO branches VALUES (?,?,?,?,?)", [row])

    def family(self, run_id: str) -> tuple[str, list[BranchInfo]]:
        """`(root, branches)`: the run that the tree of this one began with, and all branches of it, oldest first."""
        root = self._root(run_id)
        sql = "SELECT run, parent, step, edited FROM branches WHERE root = ? ORDER BY rowid"
        with self._lock:
            rows = self._db.execute(sql, (root,)).fetchall()
        return root, [BranchInfo(run=run, parent=parent, step=step, edited=said) for run, parent, step, said in rows]

    def branches(self) -> set[str]:
        """The ids of all runs that went on from another one."""
        with self._lock:
            return {run for (run,) in self._db.execute("SELECT run FROM branches").fetchall()}

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _root(self, run_id: str) -> str:
        with self._lock:
            row = self._db.execute("SELECT root FROM branches WHERE run = ?", (run_id,)).fetchone()
        return row[0] if row else run_id

    def _write(self, sql: str, rows: Sequence[tuple]) -> None:
        try:
            with self._lock, self._db:
                self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            raise StoreError(
                f"The run's steps could not be kept: {error}. Make room on the disk.", retry=True
            ) from error


class Packing:
    """Packs the states of one run, in their order."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}
        self._known: set[str] = set()

    def packed(self, state: RunState) -> bytes:
        """What the state has otherwise than the one packed before it, and the chunks that are new in it."""
        chunks: dict[str, Any] = {}
        now = {name: _with_keys(value, chunks) for name, value in state.model_dump(mode="json").items()}
        changes = {name: value for name, value in now.items() if self._before.get(name, _MISSING) != value}
        new = {key: chunk for key, chunk in chunks.items() if key not in self._known}
        self._before = now
        self._known.update(new)
        return zlib.compress(json.dumps({"changes": changes, "chunks": new}, ensure_ascii=False).encode())


_MISSING = object()


def unpacked(packed: Sequence[bytes]) -> list[RunState]:
    """The states that a `Packing` packed, in the same order."""
    states, now, chunks = [], {}, {}
    for one in packed:
        read = json.loads(zlib.decompress(one))
        chunks |= read["chunks"]
        now |= read["changes"]
        states.append(RunState.model_validate(_with_chunks(now, chunks)))
    return states


def _with_keys(value: Any, chunks: dict[str, Any]) -> Any:
    """The value with `{"key": ...}` for each whole chunk; one that was cut down is another chunk of the same id."""
    if isinstance(value, list):
        return [_with_keys(one, chunks) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: _with_keys(one, chunks) for name, one in value.items() if name != "chunk"}
    if "chunk" in value:
        chunk = value["chunk"]
        made["chunk"] = {"key": _key_of(chunk, chunks)} if isinstance(chunk, dict) else chunk
    return made


def _key_of(chunk: dict[str, Any], chunks: dict[str, Any]) -> str:
    key = hashlib.sha256(json.dumps(chunk, sort_keys=True).encode()).hexdigest()[:16]
    chunks[key] = chunk
    return key


def _with_chunks(value: Any, chunks: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_with_chunks(one, chunks) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(chunk := value.get("chunk"), dict):
        return {**value, "chunk": chunks[chunk["key"]]}
    return {name: _with_chunks(one, chunks) for name, one in value.items()}
