"""Runs as a list shows them: a row each, found by words of question and answer and narrowed by what it was asked with.

The row stands beside the record, so that two thousand runs are searched without reading one record.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.pipeline.run import Run
from rag_core.types import Value

RunResult = Literal["running", "answered", "refused", "stopped", "failed"]

LISTING_SCHEMA = """
CREATE TABLE IF NOT EXISTS listed (
    id TEXT PRIMARY KEY, created_at TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL, plan TEXT NOT NULL,
    engine TEXT NOT NULL, collection TEXT NOT NULL, result TEXT NOT NULL, seconds REAL NOT NULL, calls INT NOT NULL,
    supported INT NOT NULL, sentences INT NOT NULL, imported TEXT, ledger_of TEXT NOT NULL, words TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS listed_by_time ON listed (created_at);
CREATE INDEX IF NOT EXISTS listed_by_ledger ON listed (ledger_of);
CREATE INDEX IF NOT EXISTS listed_by_plan
    ON listed (engine, plan, created_at DESC, result, imported, ledger_of, id, seconds, calls);
"""

_ANSWER_CHARS = 300
_NAMED = ("plan", "engine", "collection", "result", "ledger_of")
_LEDGERS = {"with": "1", "without": "ledger_of = ''", "only": "ledger_of != ''"}


class RunInfo(Value):
    """A run, for a list."""

    id: str
    created_at: str
    question: str
    answer: str = Field(description="Its first line; for a failed run, why.")
    plan: str
    engine: str
    collection: str
    result: RunResult
    seconds: float
    calls: int = Field(description="Of a model.")
    supported: int = Field(description="Sentences that are fully supported.")
    sentences: int
    imported: str | None = None
    ledger_of: str = ""
    ledger_runs: int = Field(default=0, description="Runs that its own ledger asked.")


_COUNTED = "(SELECT COUNT(*) FROM listed asked WHERE asked.ledger_of = listed.id)"
LISTED = ",".join(_COUNTED if name == "ledger_runs" else name for name in RunInfo.model_fields)
"""The fields of a `RunInfo` in SQL."""


class RunQuery(Value):
    """Which runs; an empty field narrows nothing."""

    words: str = Field(default="", description="Each of them stands in the question or in the answer.")
    plan: str = ""
    engine: str = ""
    collection: str = ""
    result: RunResult | Literal[""] = ""
    since: str = Field(default="", description="ISO 8601, UTC; a date alone is its first moment.")
    before: str = Field(default="", description="ISO 8601, UTC.")
    ledgers: Literal["with", "without", "only"] = Field(default="with", description="What ledgers asked.")
    ledger_of: str = Field(default="", description="Id of a run: only what its ledger asked.")

    def widest(self) -> RunQuery:
        """All that can be found without other words and choices."""
        return RunQuery(ledgers=self.ledgers, ledger_of=self.ledger_of)


class RunList(Value):
    """A page of a list, the newest first."""

    runs: tuple[RunInfo, ...]
    found: int = Field(description="Runs that the query finds, on all pages.")
    kept: int = Field(description="Runs in all, with those of ledgers where the query has them.")
    ledger_runs: int = Field(description="Runs that ledgers asked, in all.")


class RunChoices(Value):
    """What the runs can be narrowed by: the names that occur."""

    plan: tuple[str, ...]
    engine: tuple[str, ...]
    collection: tuple[str, ...]


def info_of(run: Run) -> RunInfo:
    """The row of a run."""
    result = ("refused" if run.refused else "answered") if run.status == "done" else run.status
    told = run.final_answer or run.error or ""
    return RunInfo(
        id=run.id,
        created_at=run.created_at,
        question=run.question,
        answer=next(iter(told.strip().splitlines()), "")[:_ANSWER_CHARS],
        plan=str(run.plan.get("name", "")),
        engine=run.engine,
        collection=run.collection,
        result=result,
        seconds=run.seconds,
        calls=run.usage.model_calls,
        supported=sum(sentence.support == "fully_supported" for sentence in run.sentences),
        sentences=len(run.sentences),
        imported=run.imported,
        ledger_of=run.ledger_of,
    )


def row_of(run: Run) -> dict[str, object]:
    """The row of a run as the table has it."""
    row = info_of(run).model_dump(exclude={"ledger_runs"})
    return {**row, "words": f"{run.question}\n{run.final_answer}".casefold()}


def condition(query: RunQuery) -> tuple[str, list[str]]:
    """The query as SQL over `listed`, with its values."""
    asked = [("instr(words, ?) > 0", word) for word in query.words.casefold().split()]
    asked += [(f"{column} = ?", getattr(query, column)) for column in _NAMED]
    asked += [("created_at >= ?", query.since), ("created_at < ?", query.before)]
    narrowing = [(sql, value) for sql, value in asked if value]
    return " AND ".join([_LEDGERS[query.ledgers], *(sql for sql, _ in narrowing)]), [value for _, value in narrowing]
