"""What the ledger knows of a document, and what the screens and the command line show of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.parsing.records import FailedPage, PageOcr
from rag_core.types import Element, Value

DocumentState = Literal["waiting", "reading", "refining", "ready", "partial", "failed"]
Stage = Literal["read", "chunk", "embed", "store", "refine", "describe"]


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
    searchable: bool = Field(default=False, description="Its chunks are found by a question: by its words at least.")
    by_meaning: bool = Field(default=False, description="All its chunks have vectors: they are found by meaning too.")
    title: str = ""
    pages: int = 0
    chunks: int = 0
    tables: int = 0
    figures: int = 0
    failed_pages: tuple[FailedPage, ...] = ()
    ocr: dict[int, PageOcr] = Field(default_factory=dict, description="The pages that were read by OCR.")
    code: str | None = Field(default=None, description="Why it failed, for programs: 'locked', 'not_pdf', ...")
    reason: str | None = Field(default=None, description="Why it failed, for people: one sentence.")
    seconds: float = 0
    added_at: str = Field(description="ISO 8601, UTC.")
    progress: Progress | None = Field(default=None, description="Only while it is worked on.")
    stale: bool = Field(default=False, description="It was read with other settings than today's.")
    moving_to: str | None = Field(default=None, description="The collection that it is on its way to.")


class Captioned(Value):
    """A table or a figure with the caption that belongs to it."""

    element: Element
    caption: str = ""


class CollectionInfo(Value):
    """A user's collection of documents."""

    name: str
    description: str = ""
    documents: int = 0
    pages: int = 0
    chunks: int = 0
