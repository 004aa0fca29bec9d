"""A run as a file: its whole record as JSON with a version, and back.

What comes from a file is somebody else's word: only a record that this version reads and writes is taken.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pydantic import ConfigDict, Field, ValidationError

from rag_core.errors import RagError
from rag_core.pipeline.run import Run
from rag_core.types import Value

VERSION = 1
MOST_MB = 50

_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
# What SQLite and a browser both count exactly.
_MOST = 2**53


class RunFile(Value):
    """A run that was exported."""

    ragscope_run: int = Field(description="The version of this form.")
    run: Run


class RunFileError(RagError):
    """A file could not be taken in as a run."""


class _AnyVersion(Value):
    """A file of this or a later version: only its version is read."""

    model_config = ConfigDict(extra="ignore")

    ragscope_run: int


def to_file(run: Run) -> bytes:
    """The whole record, with the version of its form."""
    return RunFile(ragscope_run=VERSION, run=run).model_dump_json(indent=1).encode()


def from_file(data: bytes) -> Run:
    """Read an exported run.

    Raises:
        RunFileError: It is none, or none that this version reads; the text says which.
    """
    if len(data) > MOST_MB * 1_000_000:
        raise RunFileError(f"This file has {len(data) / 1e6:,.0f} MB; an exported run has {MOST_MB} MB at most.")
    try:
        version = _AnyVersion.model_validate_json(data).ragscope_run
    except ValidationError as error:
        raise RunFileError("This is no exported run: choose the JSON that a run was exported as.") from error
    if version != VERSION:
        raise RunFileError(f"This run has version {version} of the form; this Ragscope reads version {VERSION}.")
    try:
        run = RunFile.model_validate_json(data).run
        created_at = datetime.fromisoformat(run.created_at).astimezone(UTC)
    except (ValidationError, ValueError, OverflowError) as error:
        raise RunFileError(f"This run cannot be read: {_first_fault(error)}. Export it anew.") from error
    _check(run)
    return run.model_copy(update={"created_at": created_at.isoformat(timespec="milliseconds")})


def _check(run: Run) -> None:
    if not _ID.fullmatch(run.id):
        raise RunFileError("This run cannot be read: its `id` is none. Export it anew.")
    if run.status == "running":
        raise RunFileError("This run was exported before it was over: export it again now.")
    counted = (run.usage.model_calls, run.usage.input_tokens, run.usage.output_tokens, run.searches)
    if not all(0 <= number < _MOST for number in counted) or not _comes_back(run):
        raise RunFileError("This run cannot be read: it has a number that cannot be. Export it anew.")


def _comes_back(run: Run) -> bool:
    """Whether the record can be kept and read again; JSON has no word for NaN and infinity."""
    try:
        return Run.model_validate_json(run.model_dump_json()) == run
    except ValidationError:
        return False


def _first_fault(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "`run.created_at` is no time"
    [fault, *_] = error.errors()
    where = ".".join(map(str, fault["loc"]))
    return f"`{where}`: {fault['msg'][:1].lower()}{fault['msg'][1:]}" if where else str(fault["msg"])
