"""Pictures of pages (PNG, JPEG, TIFF): a page each, as large as paper, which is then read as any scan."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from rag_core.parsing.formats.pieces import PAPER
from rag_core.parsing.formats.typeset import PIXELS
from rag_core.parsing.refused import Refused
from rag_core.parsing.vendor import pymupdf


def as_pdf(path: Path, max_pages: int) -> bytes:
    """Put the pictures of a file on pages, upright.

    Raises:
        Refused: It is damaged, has too many pages, or more pixels than the memory holds.
    """
    _check(path, max_pages)
    # MuPDF minds how a camera was held; the resolution that files give is often wrong, so paper sets the size.
    with pymupdf.open(path) as pictures, pymupdf.open("pdf", pictures.convert_to_pdf()) as drawn, pymupdf.open() as out:
        for number in range(drawn.page_count):
            shown = drawn[number].rect
            scale = max(PAPER) / max(shown.width, shown.height)
            page = out.new_page(width=shown.width * scale, height=shown.height * scale)
            page.show_pdf_page(page.rect, drawn, number)
        return out.tobytes(garbage=3, deflate=True)


def _check(path: Path, max_pages: int) -> None:
    try:
        with Image.open(path) as found:  # reads no more than its head
            pages, pixels = getattr(found, "n_frames", 1), found.width * found.height
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise Refused("unreadable", "It is damaged or too large to be opened. Save it again, smaller.") from error
    if pages > max_pages:
        limit = f"It has {pages} pages, more than {max_pages}"
        raise Refused("too_many_pages", f"{limit}. Split it, or raise RAGSCOPE_MAX_PAGES.")
    if pixels > PIXELS:
        limit = f"{PIXELS / 1e6:,.0f}"
        raise Refused("too_large", f"It has {pixels / 1e6:,.0f} megapixels, more than {limit}. Save it smaller.")
