"""Files on their way in: which there are, what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from rag_core.indexing.records import DocumentRecord
from rag_core.parsing.formats.kinds import SUFFIXES
from rag_core.types import Value


class FileResult(Value):
    """What became of one file, as the command line says it."""

    document: str
    name: str
    state: Literal["indexed", "partial", "failed", "unchanged", "gone", "deleted"]
    pages: int = 0
    chunks: int = 0
    failed_pages: tuple[int, ...] = ()
    reason: str | None = None
    seconds: float = 0


def files_in(paths: Sequence[str | Path]) -> Iterator[tuple[Path, str]]:
    """The files to index with their names: a file as it is, of a folder all that are read, by their relative paths."""
    for given in map(Path, paths):
        if not given.is_dir():
            yield given, given.name
            continue
        for path in sorted(given.rglob("*")):
            # Office keeps a `~$name` beside each file that it has open.
            if path.is_file() and path.suffix.lower() in SUFFIXES and not path.name.startswith("~$"):
                yield path, path.relative_to(given).as_posix()


def result_of(record: DocumentRecord, *, changed: bool, seconds: float) -> FileResult:
    state: Literal["indexed", "partial", "failed", "unchanged"] = "indexed"
    if record.state in ("partial", "failed"):
        state = record.state
    elif not record.searchable:
        state = "failed"
    elif not changed:
        state = "unchanged"
    return FileResult(
        document=record.id,
        name=record.name,
        state=state,
        pages=record.pages,
        chunks=record.chunks,
        failed_pages=tuple(failure.page for failure in record.failed_pages),
        reason=record.reason or "; ".join(f"page {f.page}: {f.reason}" for f in record.failed_pages) or None,
        seconds=round(seconds, 3),
    )


def reason_of(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "There is no such file."
    if isinstance(error, OSError):
        return f"It cannot be read: {error.strerror}."
    return getattr(error, "reason", str(error))
