"""What changes in a folder: it is looked at again and again, which every file system allows, network drives too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_core.workbench.files import files_in

_State = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """A file that is there, whole, as it was not before; or that is no longer there."""

    path: Path
    name: str
    kind: Literal["written", "gone"]


class Watched:
    """The files of some paths, as they were at the last look."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._paths = paths
        self._seen: dict[tuple[Path, str], _State] = {}
        self._told: dict[tuple[Path, str], _State] = {}

    def look(self) -> list[Change]:
        """Give what changed since the last look. A file counts as written when two looks find it the same."""
        now = {file: state for file in files_in(self._paths) if (state := _state(file[0]))}
        written = [file for file, state in now.items() if self._seen.get(file) == state != self._told.get(file)]
        gone = [file for file in self._told if file not in now]
        self._seen = now
        self._told |= {file: now[file] for file in written}
        for file in gone:
            del self._told[file]
        return [*(Change(*file, "written") for file in written), *(Change(*file, "gone") for file in gone)]


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:  # it went between being listed and being looked at
        return None
    return found.st_mtime_ns, found.st_size
