"""The tables of a document as wholes: pieces joined over pages, with the lines that lead up to them, cut into parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag_core.llm.reading.sentences import sentences
from rag_core.parsing.boxes import around
from rag_core.parsing.tables.cells import Cell, Row, as_text, header_rows, read_html, slots, width
from rag_core.parsing.tables.numbers import scale_in
from rag_core.parsing.tables.view import TableView
from rag_core.types import Element, Place

CONTINUED = re.compile(r"\(?\b(?:continued|cont[’']?d)\b\.?\)?", re.IGNORECASE)
LEAD_CHARS = 300
LEAD_TITLES = 4
ALIGNED_SHARE = 0.8
LOW, HIGH = 0.65, 0.35
"""Where on a page, of the lowest that anything stands in the document, a table may break off and go on."""


@dataclass(frozen=True, slots=True)
class WholeTable:
    """A table with all its pieces, a page each, in page order."""

    pieces: tuple[Element, ...]
    rows: tuple[Row, ...]
    """Cells name their page where there are several pieces."""
    caption: Element | None
    lead: tuple[str, ...]
    """What leads up to it on its page, from the top: headings directly over it, or the end of the text before it."""


def whole_tables(elements: Sequence[Element], captions: Mapping[str, Element]) -> list[WholeTable]:
    """Give the tables among the elements of a document, which come in reading order.

    Args:
        captions: By the id of the table that they belong to.
    """
    found: list[WholeTable] = []
    bottom = max((box.y1 for element in elements for box in element.place.boxes), default=0.0)
    last = -1
    for at, element in enumerate(elements):
        if element.kind != "table":
            continue
        rows, caption = tuple(read_html(element.html or "")), captions.get(element.id)
        more = None
        if found and _breaks_off(found[-1].pieces[-1], element, bottom):
            more = _continuation(found[-1], element, rows, caption, elements[last + 1 : at])
        if more is None:
            found.append(WholeTable((element,), rows, caption, _lead(elements, at, caption)))
        else:
            found[-1] = more
        last = at
    return found


def cut(rows: Sequence[Row], limit: int) -> list[list[Row]]:
    """Cut a table between rows so that each part is at most `limit` characters, or one row.

    Each part has the heading rows, and the rows that head its first row: "Current assets" goes with "Inventories".
    """
    if len(as_text(rows)) <= limit or len(rows) < 3:
        return [list(rows)] if rows else []
    view, head = TableView.from_rows(rows), list(rows[: header_rows(rows)])
    parts: list[list[Row]] = []
    length = limit
    for number, row in enumerate(rows[len(head) :], len(head)):
        more = len(as_text([row])) + 1
        # A row that others reach into by a rowspan goes on in its part only as text: the grid is then ragged there.
        if length + more > limit:
            over = [rows[group] for group in view.groups(number)]
            over = over if len(as_text([*head, *over])) + more < limit else []
            parts.append([*head, *over])
            length = len(as_text(parts[-1]))
        parts[-1].append(row)
        length += more
    return parts


def places(table: WholeTable, part: Sequence[Row]) -> tuple[Place, ...]:
    """Where the rows of a part stand, a place a page; the places of the pieces where its cells have no boxes."""
    cells = [cell for row in part for cell in row if cell.box and not cell.header]
    if len(part) == len(table.rows) or not cells:
        return tuple(piece.place for piece in table.pieces)
    first = table.pieces[0].place.page
    pages = sorted({cell.page or first for cell in cells})
    return tuple(
        Place(page=page, boxes=(around(cell.box for cell in cells if cell.box and (cell.page or first) == page),))
        for page in pages
    )


def _continuation(
    table: WholeTable, piece: Element, rows: tuple[Row, ...], caption: Element | None, between: Sequence[Element]
) -> WholeTable | None:
    """The table with a piece on the next page added; None where the piece is a table of its own."""
    above = table.pieces[-1]
    if not all(_passes(element, caption) for element in between):
        return None
    if caption and not (CONTINUED.search(caption.text) or _same_caption(caption, table.caption)):
        return None
    head = next((number for number, row in enumerate(rows) if not all(cell.header for cell in row)), len(rows))
    if head and _texts(rows[:head]) != _texts(table.rows[: header_rows(table.rows)]):
        return None
    if width(rows) != width(table.rows) or not _aligned(table.rows, rows):
        return None
    first = table.rows if len(table.pieces) > 1 else tuple(_on_page(row, above.place.page) for row in table.rows)
    more = tuple(_on_page(row, piece.place.page) for row in rows[head:])
    return replace(table, pieces=(*table.pieces, piece), rows=(*first, *more))


def _breaks_off(above: Element, below: Element, bottom: float) -> bool:
    """Whether one table ends low on its page and the other begins high on the next."""
    ends, begins = max(box.y1 for box in above.place.boxes), min(box.y0 for box in below.place.boxes)
    return below.place.page == above.place.page + 1 and ends > LOW * bottom and begins < HIGH * bottom


def _passes(element: Element, caption: Element | None) -> bool:
    """Whether a table may go on past an element: past running heads, and what says that it goes on."""
    return element.kind in ("header", "footer") or element is caption or bool(CONTINUED.search(element.text))


def _same_caption(caption: Element, other: Element | None) -> bool:
    return other is not None and caption.text.casefold() == other.text.casefold()


def _texts(rows: Sequence[Row]) -> str:
    return CONTINUED.sub("", " ".join(cell.text for row in rows for cell in row)).casefold().strip()


def _on_page(row: Row, page: int) -> Row:
    return tuple(replace(cell, page=page) for cell in row)


def _aligned(above: Sequence[Row], below: Sequence[Row]) -> bool:
    """Whether most columns of two pieces stand over each other; those without boxes, as of a workbook, do not."""
    pairs = [
        (over, under)
        for over, under in zip(_extents(above), _extents(below), strict=False)
        if over is not None and under is not None
    ]
    good = sum(min(over[1], under[1]) > max(over[0], under[0]) for over, under in pairs)
    return bool(pairs) and good >= ALIGNED_SHARE * len(pairs)


def _extents(rows: Sequence[Row]) -> list[tuple[float, float] | None]:
    grid = slots(rows)
    return [_extent([line[at] for line in grid]) for at in range(len(grid[0]) if grid else 0)]


def _extent(cells: Sequence[Cell]) -> tuple[float, float] | None:
    boxes = [cell.box for cell in cells if cell.box and cell.colspan == 1 and not cell.header]
    return (min(box.x0 for box in boxes), max(box.x1 for box in boxes)) if boxes else None


def _lead(elements: Sequence[Element], at: int, caption: Element | None) -> tuple[str, ...]:
    titles: list[str] = []
    for element in reversed(elements[:at]):
        if element.place.page != elements[at].place.page or len(titles) == LEAD_TITLES:
            break
        if element.kind in ("header", "footer") or element is caption:
            continue
        if element.kind == "title":
            titles.append(element.text)
            continue
        if element.kind in ("text", "list") and not titles and _leads(element.text):
            titles.append("".join(sentences(element.text)[-1:])[-LEAD_CHARS:])
        break
    return tuple(reversed(titles))


def _leads(text: str) -> bool:
    """Whether a paragraph ends by pointing to a table, or is a note on its numbers."""
    return (
        text.endswith(":") or (len(text) < LEAD_CHARS and scale_in(text) is not None) or "table" in text[-LEAD_CHARS:]
    )
