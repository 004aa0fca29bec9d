"""One question side by side: with several plans, engines and collections at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from rag_core.errors import QuestionError, RagError
from rag_core.evaluation.difference import Difference, difference
from rag_core.evaluation.grading import Grade, Grader
from rag_core.evaluation.hints import ALL_DOCUMENTS, Hint, hints, switched_on
from rag_core.pipeline.plan import Plan, plan_from_json
from rag_core.pipeline.run import Run
from rag_core.settings import Toggle
from rag_core.types import Value
from rag_core.workbench.asking import Asked, again

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

    def __init__(
        self,
        start: Callable[[Asked], str],
        run: Callable[[str], Run | None],
        chat: Callable[[str], Sequence[Run]],
        grader: Grader,
        toggles: Mapping[str, Toggle],
    ) -> None:
        """Wire what asks.

        Args:
            chat: The runs of a conversation, oldest first: a question is asked again as it was understood then.
            toggles: What the environment says of techniques, for one that is switched on here.
        """
        self._start = start
        self._run = run
        self._chat = chat
        self._grader = grader
        self._toggles = toggles

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

    def hints(self, run_id: str) -> list[Hint]:
        """What to try where the answer of this run is wrong; nothing where the run shows no sign of it.

        Raises:
            QuestionError: There is no such run.
        """
        run = self._known(run_id)
        return hints(run, self._grader.relevance(run))

    def try_out(self, run_id: str, technique: str) -> str:
        """Ask a run's question again, in the background, with what a hint of it names; gives the id of the new run.

        Raises:
            RagError: There is no such run or technique, or it cannot be asked so; nothing was searched.
        """
        run = self._known(run_id)
        plan = plan_from_json(run.plan)
        if technique != ALL_DOCUMENTS:
            settings = self._toggles[technique].settings if technique in self._toggles else {}
            plan = switched_on(plan, technique, settings)
        asked = again(run, plan, self._chat(run.chat))
        return self._start(replace(asked, documents=()) if technique == ALL_DOCUMENTS else asked)

    def _known(self, run_id: str) -> Run:
        run = self._run(run_id)
        if run is None:
            raise QuestionError("This run is not in the history any more: ask again.")
        return run

    def _started(self, question: str, column: Column) -> Started:
        asked = Asked(question, column.plan, column.collection, column.documents, column.engine)
        try:
            return Started(run=self._start(asked))
        except RagError as error:
            return Started(problem=str(error))

    def _over(self, run_id: str) -> Run | None:
        run = self._run(run_id)
        return None if run is None or run.status == "running" else run
