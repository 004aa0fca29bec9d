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
    supported INT NOT NULL, sentences INT NOT NULL, imported TEXT, words TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS listed_by_time ON listed (created_at);
"""

_ANSWER_CHARS = 300


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


class RunQuery(Value):
    """Which runs; an empty field narrows nothing."""

    words: str = Field(default="", description="Each of them stands in the question or in the answer.")
    plan: str = ""
    engine: str = ""
    collection: str = ""
    result: RunResult | Literal[""] = ""
    since: str = Field(default="", description="ISO 8601, UTC; a date alone is its first moment.")
    before: str = Field(default="", description="ISO 8601, UTC.")


class RunList(Value):
    """A page of a list, the newest first."""

    runs: tuple[RunInfo, ...]
    found: int = Field(description="Runs that the query finds, on all pages.")
    kept: int = Field(description="Runs in all.")


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
    )


def row_of(run: Run) -> dict[str, object]:
    """The row of a run as the table has it."""
    return {**info_of(run).model_dump(), "words": f"{run.question}\n{run.final_answer}".casefold()}


def condition(query: RunQuery) -> tuple[str, list[str]]:
    """The query as SQL over `listed`, with its values."""
    asked = [("instr(words, ?) > 0", word) for word in query.words.casefold().split()]
    asked += [(f"{column} = ?", getattr(query, column)) for column in ("plan", "engine", "collection", "result")]
    asked += [("created_at >= ?", query.since), ("created_at < ?", query.before)]
    narrowing = [(sql, value) for sql, value in asked if value]
    return " AND ".join(sql for sql, _ in narrowing) or "1", [value for _, value in narrowing]
