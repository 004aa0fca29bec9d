"""Makes ledgers: asks a question again without each technique of its plan, and keeps what comes of it.

Without a model the runs follow one another: reading is work for the processor, and two at a time would only make each
slower. There the run itself is asked again first, since a first run reads its texts for the first time and would look
slower than those that come after it; and once more at the end, to see how far times differ by chance. With a model some
are asked at a time, and the run stays as it was: asking it again would cost its calls, and its time is the model's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from rag_core.errors import PlanError, QuestionError, RagError
from rag_core.evaluation import ledger
from rag_core.evaluation.difference import cost
from rag_core.evaluation.grading import Grade, Grader
from rag_core.evaluation.ledger import Entry, Estimate, Ledger
from rag_core.llm.engine import KeylessEngine
from rag_core.pipeline.live import LiveRun
from rag_core.pipeline.plan import Plan, plan_from_json
from rag_core.pipeline.run import Run
from rag_core.workbench.asking import Asked, again, check_again
from rag_core.workbench.engines import write_private

AT_ONCE = 3
"""Runs at a time where a model answers."""

_log = logging.getLogger(__name__)


class LiveLedger:
    """A ledger being made. `record` is replaced as it grows; followers are called after each change."""

    def __init__(self, record: Ledger) -> None:
        self.record = record
        self._followers: set[Callable[[], None]] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._over = threading.Event()
        self._runs: dict[str, LiveRun] = {}

    @property
    def done(self) -> bool:
        return self._over.is_set()

    def stop(self) -> None:
        """Stop the runs under way; none is started any more."""
        self._stop.set()
        for live in [*self._runs.values()]:
            live.stop()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def began(self, live: LiveRun) -> None:
        """A run of this ledger has begun, to be stopped with it."""
        self._runs[live.id] = live
        if self.stopped():  # since it was looked whether to begin
            live.stop()

    def change(self, changed: Callable[[Ledger], Ledger]) -> None:
        with self._lock:
            self.record = changed(self.record)
            followers = tuple(self._followers)
        for wake in followers:
            wake()

    def finish(self, keep: Callable[[Ledger], None]) -> None:
        """Keep it as it is now, then tell its end."""
        ended = self.record.model_copy(update={"state": "stopped" if self.stopped() else "done"})
        keep(ended)
        self.change(lambda record: ended)
        self._runs.clear()  # they hold all that happened
        self._over.set()

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after every change from now on; returns what ends that."""
        with self._lock:
            self._followers.add(wake)
        return lambda: self._followers.discard(wake)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it is over, after so many seconds at most."""
        return self._over.wait(timeout_s)


class Ledgers:
    """The ledgers of one data directory, by the run that they are of: one being made, or the last that was."""

    def __init__(
        self,
        folder: Path,
        start: Callable[[Asked], str],
        live: Callable[[str], LiveRun | None],
        run: Callable[[str], Run | None],
        chat: Callable[[str], list[Run]],
        grader: Grader,
    ) -> None:
        """Wire what asks.

        Args:
            folder: A file a ledger is kept here.
            chat: The runs of a conversation, oldest first: a question is asked again as it was understood then.
        """
        self._folder = folder
        self._start = start
        self._live = live
        self._run = run
        self._chat = chat
        self._grader = grader
        self._lock = threading.Lock()
        self._making: dict[str, LiveLedger] = {}

    def estimate(self, run_id: str) -> Estimate:
        """What a ledger of this run will take.

        Raises:
            QuestionError: There is no such run, it gave no answer to hold others against, or it was asked by a picture.
        """
        run, plan = self._asked_about(run_id)
        return ledger.estimate(run, plan, base_runs=2 if _keyless(run) else 0, at_once=_at_once(run))

    def make(self, run_id: str) -> LiveLedger:
        """Begin a ledger in the background, in place of an earlier one of this run; one being made is given as it is.

        Raises:
            QuestionError: There is no such run, it gave no answer to hold others against, or it was asked by a picture.
        """
        run, plan = self._asked_about(run_id)
        with self._lock:
            making = self._making.get(run_id)
            if making is not None and not making.done:
                return making
            making = self._making[run_id] = LiveLedger(ledger.opened(run, plan))
        threading.Thread(target=self._made, args=(making, run, plan), daemon=True, name=f"ledger-{run_id[:8]}").start()
        return making

    def live(self, run_id: str) -> LiveLedger | None:
        """The ledger of this run being made or just made, to be followed."""
        return self._making.get(run_id)

    def get(self, run_id: str) -> Ledger | None:
        """The ledger of this run as it stands; None where none was made."""
        if live := self.live(run_id):
            return live.record
        path = self._path(run_id)
        if path is None or not path.is_file():
            return None
        try:
            return Ledger.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):  # of another version, or cut off: it can be made again
            return None

    def stop(self, run_id: str) -> None:
        """Stop a ledger being made; it keeps what it has."""
        if live := self.live(run_id):
            live.stop()

    def forget(self, run_id: str, timeout_s: float = 5) -> None:
        """Forget the ledger of a run that is deleted; one being made is stopped before.

        Raises:
            QuestionError: What it asks did not end in time; nothing is forgotten.
        """
        if live := self.live(run_id):
            live.stop()
            live.wait(timeout_s)
            if not live.done:
                raise QuestionError("A ledger of this run is still being stopped: try again in a moment.")
        with self._lock:
            self._making.pop(run_id, None)
        if path := self._path(run_id):
            path.unlink(missing_ok=True)

    def stop_all(self, timeout_s: float) -> None:
        """Stop all of them and wait until each is kept."""
        under_way = [live for live in [*self._making.values()] if not live.done]
        for live in under_way:
            live.stop()
        for live in under_way:
            live.wait(timeout_s)

    # inside

    def _asked_about(self, run_id: str) -> tuple[Run, Plan]:
        run = self._run(run_id)
        if run is None:
            raise QuestionError("This run is not in the history any more: ask again.")
        if run.status != "done":
            raise QuestionError("Only a run that came to its end can be held against others: ask again.")
        check_again(run)
        try:
            return run, plan_from_json(run.plan)
        except PlanError as error:
            raise QuestionError(f"The plan of this run is of another version ({error}): ask again.") from error

    def _made(self, making: LiveLedger, run: Run, plan: Plan) -> None:
        try:
            self._ask_all(making, run, plan)
        except RagError as error:  # what it searched is gone, or its model is not set any more
            told = str(error)
            making.change(lambda record: _ended(record, "failed", told))
        except Exception as error:  # whoever watches must see its end
            _log.exception("a ledger broke off")
            told = f"It broke off ({type(error).__name__}): make it again, and report this."
            making.change(lambda record: _ended(record, "failed", told))
        if making.stopped():
            making.change(lambda record: _ended(record, "stopped", "It was stopped before."))
        making.finish(self._keep)

    def _ask_all(self, making: LiveLedger, run: Run, plan: Plan) -> None:
        waiting = [entry for entry in making.record.entries if entry.state == "waiting"]
        first = self._asked(making, run, plan) if _keyless(run) and waiting else run
        if first.status != "done":
            making.change(lambda record: _ended(record, "failed", first.error or "It was stopped."))
            return
        base = first, self._grader.grade(first)
        making.change(
            lambda record: record.model_copy(update={"base": first.id, "grade": base[1], "cost": cost(first)})
        )
        with ThreadPoolExecutor(_at_once(run), thread_name_prefix="ledger") as pool:
            for made in [pool.submit(self._judge, making, run, plan, entry, base) for entry in waiting]:
                made.result()
        if _keyless(run) and waiting and not making.stopped():
            last = self._asked(making, run, plan)
            making.change(lambda record: record.model_copy(update={"noise_s": abs(last.seconds - first.seconds)}))

    def _judge(self, making: LiveLedger, run: Run, plan: Plan, entry: Entry, base: tuple[Run, Grade]) -> None:
        """Ask without one technique, and enter what comes of it."""
        if making.stopped():
            return

        def began(run_id: str) -> None:
            running = entry.model_copy(update={"state": "running", "run": run_id})
            making.change(lambda record: record.with_entry(running))

        try:
            found = self._asked(making, run, ledger.without(plan, entry.technique, run), began)
        except RagError as error:
            failed = entry.model_copy(update={"state": "failed", "why": str(error)})
            making.change(lambda record: record.with_entry(failed))
            return
        judged = ledger.judged(entry, base, found, self._grader.grade(found))
        making.change(lambda record: record.with_entry(judged))

    def _asked(
        self, making: LiveLedger, run: Run, plan: Plan, began: Callable[[str], None] = lambda run_id: None
    ) -> Run:
        """Ask the question of a run with another plan, and wait for its end.

        Raises:
            RagError: It cannot be asked so.
        """
        earlier: Sequence[Run] = self._chat(run.chat) if run.chat else ()
        run_id = self._start(replace(again(run, plan, earlier), ledger_of=run.id))
        live = self._live(run_id)
        assert live is not None  # it has just begun
        making.began(live)
        began(run_id)
        record = live.wait()
        assert record is not None
        return record

    def _keep(self, record: Ledger) -> None:
        """Write a ledger; where that fails it is shown all the same, until the app ends."""
        path = self._path(record.run)
        try:
            if path is not None:
                self._folder.mkdir(exist_ok=True)
                write_private(path, record.model_dump_json())
        except OSError as error:
            _log.warning("a ledger could not be kept: %s", error)

    def _path(self, run_id: str) -> Path | None:
        """Its file; None for what is no id of a run."""
        return self._folder / f"{run_id}.json" if run_id.isalnum() else None


def _keyless(run: Run) -> bool:
    return run.engine == KeylessEngine.name


def _at_once(run: Run) -> int:
    return 1 if _keyless(run) else AT_ONCE


def _ended(record: Ledger, state: ledger.State, why: str) -> Ledger:
    """The ledger with all that was still to come ended so."""
    for entry in record.entries:
        if entry.state in ("waiting", "running"):
            record = record.with_entry(entry.model_copy(update={"state": state, "why": why}))
    return record
