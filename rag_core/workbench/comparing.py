"""One question side by side: with several plans, engines and collections at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import Field

from rag_core.errors import QuestionError, RagError
from rag_core.evaluation.difference import Difference, difference
from rag_core.evaluation.grading import Grade, Grader
from rag_core.pipeline.plan import Plan
from rag_core.pipeline.run import Run
from rag_core.types import Value
from rag_core.workbench.asking import Asked

MOST_COLUMNS = 4


class Column(Value):
    """What one column asks with; None means what is usual."""

    plan: Plan
    engine: str | None = None
    collection: str | None = None
    documents: tuple[str, ...] = Field(default=(), description="Names; only these are searched.")


class Started(Value):
    """A column's run, or why it could not be asked so."""

    run: str = ""
    problem: str = ""


class Compared(Value):
    """A finished run beside the first of those that it is compared with."""

    run: str
    grade: Grade
    difference: Difference | None = Field(description="From the first run to this one; None for the first itself.")


class Comparing:
    """Asks one question in several ways, each an ordinary run that can be followed, stopped and opened."""

    def __init__(self, start: Callable[[Asked], str], run: Callable[[str], Run | None], grader: Grader) -> None:
        self._start = start
        self._run = run
        self._grader = grader

    def compare(self, question: str, columns: Sequence[Column]) -> list[Started]:
        """Start the runs of all columns; one that cannot be asked so spoils none of the others.

        Raises:
            QuestionError: There are too few columns to compare, or too many to be seen side by side.
        """
        if not 1 < len(columns) <= MOST_COLUMNS:
            raise QuestionError(f"Two to {MOST_COLUMNS} columns can be compared; these are {len(columns)}.")
        return [self._started(question, column) for column in columns]

    def compared(self, runs: Sequence[str]) -> list[Compared | None]:
        """The finished runs beside the first; None in the place of a run that is not over, or not here."""
        found = [self._over(run_id) for run_id in runs]
        first = found[0] if found else None
        return [
            None
            if run is None
            else Compared(
                run=run.id,
                grade=self._grader.grade(run),
                difference=None if first is None or at == 0 else difference(first, run),
            )
            for at, run in enumerate(found)
        ]

    def _started(self, question: str, column: Column) -> Started:
        asked = Asked(question, column.plan, column.collection, column.documents, column.engine)
        try:
            return Started(run=self._start(asked))
        except RagError as error:
            return Started(problem=str(error))

    def _over(self, run_id: str) -> Run | None:
        run = self._run(run_id)
        return None if run is None or run.status == "running" else run
