"""What comes out of reading a PDF, and the blocks that pass from a worker process to us."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.settings import OcrEngine
from rag_core.types import Box, Element, ElementKind, Value

Level = Literal["quick", "full"]
Source = Literal["fonts", "layout", "scan", "file"]
OcrReason = Literal["scan", "characters"]


class OcrSettings(Value):
    """What reads scanned pages and pictures."""

    engine: OcrEngine = "tesseract"
    languages: str = Field(default="eng", description="Tesseract's names, joined by +: eng+deu.")


class PageOcr(Value):
    """That a page was read by OCR, and how well."""

    confidence: float = Field(ge=0, le=1, description="Mean over its characters, as the engine says.")
    reason: OcrReason = Field(description="It has no text of its own, or its font gives wrong characters.")


class FileFacts(Value):
    """What is known of a file once it is open."""

    pages: int
    title: str = Field(description="From the file's own metadata; often empty.")
    page_sizes: tuple[tuple[float, float], ...] = Field(description="Width and height in points, as displayed.")


class FailedPage(Value):
    """A page that could not be read, and why, in plain words."""

    page: int = Field(ge=1)
    reason: str


class Parsed(Value):
    """A document, read."""

    pages: int
    title: str
    page_sizes: tuple[tuple[float, float], ...]
    elements: tuple[Element, ...] = Field(
        description="In reading order. A caption that belongs to a table or figure stands directly before it."
    )
    failed: tuple[FailedPage, ...]
    ocr: dict[int, PageOcr] = Field(default_factory=dict, description="The pages that were read by OCR.")


class Block(Value):
    """One piece of a page before the document as a whole is known."""

    kind: ElementKind = "text"
    text: str
    box: Box
    size: float = Field(default=0, description="Font size of most of its characters, in points.")
    bold: bool = False
    html: str | None = None
    image: str | None = None


class PageBlocks(Value):
    """One page, in reading order."""

    page: int = Field(ge=1)
    height: float
    source: Source = Field(description="What the kinds and sizes come from; only 'layout' and 'file' tell headings.")
    ocr: PageOcr | None = None
    blocks: tuple[Block, ...]
