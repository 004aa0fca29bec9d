"""Files of lines: questions and answers come in so, results go out so, and a file goes on where it was cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError

from rag_core.errors import PlanError

L = TypeVar("L", bound=BaseModel)


def read_lines(path: Path, kind: type[L], needs: str) -> list[L]:
    """The lines of a file, read.

    Raises:
        PlanError: It cannot be read, or a line of it has not what it needs.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # `splitlines` would cut at more, within a text
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(kind.model_validate(json.loads(line)))
            except (ValueError, ValidationError) as error:
                raise PlanError(f"{path}, line {number}: it is not an object with {needs}.") from error
    return found


def done_already(out: Path, ids: Sequence[str | int], what: str) -> int:
    """How many of the lines with these ids the file has results of; half a line at its end is cut off.

    Raises:
        PlanError: The file is of other lines, or cannot be read.
    """
    try:
        whole = out.read_bytes() if out.exists() else b""
    except OSError as error:
        raise PlanError(f"{out} cannot be read: {error}.") from error
    kept = whole[: whole.rfind(b"\n") + 1]
    try:
        there = [json.loads(line)["id"] for line in kept.splitlines()]
    except (ValueError, KeyError, TypeError):
        there = [None]
    if there != [*ids[: len(there)]]:
        raise PlanError(f"{out} is of other {what}: name another file, or remove it.")
    if kept != whole:
        out.write_bytes(kept)
    return len(there)


def appended(out: Path) -> IO[str]:
    try:
        # Half a character pair, as broken texts have them, is written as the escape that JSON has for it.
        return out.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise PlanError(f"{out} cannot be written: {error}.") from error


def append(file: IO[str], line: dict[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()
