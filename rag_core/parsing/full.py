"""The full pass: layout, tables, figures and scanned text of a page, about half a second a page.

PyMuPDF's layout model gives classed boxes in reading order. Lines of text go to the boxes by where they stand; lines
that are in none are kept as paragraphs of their own, so nothing that the page says is lost. A page without text of its
own, or whose characters are wrong, is read by OCR instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from rag_core.parsing.boxes import area, around, inside, overlap_x
from rag_core.parsing.captions import (
    CAPTION_GAP,
    CAPTION_START,
    FIGURE_CAPTION,
    TABLE_CAPTION,
    may_caption,
    pair_captions,
)
from rag_core.parsing.charmaps import is_garbled
from rag_core.parsing.figures import find_figures, find_frames, join_panels, save_crop
from rag_core.parsing.lines import Line, groups, words
from rag_core.parsing.ocr import SURE, Recognised, Unreadable, recognise, recognise_figure
from rag_core.parsing.parts import LABEL_CHARS, Part, block, fill, insert, settle, with_labels
from rag_core.parsing.pixels import find_pictures
from rag_core.parsing.quick import page_lines
from rag_core.parsing.records import Block, OcrReason, OcrSettings, PageBlocks, PageOcr
from rag_core.parsing.tables.grids import find_grids
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box, ElementKind

MAX_PATHS = 5_000
"""Clustering drawings and finding tables take more than linear time in the paths: beyond this they are left out."""

SCAN_CHARS = 50
SCAN_SHARE = 0.9
OWN_CHARS = 20
"""A picture with more text of its own than this needs no OCR."""
OCR_SIDE = 60
OCR_PICTURES = 6
"""OCR takes up to a second a picture, and the page has its clock: only the largest are read."""
OCR_NOTE = "Text in the picture, by OCR:"

KINDS: dict[str, ElementKind] = {
    "title": "title",
    "section-header": "title",
    "list-item": "list",
    "caption": "caption",
    "footnote": "footnote",
    "formula": "formula",
    "page-header": "header",
    "page-footer": "footer",
    "table": "table",
    "picture": "figure",
}

__all__ = ["Unreadable", "read_page"]


def read_page(
    page: pymupdf.Page, figures: Path, repeated: frozenset[int], ocr: OcrSettings | None = None
) -> PageBlocks:
    """Read one page that is not rotated (any more); crops of its figures go to the folder.

    Args:
        repeated: Pictures that come again on many pages, from `repeated_images`.
        ocr: What reads pixels; without it, Tesseract in English.

    Raises:
        Unreadable: It is a scan, and there is nothing to read it with.
    """
    return _Reader(page, figures, repeated, ocr or OcrSettings()).read()


class _Reader:
    """Reads one page."""

    def __init__(self, page: pymupdf.Page, figures: Path, repeated: frozenset[int], ocr: OcrSettings) -> None:
        self._page, self._figures, self._repeated, self._ocr = page, figures, repeated, ocr
        self._lines = page_lines(page)

    def read(self) -> PageBlocks:
        seen, reason = self._recognised()
        return PageBlocks(
            page=cast(int, self._page.number) + 1,
            height=self._page.rect.height,
            source="scan" if seen else "layout",
            ocr=PageOcr(confidence=seen.confidence, reason=reason) if seen else None,
            blocks=tuple(self._by_pixels(seen) if seen else self._by_layout()),
        )

    def _recognised(self) -> tuple[Recognised | None, OcrReason]:
        """What OCR reads of the page where its own text does not do, and why it does not."""
        if self._is_scan():
            return recognise(self._page, self._ocr), "scan"
        if is_garbled(line.text for line in self._lines):
            seen = recognise(self._page, self._ocr)
            # A chart of symbols looks like wrong characters too, but OCR makes nothing of it.
            return seen if seen.confidence >= SURE else None, "characters"
        return None, "scan"

    def _is_scan(self) -> bool:
        if sum(len(line.text) for line in self._lines) >= SCAN_CHARS:
            return False  # a hidden text layer over a scan is kept: it is text of the page, and mostly good
        covered = sum(abs(pymupdf.Rect(image["bbox"]) & self._page.rect) for image in self._page.get_image_info())
        return covered > SCAN_SHARE * abs(self._page.rect)

    def _by_pixels(self, seen: Recognised) -> list[Block]:
        parts = [Part("text", around(line.box for line in group), group) for group in seen.groups]
        if not seen.turned:
            pictures = find_pictures(self._page, [line.box for group in seen.groups for line in group])
            self._place([_rect(box) for box in pictures], parts, loose=[])
        blocks = _finished(parts, [], [line for group in seen.groups for line in group])
        return [block.model_copy(update={"box": seen.on_page(block.box)}) for block in blocks]

    def _by_layout(self) -> list[Block]:
        page = self._page
        page.get_layout(return_raw=True)
        parts = [_part(found) for found in page.layout_information or ()]
        for part in parts:
            if part.kind == "figure" and self._is_table(part.box):
                part.kind = "table"
        pictures = [_rect(part.box) for part in parts if part.kind == "figure"]
        parts = [part for part in parts if part.kind != "figure"]
        drawn = len(page.get_cdrawings() or ()) <= MAX_PATHS
        if drawn and any(part.kind == "table" for part in parts):
            parts = _with_tables(page, parts)
        loose = settle(self._lines, parts)
        running = [part for part in parts if part.kind in ("text", "list") and part.chars > LABEL_CHARS]
        captions = [_rect(part.box) for part in parts if may_caption(part)]
        prose = [_rect(part.box) for part in running]
        named = [_rect(part.box) for part in parts if may_caption(part) and FIGURE_CAPTION.match(part.lines[0].text)]
        frames = find_frames(page, named, prose) if drawn and named else []
        found = find_figures(
            page,
            pictures=pictures,
            tables=[_rect(part.box) for part in parts if part.kind == "table"],
            prose=[*captions, *prose],
            lines=[_rect(line.box) for line in self._lines],
            repeated=self._repeated,
            drawings=drawn,
        )
        figures = [rect for rect in join_panels(found, captions) if not any(rect.intersects(frame) for frame in frames)]
        loose = self._place(frames, parts, loose, framed=True)
        loose = self._place(figures, parts, loose)
        return _finished(parts, loose, self._lines)

    def _is_table(self, picture: Box) -> bool:
        """Whether what the layout calls a picture stands under the caption of a table, and is all text."""
        named = any(
            CAPTION_START.match(line.text)
            and TABLE_CAPTION.match(line.text)
            and 0 <= picture.y0 - line.y1 < CAPTION_GAP
            and overlap_x(line.box, picture) > 0
            for line in self._lines
        )
        return named and sum(len(line.text) for line in self._lines if inside(line.box, picture)) > 2 * LABEL_CHARS

    def _place(
        self, rects: Sequence[Any], parts: list[Part], loose: Sequence[Line], *, framed: bool = False
    ) -> list[Line]:
        """Put the figures that stand at `rects` among the parts, each with its crop, its labels and its text."""
        left = list(loose)
        placed = []
        for rect in rects:
            box = with_labels(_box(rect), parts, left)
            if image := save_crop(self._page, _rect(box), self._figures):
                figure = Part("figure", box, image=image)
                left = fill(figure, parts, left, framed=framed)
                insert(figure, parts)
                placed.append(figure)
        silent = [figure for figure in placed if figure.chars <= OWN_CHARS and _is_legible(figure.box)]
        for figure in sorted(silent, key=lambda figure: -area(figure.box))[:OCR_PICTURES]:
            with suppress(Unreadable):  # the page is read; only what its picture says is not known
                text = recognise_figure(self._page, _rect(figure.box), self._ocr, self._figures / str(figure.image))
                figure.recognised = f"{OCR_NOTE}\n{text}" if text else ""
        return left


def _part(found: dict[str, Any]) -> Part:
    x0, y0, x1, y1 = found["group_bbox"]
    name = found["class_name"]
    return Part(KINDS.get(name, "text"), Box(x0=x0, y0=y0, x1=x1, y1=y1), headline=name == "title")


def _with_tables(page: pymupdf.Page, parts: list[Part]) -> list[Part]:
    """Put the tables with their cells in place of the boxes that the layout calls tables."""
    for grid in find_grids(page):
        found = Part("table", grid.box, cells=list(grid.rows))
        if any(part.cells and inside(found.box, part.box) for part in parts):
            continue
        replaced = [part for part in parts if part.kind == "table" and not part.cells and inside(part.box, found.box)]
        if replaced:
            parts[parts.index(replaced[0])] = found
            parts = [part for part in parts if part not in replaced]
        else:
            insert(found, parts)
    return parts


def _finished(parts: list[Part], loose: Sequence[Line], lines: Sequence[Line]) -> list[Block]:
    """The blocks of the parts, the loose lines as parts of their own, and captions where they belong."""
    for group in groups(loose):
        insert(Part("text", around(line.box for line in group), group), parts)
    pair_captions(parts)
    vocabulary = words(lines)
    top = max((part.size for part in parts if part.headline), default=0.0)
    return [made for part in parts if (made := block(part, vocabulary, top))]


def _is_legible(box: Box) -> bool:
    """Whether a picture is large enough to have words in it."""
    return min(box.x1 - box.x0, box.y1 - box.y0) >= OCR_SIDE


def _rect(box: Box) -> Any:
    return pymupdf.Rect(box.x0, box.y0, box.x1, box.y1)


def _box(rect: Any) -> Box:
    return Box(x0=rect.x0, y0=rect.y0, x1=rect.x1, y1=rect.y1)
