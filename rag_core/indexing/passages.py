"""Passages files: JSON lines `{id, title, text}`, plain or gzip, each passage a chunk of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from pydantic import BaseModel, ValidationError

from rag_core.errors import DocumentError

ENDINGS = (".jsonl", ".jsonl.gz")


class Passage(BaseModel):
    """One line. Fields beside these are left alone."""

    id: str | int
    title: str = ""
    text: str


def is_passages_file(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def read_passages(path: Path, name: str) -> Iterator[Passage | str]:
    """The passages of a file in order; for a line that is none, a sentence that says why.

    Raises:
        DocumentError: The file cannot be read at all.
    """
    try:
        with _opened(path, name) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _passage(number, line)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DocumentError(name, "unreadable", f"It is not a passages file in UTF-8 ({error}).") from error


def _passage(number: int, line: str) -> Passage | str:
    try:
        passage = Passage.model_validate(json.loads(line))
    except (ValueError, ValidationError):
        return f"Line {number} is not an object with id and text."
    return passage if passage.text.strip() or passage.title.strip() else f"Line {number} has no text."


def _opened(path: Path, name: str) -> IO[str]:
    if name.lower().endswith(".gz"):
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")
