"""The PDF that shows a file which is none: made once, kept beside it, and from then on read in its place."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_core.parsing.figures import save_crop
from rag_core.parsing.formats import pictures, plain, sheets, slides, web, word
from rag_core.parsing.formats.kinds import Kind, kind_of
from rag_core.parsing.formats.pieces import Content
from rag_core.parsing.formats.typeset import blocks_of, typeset
from rag_core.parsing.full import OCR_NOTE
from rag_core.parsing.ocr import Unreadable, recognise_figure
from rag_core.parsing.records import Block, OcrSettings, PageBlocks
from rag_core.parsing.refused import Refused
from rag_core.parsing.vendor import pymupdf

READERS = {
    "docx": word.read,
    "pptx": slides.read,
    "xlsx": sheets.read_excel,
    "csv": sheets.read_csv,
    "html": web.read_html_file,
    "markdown": web.read_markdown,
    "text": plain.read,
}


def make_view(path: Path, view: Path, max_pages: int) -> Iterator[None]:
    """Typeset a file, giving a sign of life now and then.

    Raises:
        Refused: It cannot be read; the sentence says why.
    """
    kind = kind_of(path)
    part = view.with_name(f".{uuid.uuid4().hex}.part")
    for made in _made(path, kind, max_pages):
        if made:
            _write(made, part, view)
        yield


def read_page(page: Any, figures: Path, ocr: OcrSettings | None) -> tuple[PageBlocks, str] | None:
    """What stands on a page of a view, and what was left out there; None where it is a picture, to be read as a scan.

    Args:
        figures: Folder for the crops.
        ocr: What reads the text in pictures; None where that is left for later.
    """
    found = blocks_of(page.parent, page.number)
    if found is None:
        return None
    blocks, left_out = found
    shown = (_pictured(page, block, figures, ocr) if block.kind == "figure" else block for block in blocks.blocks)
    return blocks.model_copy(update={"blocks": tuple(shown)}), left_out


def _pictured(page: Any, block: Block, figures: Path, ocr: OcrSettings | None) -> Block:
    rect = pymupdf.Rect(*block.box.model_dump().values())
    image, text = save_crop(page, rect, figures), block.text
    if image and ocr:
        with suppress(Unreadable):  # only what the picture says is not known
            if seen := recognise_figure(page, rect, ocr, figures / image):
                text = f"{text}\n{OCR_NOTE}\n{seen}".strip()
    return block.model_copy(update={"image": image, "text": text})


def _write(made: bytes, part: Path, view: Path) -> None:
    try:
        part.write_bytes(made)
        part.replace(view)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = f"Its pages cannot be written beside it ({error.strerror})"
        raise Refused("unwritable", f"{reason}. Make room on the disk and add it again.") from error


def _made(path: Path, kind: Kind, max_pages: int) -> Iterator[bytes]:
    try:
        if kind == "image":
            yield pictures.as_pdf(path, max_pages)
        else:
            content: Content = READERS[kind](path)
            yield from typeset(content, max_pages)
    except (Refused, MemoryError):
        raise
    except Exception as error:  # of any kind: each library raises its own, and none says what to do
        raise Refused("unreadable", "It is damaged and cannot be read. Save it again, or as a PDF.") from error
