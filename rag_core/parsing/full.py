"""The full pass: layout, tables, figures and scanned text of a page, about half a second a page.

PyMuPDF's layout model gives classed boxes in reading order. Lines of text go to the boxes by where they stand; lines
that are in none are kept as paragraphs of their own, so nothing that the page says is lost.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rag_core.parsing.figures import find_figures, join_panels, save_crop
from rag_core.parsing.lines import Line, around, baselines, block_of, groups, paragraphs, rows, words
from rag_core.parsing.quick import page_lines
from rag_core.parsing.records import Block, PageBlocks, Source
from rag_core.parsing.tables import Cell, Row, as_text, read_html, width, write_html
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box, ElementKind

MAX_PATHS = 5_000
"""Clustering drawings and finding tables take more than linear time in the paths: beyond this they are left out."""

SCAN_CHARS = 50
SCAN_SHARE = 0.9
OCR_DPI = 300
OCR_PIXELS = 6_000
CAPTION_GAP = 40
CAPTION_SLACK = 12
CAPTION_CHARS = 900
LABEL_CHARS = 120
AXIS_CHARS = 30
AXIS_GAP = 12
TABLE_CAPTION = re.compile(r"(table|tab\.|exhibit|schedule)\s*[\dIVX]", re.IGNORECASE)
FIGURE_CAPTION = re.compile(r"(figure|fig\.?|chart|graph|plate|diagram|image|photo|scheme)\s*[\dIVX]", re.IGNORECASE)
CAPTION_START = re.compile(
    r"(?i:table|tab\.|exhibit|schedule|figure|fig\.?|chart|graph|plate|diagram|image|photo|scheme)"
    r"\s*(\d+|[IVX]+)([.-]\d+)*[a-z]?\s*([:.|–—]|$|[A-Z(])"
)
"""Tells "Figure 5: Recall" from the running text "Figure 5 compares"."""

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


class Unreadable(Exception):
    """A page that cannot be read; the text says why, in plain words."""


@dataclass(eq=False)
class _Part:
    """A piece of the page; `headline` where the layout calls it the document's title."""

    kind: ElementKind
    box: Box
    lines: list[Line] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    image: str | None = None
    headline: bool = False

    @property
    def chars(self) -> int:
        return sum(len(line.text) for line in self.lines)


def read_page(page: pymupdf.Page, figures: Path, repeated: frozenset[int]) -> PageBlocks:
    """Read one page that is not rotated (any more); crops of its figures go to the folder.

    Args:
        repeated: Pictures that come again on many pages, from `repeated_images`.

    Raises:
        Unreadable: It is a scan, and there is no Tesseract.
    """
    lines = page_lines(page)
    source: Source = "scan" if _is_scan(page, lines) else "layout"
    blocks = paragraphs(_recognised(page)) if source == "scan" else _laid_out(page, lines, figures, repeated)
    return PageBlocks(page=cast(int, page.number) + 1, height=page.rect.height, source=source, blocks=tuple(blocks))


def _laid_out(page: pymupdf.Page, lines: Sequence[Line], figures: Path, repeated: frozenset[int]) -> list[Block]:
    page.get_layout(return_raw=True)
    parts = [_part(found) for found in page.layout_information or ()]
    pictures = [_rect(part.box) for part in parts if part.kind == "figure"]
    parts = [part for part in parts if part.kind != "figure"]
    drawn = len(page.get_cdrawings() or ()) <= MAX_PATHS
    if drawn and any(part.kind == "table" for part in parts):
        parts = _with_tables(page, parts)
    loose = _settle(lines, parts)
    running = [part for part in parts if part.kind in ("text", "list") and part.chars > LABEL_CHARS]
    captions = [_rect(part.box) for part in parts if _may_caption(part)]
    found = find_figures(
        page,
        pictures=pictures,
        tables=[_rect(part.box) for part in parts if part.kind == "table"],
        prose=[*captions, *(_rect(part.box) for part in running)],
        repeated=repeated,
        drawings=drawn,
    )
    for rect in join_panels(found, captions):
        rect |= _labels_beside(rect, parts, loose)
        if image := save_crop(page, rect, figures):
            figure = _Part("figure", Box(x0=rect.x0, y0=rect.y0, x1=rect.x1, y1=rect.y1), image=image)
            loose = _fill(figure, parts, loose)
            _insert(figure, parts)
    for group in groups(loose):
        _insert(_Part("text", around(line.box for line in group), group), parts)
    _pair_captions(parts)
    vocabulary = words(lines)
    top = max((_size(part) for part in parts if part.headline), default=0.0)
    return [block for part in parts if (block := _block(part, vocabulary, top))]


def _part(found: dict[str, Any]) -> _Part:
    x0, y0, x1, y1 = found["group_bbox"]
    name = found["class_name"]
    return _Part(KINDS.get(name, "text"), Box(x0=x0, y0=y0, x1=x1, y1=y1), headline=name == "title")


