"""PowerPoint files (PPTX): a page a slide, from its top left corner to its bottom right, and its notes at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rag_core.parsing.formats.pieces import Content, Flow, Piece, paragraph, with_captions
from rag_core.parsing.tables import Cell

PAGE_WIDTH = 720.0


def read(path: Path) -> Content:
    """Read the slides, each with the number that it has in the file.

    Raises:
        Exception: Of many kinds, where it is damaged.
    """
    from pptx import Presentation  # deferred: most documents are none

    deck = Presentation(str(path))
    height = PAGE_WIDTH * (deck.slide_height or 3) / (deck.slide_width or 4)
    flows = [Flow(with_captions(_slide(slide)), (PAGE_WIDTH, height), single=True) for slide in deck.slides]
    return Content(flows, deck.core_properties.title or "")


def _slide(slide: Any) -> Iterator[Piece]:
    title = slide.shapes.title
    if title is not None:
        yield from paragraph("title", title.text_frame.text)
    for shape in _shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        for line in slide.notes_slide.notes_text_frame.text.splitlines():
            yield from paragraph("footnote", line)


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """All shapes, those of groups too, in the order that they are read."""
    from pptx.shapes.group import GroupShape

    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if isinstance(shape, GroupShape):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _shape(shape: Any) -> Iterator[Piece]:
    if getattr(shape, "has_table", False):
        yield Piece("table", rows=tuple(tuple(_cells(row)) for row in shape.table.rows))
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif hasattr(shape, "image"):
        yield from _picture(shape)
    elif shape.has_text_frame:
        yield from _text(shape)


def _text(shape: Any) -> Iterator[Piece]:
    paragraphs = [found for found in shape.text_frame.paragraphs if found.text.strip()]
    listed = shape.is_placeholder and len(paragraphs) > 1
    for found in paragraphs:
        mark = "• " if listed else ""
        yield from paragraph("list" if listed else "text", mark + found.text, found.level + 1)


def _cells(row: Any) -> Iterator[Cell]:
    for cell in row.cells:
        if not cell.is_spanned:
            yield Cell(" ".join(cell.text.split()), colspan=cell.span_width, rowspan=cell.span_height)


def _chart(chart: Any) -> Iterator[Piece]:
    """The numbers that a chart is drawn from, as a table under its title."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield from paragraph("caption", chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = [(one.name, list(one.values)) for one in plot.series]
        head = (Cell("", header=True), *(Cell(name, header=True) for name, _ in series))
        rows = [
            (Cell(str(category)), *(Cell(_number(values, at)) for _, values in series))
            for at, category in enumerate(plot.categories)
        ]
        if series and rows:
            yield Piece("table", rows=(head, *rows))


def _number(values: list[float | None], at: int) -> str:
    value = values[at] if at < len(values) else None
    return "" if value is None else f"{value:g}" if abs(value) < 1e5 else f"{value:,.10g}"


def _picture(shape: Any) -> Iterator[Piece]:
    described = shape._element.xpath(".//p:cNvPr/@descr")
    try:
        picture = shape.image.blob
    except (ValueError, KeyError, AttributeError):  # it is linked, not in the file: links are not followed
        picture = b""
    text = described[0] if described else ""
    if picture:
        yield Piece("figure", text, picture=picture)
    else:
        yield from paragraph("text", text)
