"""The processes that read PDFs: started when needed, kept warm, ended when they fail or grow old."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from rag_core.errors import PdfParseError, Stopped
from rag_core.parsing.sandbox import PATIENCE
from rag_core.settings import ROOT

START_SECONDS = 60.0
RECYCLE_AFTER = 1_000
"""Requests: a worker then ends, and whatever its libraries have not given back with it."""
POLL_SECONDS = 0.1

Message = dict[str, Any]


class Lost(Exception):
    """A worker is of no more use: it took too long, ran out of memory or died; the text says which, in plain words."""


class Worker:
    """One reading process. It answers one request at a time."""

    def __init__(self, nice: int) -> None:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rag_core.parsing.worker", str(nice)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.requests = 0
        threading.Thread(target=self._pump, daemon=True, name=f"pdf-reader-{self._process.pid}").start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Message, seconds: float, stopped: Callable[[], bool]) -> Iterator[Message]:
        """Send a request and give each answer as it comes; `seconds` is the clock of each.

        It counts what the process works: where others hold the processor, an answer has `PATIENCE` times as long.

        Raises:
            Lost: It took too long, it ran out of memory, or the process died.
            PdfParseError: The worker refuses the file.
            Stopped: `stopped` said so.
        """
        if self.requests == 0:
            self._receive(START_SECONDS, stopped)
        self.requests += 1
        try:
            assert self._process.stdin
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise Lost("crashed the reader") from error
        refused: Message | None = None
        while "done" not in (message := self._receive(seconds, stopped)):
            if "lost" in message:
                raise Lost(message["lost"])
            if "refused" in message:
                refused = message
            else:
                yield message
        if refused:
            raise PdfParseError(Path(request["path"]), refused["reason"], code=refused["refused"])

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin
        with suppress(OSError):  # half a request may wait in it
            self._process.stdin.close()

    def _receive(self, seconds: float, stopped: Callable[[], bool]) -> Message:
        began, worked = time.monotonic(), self._worked()
        while (spent := time.monotonic() - began) < PATIENCE * seconds:
            if stopped():
                raise Stopped("Reading was stopped.")
            if spent > seconds and self._worked() - worked > seconds:
                break
            try:
                message = self._messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                raise Lost("crashed the reader")
            return message
        raise Lost(f"took longer than {seconds:g} s")

    def _worked(self) -> float:
        """Seconds of a processor that the process has had, and what it started and saw the end of."""
        try:
            return sum(psutil.Process(self._process.pid).cpu_times()[:4])
        except psutil.Error:  # it has died: its pipe says so
            return 0.0

    def _pump(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)


class Pool:
    """Warm workers, at most `size` at a time; one that failed or is old is replaced.

    They are lent in the order asked, so that who asks again for each few pages takes turns with others who do.
    """

    def __init__(self, size: int, nice: int) -> None:
        self.size = size
        self._nice = nice
        self._turn = threading.Condition()
        self._tickets = itertools.count()
        self._waiting: list[tuple[bool, int]] = []
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._lent = 0
        self._ended = False

    @contextmanager
    def worker(self, *, urgent: bool = False) -> Iterator[Worker]:
        """Borrow a worker; an exception inside ends it, but for a file that it refuses.

        Args:
            urgent: Before all who wait and are not.
        """
        with self._lending(urgent):
            with self._turn:
                self._idle = [idle for idle in self._idle if idle.alive]  # the kernel may have ended one
                worker = self._idle.pop() if self._idle else Worker(self._nice)
                self._busy.add(worker)
            keep = False
            try:
                yield worker
                keep = True
            except PdfParseError:
                keep = True
                raise
            finally:
                keep = keep and worker.requests < RECYCLE_AFTER
                with self._turn:
                    self._busy.discard(worker)
                    keep = keep and not self._ended
                    if keep:
                        self._idle.append(worker)
                if not keep:
                    worker.end()

    def warm(self, count: int) -> None:
        """Start that many workers, as far as there are not as many, so that the first to ask need not wait for them."""
        with self._turn:
            missing = min(count, self.size) - len(self._idle) - len(self._busy)
            self._idle += [Worker(self._nice) for _ in range(missing) if not self._ended]

    def end(self) -> None:
        """End all workers, also those at work; none starts again."""
        with self._turn:
            self._ended = True
            workers, self._idle = [*self._idle, *self._busy], []
            self._turn.notify_all()
        for worker in workers:
            worker.end()

    @contextmanager
    def _lending(self, urgent: bool) -> Iterator[None]:
        ticket = (not urgent, next(self._tickets))
        with self._turn:
            heapq.heappush(self._waiting, ticket)
            self._turn.wait_for(lambda: self._ended or (self._lent < self.size and self._waiting[0] == ticket))
            if self._ended:
                raise Stopped("The reader is closed.")
            heapq.heappop(self._waiting)
            self._lent += 1
            self._turn.notify_all()
        try:
            yield
        finally:
            with self._turn:
                self._lent -= 1
                self._turn.notify_all()