def _with_tables(page: pymupdf.Page, parts: list[_Part]) -> list[_Part]:
    """Put the tables with their cells in place of the boxes that the layout calls tables."""
    finder = page.find_tables(union=True, refine=True)
    for table in finder.tables if finder else ():
        # `extract()` gives damaged text after refining ("Netsales"); the HTML is right.
        cells = read_html(table.to_html())
        x0, y0, x1, y1 = table.bbox
        found = _Part("table", Box(x0=x0, y0=y0, x1=x1, y1=y1), cells=cells)
        twice = any(part.cells and _inside(found.box, part.box) for part in parts)
        if len(cells) < 2 or width(cells) < 2 or twice:
            continue
        replaced = [part for part in parts if part.kind == "table" and not part.cells and _inside(part.box, found.box)]
        if replaced:
            parts[parts.index(replaced[0])] = found
            parts = [part for part in parts if part not in replaced]
        else:
            _insert(found, parts)
    return parts


def _settle(lines: Sequence[Line], parts: Sequence[_Part]) -> list[Line]:
    """Give each line to the table or else the smallest part that it lies in; returns the lines that lie in none.

    A table takes only lines whose words are in its cells: its box may reach over text that is not.
    """
    squeezed = {id(part): "".join("".join(cell.text for row in part.cells for cell in row).split()) for part in parts}
    by_size = sorted(parts, key=lambda part: (not part.cells, _area(part.box)))
    loose = []
    for line in lines:
        for part in by_size:
            if _inside(line.box, part.box) and (not part.cells or _holds(squeezed[id(part)], line.text)):
                part.lines.append(line)
                break
        else:
            loose.append(line)
    return loose


def _holds(squeezed: str, text: str) -> bool:
    found = [word in squeezed for word in text.split()]
    return sum(found) >= 0.5 * len(found)


def _labels_beside(rect: Any, parts: Sequence[_Part], loose: Sequence[Line]) -> Any:
    """The box of the short texts directly around a figure, which are the labels of its axes; with the figure's own."""
    boxes = [line.box for line in loose if len(line.text) <= AXIS_CHARS]
    boxes += [part.box for part in parts if part.kind in ("text", "footnote", "list") and 0 < part.chars <= AXIS_CHARS]
    whole = pymupdf.Rect(rect)
    for box in boxes:
        across = max(box.x0 - rect.x1, rect.x0 - box.x1)
        down = max(box.y0 - rect.y1, rect.y0 - box.y1)
        if max(across, down) <= AXIS_GAP and min(across, down) < 0:
            whole |= _rect(box)
    return whole


def _fill(figure: _Part, parts: list[_Part], loose: Sequence[Line]) -> list[Line]:
    """Move the labels in a figure into it; returns the lines that are still loose. Running text stays outside."""
    for part in [*parts]:
        label = part.kind in ("title", "text", "list", "footnote", "formula") and part.chars <= LABEL_CHARS
        if label and _inside(part.box, figure.box, 0.7):
            figure.lines += part.lines
            parts.remove(part)
    figure.lines += [line for line in loose if _inside(line.box, figure.box)]
    return [line for line in loose if not _inside(line.box, figure.box)]


def _insert(part: _Part, parts: list[_Part]) -> None:
    """Put a part where it is read: before the first one below it in its column, else after the last one above."""
    column = [number for number, other in enumerate(parts) if _overlap_x(part.box, other.box) > 0]
    middle = (part.box.y0 + part.box.y1) / 2
    below = [number for number in column if (parts[number].box.y0 + parts[number].box.y1) / 2 > middle]
    above = [number for number in column if number not in below]
    parts.insert(below[0] if below else above[-1] + 1 if above else len(parts), part)


def _pair_captions(parts: list[_Part]) -> None:
    """Put each caption directly before the table or figure that it stands nearest to; others become text."""
    pairs = sorted(
        (
            (gap + _unusual(caption, owner), number, owner, caption)
            for number, caption in enumerate(parts)
            if _may_caption(caption)
            for owner in parts
            if owner.kind in ("table", "figure") and _fits(caption, owner)
            if (gap := _gap(caption.box, owner.box)) <= CAPTION_GAP
        ),
        key=lambda pair: pair[:2],
    )
    captions: dict[_Part, _Part] = {}
    for _, _, owner, caption in pairs:
        if owner not in captions and caption not in captions.values():
            captions[owner] = caption
            caption.kind = "caption"
            parts.remove(caption)
            parts.insert(parts.index(owner), caption)
    for part in parts:
        if part.kind == "caption" and part not in captions.values():
            part.kind = "text"
    for owner in [part for part in parts if part.kind in ("table", "figure")]:
        caption = captions.get(owner)
        if caption is None or not CAPTION_START.match(caption.lines[0].text):
            _head_as_caption(owner, caption, parts)


