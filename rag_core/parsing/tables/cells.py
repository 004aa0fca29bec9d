"""Tables as rows of cells: read from HTML, written as HTML of table, tr, th and td alone, and as lines of text.

Our own HTML says in `data-box` where the text of a cell stands on the page, in points from the top left, and in
`data-page` on which page, where a table goes over several. Whoever draws the HTML may leave both out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from rag_core.parsing.lines import clean
from rag_core.types import Box

SPAN_LIMIT = 100
SLOT_LIMIT = 1_000_000
COLUMN_LIMIT = 1_000
HEADING_CHARS = 90
BOX = re.compile(r"-?\d{1,6}(\.\d)?( -?\d{1,6}(\.\d)?){3}")
VALUE = re.compile(r"(?!(?:19|20)\d\d$)[$€£(\s]*\d[\d.,]*[\s)%]*")
"""A number that is no year: a heading may be a year."""

PAGE = re.compile(r"[1-9]\d{0,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `text` is plain."""

    text: str
    header: bool = False
    colspan: int = 1
    rowspan: int = 1
    box: Box | None = None
    """Around its text, to a tenth of a point; None where that is not known."""
    page: int | None = None
    """None where the whole table stands on one page."""


Row = tuple[Cell, ...]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[Cell]] = []
        self.caption = ""
        self._in: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            given = dict(attrs)
            spans = {name: _span(given.get(name)) for name in ("colspan", "rowspan")}
            box, page = _box(given.get("data-box") or ""), _page(given.get("data-page") or "")
            self.rows[-1].append(Cell("", header=tag == "th", **spans, box=box, page=page))
            self._in = "cell"
        elif tag == "caption":
            self._in = "caption"
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "caption"):
            self._in = None

    def handle_data(self, data: str) -> None:
        if self._in == "cell":
            cell = self.rows[-1][-1]
            self.rows[-1][-1] = replace(cell, text=cell.text + data)
        elif self._in == "caption":
            self.caption += data


def _span(given: str | None) -> int:
    return min(max(int(given), 1), SPAN_LIMIT) if given and given.isascii() and given.isdigit() else 1


def _box(given: str) -> Box | None:
    if not BOX.fullmatch(given):
        return None
    x0, y0, x1, y1 = map(float, given.split())
    return Box(x0=x0, y0=y0, x1=x1, y1=y1)


def _page(given: str) -> int | None:
    return int(given) if PAGE.fullmatch(given) else None


def read_html(text: str) -> list[Row]:
    """Give the rows of the table in `text`; whatever else stands there is left out."""
    return [tuple(replace(cell, text=clean(cell.text)) for cell in row) for row in _read(text).rows]


def read_caption(text: str) -> str:
    """Give the caption of the table in `text`; empty where it has none."""
    return clean(_read(text).caption)


def _read(text: str) -> _Reader:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader


def write_html(rows: Sequence[Row], caption: str = "") -> str:
    """Write rows as a table that holds nothing but its caption, cells, where they are, and escaped text."""
    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{head}" + "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows) + "</table>"


def _cell(cell: Cell) -> str:
    tag = "th" if cell.header else "td"
    given: dict[str, int | str] = {
        name: count for name, count in (("colspan", cell.colspan), ("rowspan", cell.rowspan)) if count > 1
    }
    if cell.box:
        given["data-box"] = " ".join(f"{side:.1f}".removesuffix(".0") for side in cell.box.model_dump().values())
    if cell.page:
        given["data-page"] = cell.page
    attributes = "".join(f' {name}="{value}"' for name, value in given.items())
    return f"<{tag}{attributes}>{html.escape(cell.text)}</{tag}>"


def as_text(rows: Sequence[Row]) -> str:
    """A line a row, its cells that are not empty parted by bars."""
    lines = (" | ".join(cell.text for cell in row if cell.text) for row in rows)
    return "\n".join(line for line in lines if line)


def header_rows(rows: Sequence[Row]) -> int:
    """How many rows at the top are headings, never all of them.

    Those of header cells alone; where there are none the first row, unless it has a number as a value or is long.
    """
    found = next((number for number, row in enumerate(rows) if not all(cell.header for cell in row)), len(rows))
    if not found and rows and is_heading(rows[0]):
        found = 1
    return max(min(found, len(rows) - 1), 0)


def is_heading(row: Row) -> bool:
    """Whether the first row of a table that marks no headings may be one."""
    return not any(VALUE.fullmatch(cell.text) for cell in row[1:]) and all(
        len(cell.text) <= HEADING_CHARS for cell in row
    )


def width(rows: Sequence[Row]) -> int:
    """Columns of the widest row."""
    return max((sum(cell.colspan for cell in row) for row in rows), default=0)


def slots(rows: Sequence[Row]) -> list[list[Cell]]:
    """Lay the cells out on a grid: a cell with a span stands in every slot that it covers, and all rows are as long.

    At most `SLOT_LIMIT` slots, `COLUMN_LIMIT` wide: what a table of a hostile file spans beyond is cut off.
    """
    grid: list[list[Cell]] = []
    reaching: dict[int, tuple[Cell, int]] = {}  # by column: what comes down from above, and for how many more rows
    for row in rows:
        line: list[Cell] = []
        waiting = list(reversed(row))
        going: dict[int, tuple[Cell, int]] = {}
        while (waiting or any(column >= len(line) for column in reaching)) and len(line) < COLUMN_LIMIT:
            cell, more = reaching.get(len(line), (None, 0))
            if cell is not None:
                _reach(going, len(line), cell, more - 1)
                line.append(cell)
                continue
            cell = waiting.pop() if waiting else Cell("")
            for _ in range(cell.colspan):
                _reach(going, len(line), cell, cell.rowspan - 1)
                line.append(cell)
        grid.append(line[:COLUMN_LIMIT])
        reaching = going
    wide = max(map(len, grid), default=0)
    return [line + [Cell("")] * (wide - len(line)) for line in grid[: SLOT_LIMIT // max(wide, 1)]]


def _reach(going: dict[int, tuple[Cell, int]], column: int, cell: Cell, more: int) -> None:
    if more > 0:
        going[column] = cell, more
