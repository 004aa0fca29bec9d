"""Every run, kept in SQLite: what was asked when, in which chat, and the whole record."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from rag_core.errors import StoreError
from rag_core.pipeline.forecast import PAST, Spent
from rag_core.pipeline.listing import LISTED, LISTING_SCHEMA, RunChoices, RunInfo, RunList, RunQuery, condition, row_of
from rag_core.pipeline.run import Run
from rag_core.techniques.base import Turn
from rag_core.types import Value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, chat TEXT NOT NULL, created_at TEXT NOT NULL, collection TEXT NOT NULL,
    question TEXT NOT NULL, status TEXT NOT NULL, feedback TEXT, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS runs_by_chat ON runs (chat, created_at);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (created_at);
"""


class ChatInfo(Value):
    """A conversation, for a list."""

    id: str
    first_question: str
    at: str
    runs: int


class History:
    """The runs of one data directory. Safe for threads and for several processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        # A run lost in a power cut can be asked again; a sync for each would cost more than the search.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._drop_other_list()
        self._db.executescript(_SCHEMA + LISTING_SCHEMA)
        self._list_all()

    def keep(self, run: Run) -> None:
        """Write a run, over an earlier state of it.

        Raises:
            StoreError: The disk is full or the file cannot be written.
        """
        row = (run.id, run.chat, run.created_at, run.collection, run.question, run.status, run.feedback)
        try:
            with self._lock, self._db:
                self._db.execute("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?)", (*row, run.model_dump_json()))
                self._write_row(run)
        except sqlite3.Error as error:
            raise StoreError(f"The run could not be kept: {error}. Make room on the disk.", retry=True) from error

    def get(self, run_id: str) -> Run | None:
        return next(iter(self._runs("WHERE id = ?", run_id)), None)

    def chat(self, chat: str) -> list[Run]:
        """The runs of a chat, oldest first."""
        return self._runs("WHERE chat = ? ORDER BY created_at", chat)

    def questions(self, chat: str) -> dict[str, str]:
        """What was asked in a chat by the run's id, oldest first; no record is read for it."""
        return dict(self._rows("SELECT id, question FROM runs WHERE chat = ? ORDER BY created_at", chat))

    def turns(self, chat: str, last: int) -> tuple[Turn, ...]:
        """The last questions of a chat that have an answer, with it, oldest first."""
        rows = self._rows(
            """SELECT runs.question, json_extract(record, '$.final_answer') FROM runs JOIN listed USING (id)
               WHERE chat = ? AND result = 'answered' ORDER BY runs.created_at DESC LIMIT ?""",
            chat,
            last,
        )
        return tuple(Turn(question=question, answer=answer) for question, answer in reversed(rows))

    def feedback(self, run_id: str, value: Literal["good", "wrong"] | None) -> None:
        if run := self.get(run_id):
            self.keep(run.model_copy(update={"feedback": value}))

    def interrupted(self, *, except_: frozenset[str] = frozenset()) -> list[Run]:
        """The runs that never ended, because their process did."""
        return [run for run in self._runs("WHERE status = 'running'") if run.id not in except_]

    def recent_chats(self, limit: int = 20) -> list[ChatInfo]:
        """The latest conversations, newest first."""
        rows = self._rows(
            """SELECT chat, MIN(created_at), MAX(created_at), COUNT(*),
                      (SELECT question FROM runs first WHERE first.chat = runs.chat ORDER BY created_at LIMIT 1)
               FROM runs WHERE chat != '' GROUP BY chat ORDER BY MAX(created_at) DESC LIMIT ?""",
            limit,
        )
        return [ChatInfo(id=chat, first_question=question, at=last, runs=n) for chat, _, last, n, question in rows]

    def find(self, query: RunQuery, offset: int = 0, limit: int = 50) -> RunList:
        """The runs that a query finds, the newest first."""
        where, values = condition(query)
        page = f"SELECT {LISTED} FROM listed WHERE {where} ORDER BY created_at DESC, id LIMIT ? OFFSET ?"
        rows = self._rows(page, *values, limit, offset)
        runs = tuple(RunInfo(**dict(zip(RunInfo.model_fields, row, strict=True))) for row in rows)
        found, kept, asked = (self._count(one) for one in (query, query.widest(), RunQuery(ledgers="only")))
        return RunList(runs=runs, found=found, kept=kept, ledger_runs=asked)

    def spent(self, engine: str, left_out: Set[str] = frozenset()) -> list[Spent]:
        """What the latest `PAST` runs of each plan took that came to an end with an engine, the newest first.

        Runs of ledgers and files are left out, and those with these ids.
        """
        sql = """SELECT id, plan, seconds, calls FROM (
                     SELECT id, plan, seconds, calls, created_at,
                            ROW_NUMBER() OVER (PARTITION BY plan ORDER BY created_at DESC) AS nth
                     FROM listed WHERE engine = ? AND result IN ('answered', 'refused') AND imported IS NULL
                     AND ledger_of = '' AND id NOT IN (SELECT value FROM json_each(?)))
                 WHERE nth <= ? ORDER BY created_at DESC"""
        return [Spent(*row) for row in self._rows(sql, engine, json.dumps([*left_out]), PAST)]

    def of_ledger(self, run_id: str) -> list[str]:
        """The runs that the ledger of a run asked."""
        return [id_ for (id_,) in self._rows("SELECT id FROM listed WHERE ledger_of = ?", run_id)]

    def choices(self, query: RunQuery) -> RunChoices:
        """What the runs can be narrowed by, whatever else a query says."""
        where, values = condition(query.widest())
        names = {
            column: tuple(
                name
                for (name,) in self._rows(f"SELECT DISTINCT {column} FROM listed WHERE {where} ORDER BY 1", *values)
                if name
            )
            for column in RunChoices.model_fields
        }
        return RunChoices(**names)

    def delete(self, run_id: str) -> None:
        """Forget a run.

        Raises:
            StoreError: The file cannot be written.
        """
        try:
            with self._lock, self._db:
                for table in ("runs", "listed"):
                    self._db.execute(f"DELETE FROM {table} WHERE id = ?", (run_id,))
        except sqlite3.Error as error:
            raise StoreError(f"The run could not be deleted: {error}. Make room on the disk.", retry=True) from error

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _write_row(self, run: Run) -> None:
        row = row_of(run)
        marks = ",".join("?" * len(row))
        self._db.execute(f"INSERT OR REPLACE INTO listed ({','.join(row)}) VALUES ({marks})", tuple(row.values()))

    def _count(self, query: RunQuery) -> int:
        where, values = condition(query)
        [(count,)] = self._rows(f"SELECT COUNT(*) FROM listed WHERE {where}", *values)
        return count

    def _drop_other_list(self) -> None:
        """A list that another version made is made anew from the records."""
        columns = {name for _, name, *_ in self._rows("PRAGMA table_info(listed)")}
        if columns and "ledger_of" not in columns:
            self._db.execute("DROP TABLE listed")

    def _list_all(self) -> None:
        """Rows for the runs that were kept before there was a list."""
        unlisted = [id_ for (id_,) in self._rows("SELECT id FROM runs WHERE id NOT IN (SELECT id FROM listed)")]
        for id_ in unlisted:
            with suppress(ValidationError):  # one that cannot be read is in no list, and stops nobody from starting
                if run := self.get(id_):
                    with self._lock, self._db:
                        self._write_row(run)

    def _runs(self, where: str, *values: object) -> list[Run]:
        return [
            Run.model_validate_json(record) for (record,) in self._rows(f"SELECT record FROM runs {where}", *values)
        ]

    def _rows(self, sql: str, *values: object) -> list[tuple]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()
