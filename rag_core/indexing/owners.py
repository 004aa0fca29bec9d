"""Which processes are alive: each holds a lock on a file of its own, which the system lets go when it dies."""

from __future__ import annotations

import uuid
from pathlib import Path

from filelock import FileLock, Timeout


class Owners:
    """The processes of one data directory."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.me = uuid.uuid4().hex
        self._lock = FileLock(self._file(self.me))
        self._lock.acquire()

    def alive(self, owner: str) -> bool:
        """Whether another process, of that name, still runs."""
        try:
            with FileLock(self._file(owner), timeout=0):
                pass
        except Timeout:
            return True
        self._file(owner).unlink(missing_ok=True)
        return False

    def close(self) -> None:
        self._lock.release()
        self._file(self.me).unlink(missing_ok=True)

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"
