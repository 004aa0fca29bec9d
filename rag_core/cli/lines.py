"""Files of lines: questions and answers come in so, results go out so, and a file goes on where it was cut."""

from __future__ import annotations

import fcntl
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_core.errors import PlanError, RagError

L = TypeVar("L", bound=BaseModel)
log = logging.getLogger(__name__)


def read_lines(path: Path, kind: type[L], needs: str) -> list[L]:
    """The lines of a file, read.

    Raises:
        PlanError: It cannot be read, or a line of it has not what it needs.
    """
    try:
        # Some programs begin a file with a mark of its encoding. `splitlines` would cut at more, within a text.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {_reason(error)}.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(kind.model_validate(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise PlanError(f"{path}, line {number}: it is not an object with {needs}.") from error
    return found


@contextmanager
def going_on(out: Path, given: Path, ids: Sequence[str | int], what: str) -> Iterator[tuple[FileIO, int]]:
    """The file of results, open at its end for this process alone, and how many of the lines with these ids it has.

    Half a line at its end is cut off.

    Args:
        given: The file that the lines came from.

    Raises:
        PlanError: The file is of other lines, is the one that they came from, cannot be read or written, or another
            process writes it.
    """
    if out.resolve() == given.resolve():
        raise PlanError(f"--out must be another file than the {what}.")
    try:
        file = FileIO(out, "ab")
    except OSError as error:
        raise PlanError(f"{out} cannot be written: {_reason(error)}.") from error
    with file:
        # A pipe or a terminal has no results yet, and reading it would wait for what nobody writes.
        yield file, _done_already(file, out, ids, what) if out.is_file() else 0


def _done_already(file: FileIO, out: Path, ids: Sequence[str | int], what: str) -> int:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PlanError(f"Another process is writing {out}: wait for it, or name another file.") from error
    except OSError:  # some file systems have no locks
        log.warning("%s cannot be locked: see to it that no other process writes it.", out)
    try:
        whole = out.read_bytes()
    except OSError as error:
        raise PlanError(f"{out} cannot be read: {_reason(error)}.") from error
    kept = whole[: whole.rfind(b"\n") + 1]
    try:
        there = [json.loads(line)["id"] for line in kept.splitlines()]
    except (ValueError, KeyError, TypeError, RecursionError):
        there = [None]
    if there != [*ids[: len(there)]]:
        raise PlanError(f"{out} is of other {what}: name another file, or remove it.")
    if kept != whole:
        file.truncate(len(kept))
    return len(there)


def append(file: FileIO, line: dict[str, Any]) -> None:
    """Write a line.

    Raises:
        RagError: There is no room for it.
    """
    # Half a character pair, as broken texts have them, is written as the escape that JSON has for it.
    left = json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    try:
        while left:
            left = left[file.write(left) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        told = f"{file.name} cannot be written: {_reason(error)}"
        raise RagError(f"{told}; make room and start again, what is done is kept.") from error


def _reason(error: OSError | UnicodeDecodeError) -> str:
    """Without the name of the file, which stands before it."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