def _head_as_caption(owner: _Part, source: _Part | None, parts: list[_Part]) -> None:
    """Make the heading over a chart that stands beside text, with its subtitle, the caption: it heads no text.

    What stood as caption under the chart, which names its source, comes after it.
    """
    if not any(
        part.kind in ("text", "list") and _overlap_x(part.box, owner.box) <= 0 and _overlap_y(part.box, owner.box) > 0
        for part in parts
    ):
        return
    over = [
        part
        for part in parts
        if part.kind in ("title", "text")
        and part.lines
        and part.chars <= 2 * LABEL_CHARS
        and part.box.x0 > owner.box.x0 - CAPTION_SLACK
        and part.box.x1 < owner.box.x1 + CAPTION_SLACK
        and -CAPTION_SLACK < owner.box.y0 - part.box.y1 < CAPTION_GAP
    ]
    if any(part.kind == "title" for part in over):
        joined = [*over, source] if source else over
        lines = [line for part in joined for line in part.lines]
        for part in joined:
            parts.remove(part)
        parts.insert(parts.index(owner), _Part("caption", around(part.box for part in joined), lines))


def _may_caption(part: _Part) -> bool:
    if part.kind == "caption":
        return bool(part.lines)
    named = part.lines and CAPTION_START.match(part.lines[0].text)
    return bool(named) and part.kind in ("text", "title", "list") and part.chars < CAPTION_CHARS


def _fits(caption: _Part, owner: _Part) -> bool:
    text = caption.lines[0].text
    if owner.kind == "table":
        return not FIGURE_CAPTION.match(text)
    return not TABLE_CAPTION.match(text)


def _unusual(caption: _Part, owner: _Part) -> float:
    """What a caption over a figure counts as further away than one under it."""
    return CAPTION_GAP / 2 if owner.kind == "figure" and caption.box.y0 < owner.box.y0 else 0.0


def _block(part: _Part, vocabulary: Counter[str], top: float) -> Block | None:
    """Make the block of a part; None where it holds nothing. `top` is the size of the largest headline."""
    if part.kind == "figure":
        text = "\n".join(row.text for row in rows(part.lines))
        return Block(kind="figure", text=text, box=part.box, image=part.image)
    if part.kind == "table" and (cells := part.cells or _cells(part.lines)):
        return Block(kind="table", text=as_text(cells), box=part.box, html=write_html(cells))
    if not part.lines:
        return None
    block = block_of(rows(part.lines), vocabulary)
    kind = part.kind if part.kind not in ("text", "table") else block.kind
    if part.headline and block.size < top - 0.5:
        kind = "text"  # authors and subtitles are classed as titles too, and nothing stands under them
    return block.model_copy(update={"kind": kind})


def _cells(lines: Sequence[Line]) -> list[Row]:
    """Cells by baseline, for a table whose grid was not found; empty where that is no table."""
    found = [tuple(Cell(line.text) for line in row) for row in baselines(lines)]
    return found if len(found) >= 2 and width(found) >= 2 else []


def _size(part: _Part) -> float:
    return max((line.size for line in part.lines), default=0.0)


def _is_scan(page: pymupdf.Page, lines: Sequence[Line]) -> bool:
    if sum(len(line.text) for line in lines) >= SCAN_CHARS:
        return False
    covered = sum(abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info())
    return covered > SCAN_SHARE * abs(page.rect)


def _recognised(page: pymupdf.Page) -> list[Line]:
    """Read a scanned page with Tesseract."""
    folder = pymupdf.get_tessdata() if shutil.which("tesseract") else None
    if not folder:
        raise Unreadable("is a scan, and Tesseract is not installed (apt install tesseract-ocr)")
    longest = max(page.rect.width, page.rect.height) / 72
    seen = page.get_textpage_ocr(dpi=int(min(OCR_DPI, OCR_PIXELS / longest)), full=True, tessdata=folder)
    return page_lines(page, textpage=seen)


def _rect(box: Box) -> Any:
    return pymupdf.Rect(box.x0, box.y0, box.x1, box.y1)


def _area(box: Box) -> float:
    return max(box.x1 - box.x0, 0) * max(box.y1 - box.y0, 0)


def _inside(inner: Box, outer: Box, share: float = 0.5) -> bool:
    """Whether at least `share` of the inner box lies in the outer."""
    across, down = _overlap_x(inner, outer), _overlap_y(inner, outer)
    return across > 0 and down > 0 and across * down >= share * _area(inner)


def _overlap_x(one: Box, other: Box) -> float:
    return min(one.x1, other.x1) - max(one.x0, other.x0)


def _overlap_y(one: Box, other: Box) -> float:
    return min(one.y1, other.y1) - max(one.y0, other.y0)


def _gap(one: Box, other: Box) -> float:
    """Distance between two boxes; those beside each other are as far as those above."""
    return max(0.0, -_overlap_y(one, other), -_overlap_x(one, other))
