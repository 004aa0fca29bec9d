"""The quick pass: the text of a page in reading order, milliseconds a page."""

from __future__ import annotations

from typing import Any, cast

from rag_core.parsing.lines import Line, paragraphs, read_lines
from rag_core.parsing.records import PageBlocks
from rag_core.parsing.vendor import pymupdf

TEXT_FLAGS = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES & ~pymupdf.TEXT_PRESERVE_LIGATURES


def read_page(page: pymupdf.Page) -> PageBlocks:
    """Read one page by its fonts; tables and figures come as the text in them."""
    return PageBlocks(
        page=cast(int, page.number) + 1,
        height=page.rect.height,
        source="fonts",
        blocks=tuple(paragraphs(page_lines(page))),
    )


def page_lines(page: pymupdf.Page, **options: Any) -> list[Line]:
    """The lines of a page that is not rotated (any more)."""
    return read_lines(cast(dict[str, Any], page.get_text("dict", flags=TEXT_FLAGS, **options)))
