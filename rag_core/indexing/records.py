"""What the ledger knows of a document, and what the screens and the command line show of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.parsing.records import FailedPage
from rag_core.types import Value

DocumentState = Literal["waiting", "reading", "refining", "ready", "partial", "failed"]
Stage = Literal["read", "chunk", "embed", "store", "refine"]

STAGES: tuple[Stage, ...] = ("read", "chunk", "embed", "store", "refine")


class Progress(Value):
    """How far the work on a document is."""

    stage: Stage
    done: int = Field(ge=0, description="Pages or chunks done in this stage.")
    total: int = Field(ge=0)
    per_s: float | None = Field(default=None, description="Pages (read, refine) or chunks (embed, store) a second.")
    left_s: float | None = Field(default=None, description="Seconds left of this stage, by its own speed.")


class DocumentRecord(Value):
    """One document of a collection."""

    id: str
    collection: str
    name: str
    sha256: str
    bytes: int
    state: DocumentState
    searchable: bool = Field(default=False, description="Its chunks are found by a question.")
    title: str = ""
    pages: int = 0
    chunks: int = 0
    tables: int = 0
    figures: int = 0
    failed_pages: tuple[FailedPage, ...] = ()
    code: str | None = Field(default=None, description="Why it failed, for programs: 'locked', 'not_pdf', ...")
    reason: str | None = Field(default=None, description="Why it failed, for people: one sentence.")
    seconds: float = 0
    added_at: str = Field(description="ISO 8601, UTC.")
    progress: Progress | None = Field(default=None, description="Only while it is worked on.")


class CollectionInfo(Value):
    """A user's collection of documents."""

    name: str
    description: str = ""
    documents: int = 0
    pages: int = 0
    chunks: int = 0
