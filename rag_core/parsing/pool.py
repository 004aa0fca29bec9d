"""The processes that read PDFs: started when needed, kept warm, ended when they fail or grow old."""

from __future__ import annotations

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

from rag_core.errors import PdfParseError, Stopped
from rag_core.settings import ROOT

START_SECONDS = 60.0
RECYCLE_AFTER = 50
POLL_SECONDS = 0.1

Message = dict[str, Any]


class Lost(Exception):
    """A worker took too long or died; the text says which, in plain words."""


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

        Raises:
            Lost: It took too long, or the process died.
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
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if stopped():
                raise Stopped("Reading was stopped.")
            try:
                message = self._messages.get(timeout=min(left, POLL_SECONDS))
            except queue.Empty:
                continue
            if message is None:
                raise Lost("crashed the reader")
            return message
        raise Lost(f"took longer than {seconds:g} s")

    def _pump(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)


class Pool:
    """Warm workers, at most `size` at a time; one that failed or is old is replaced."""

    def __init__(self, size: int, nice: int) -> None:
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._nice = nice
        self._ended = False

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Borrow a worker; an exception inside ends it, but for a file that it refuses."""
        with self._free:
            with self._lock:
                if self._ended:
                    raise Stopped("The reader is closed.")
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
                with self._lock:
                    self._busy.discard(worker)
                    keep = keep and not self._ended
                    if keep:
                        self._idle.append(worker)
                if not keep:
                    worker.end()

    def end(self) -> None:
        """End all workers, also those at work; none starts again."""
        with self._lock:
            self._ended = True
            workers, self._idle = [*self._idle, *self._busy], []
        for worker in workers:
            worker.end()
