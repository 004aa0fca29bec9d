"""Runs under way: each belongs to a thread and an append-only list of events, and to nobody's browser tab."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

from rag_core.pipeline.run import Run, RunEvent


class LiveRun:
    """One run under way. `events` only grows; followers are called after each growth, from the run's thread."""

    def __init__(self, run_id: str, chat: str) -> None:
        self.id = run_id
        self.chat = chat
        self.events: list[RunEvent] = []
        self.record: Run | None = None
        self._stop = threading.Event()
        self._finished = threading.Event()
        self._followers: set[Callable[[], None]] = set()
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        return self._finished.is_set()

    def stop(self) -> None:
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        with self._lock:
            self.events.append(RunEvent(n=len(self.events) + 1, kind=kind, data=data))
            followers = tuple(self._followers)
        for wake in followers:
            wake()

    def finish(self, record: Run) -> None:
        self.record = record
        self.emit("done", {"record": record.model_dump(mode="json")})
        self._finished.set()

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after every event from now on; returns what ends that."""
        with self._lock:
            self._followers.add(wake)
        return lambda: self._followers.discard(wake)

    def wait(self, timeout_s: float | None = None) -> Run | None:
        """The record once the run is over; None when that takes longer."""
        self._finished.wait(timeout_s)
        return self.record


class LiveRuns:
    """The runs under way and those just finished, by id."""

    def __init__(self, kept: int = 200) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._kept = kept
        self._lock = threading.Lock()

    def start(self, live: LiveRun, work: Callable[[LiveRun], Run]) -> None:
        """Let a thread of its own do the work; it is expected to raise nothing."""
        with self._lock:
            finished = (run_id for run_id, run in self._runs.items() if run.done)
            for run_id in [*islice(finished, max(0, len(self._runs) - self._kept))]:
                del self._runs[run_id]
            self._runs[live.id] = live
        threading.Thread(target=lambda: live.finish(work(live)), daemon=True, name=f"run-{live.id[:8]}").start()

    def get(self, run_id: str) -> LiveRun | None:
        return self._runs.get(run_id)

    def under_way(self) -> list[LiveRun]:
        with self._lock:
            return [run for run in self._runs.values() if not run.done]

    def stop_all(self, timeout_s: float) -> None:
        """Stop every run and wait until each has left its record."""
        for live in self.under_way():
            live.stop()
        for live in self.under_way():
            live.wait(timeout_s)
