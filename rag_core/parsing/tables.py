"""Tables as rows of cells: read from HTML, written as HTML of table, tr, th and td alone, and as lines of text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from rag_core.parsing.lines import clean

SPAN_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `text` is plain."""

    text: str
    header: bool = False
    colspan: int = 1
    rowspan: int = 1


Row = tuple[Cell, ...]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[Cell]] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            given = dict(attrs)
            spans = {name: _span(given.get(name)) for name in ("colspan", "rowspan")}
            self.rows[-1].append(Cell("", header=tag == "th", **spans))
            self._open = True
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            cell = self.rows[-1][-1]
            self.rows[-1][-1] = replace(cell, text=cell.text + data)


def _span(given: str | None) -> int:
    return min(max(int(given), 1), SPAN_LIMIT) if given and given.isascii() and given.isdigit() else 1


def read_html(text: str) -> list[Row]:
    """Give the rows of the table in `text`; whatever else stands there is left out."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return [tuple(replace(cell, text=clean(cell.text)) for cell in row) for row in reader.rows]


def write_html(rows: Sequence[Row]) -> str:
    """Write rows as a table that holds nothing but cells, their spans and escaped text."""
    return "<table>" + "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows) + "</table>"


def _cell(cell: Cell) -> str:
    tag = "th" if cell.header else "td"
    spans = "".join(
        f' {name}="{count}"' for name, count in (("colspan", cell.colspan), ("rowspan", cell.rowspan)) if count > 1
    )
    return f"<{tag}{spans}>{html.escape(cell.text)}</{tag}>"


def as_text(rows: Sequence[Row]) -> str:
    """A line a row, its cells that are not empty parted by bars."""
    lines = (" | ".join(cell.text for cell in row if cell.text) for row in rows)
    return "\n".join(line for line in lines if line)


def header_rows(rows: Sequence[Row]) -> int:
    """How many rows at the top are headings: those of header cells alone, else the first; never all rows."""
    found = next((number for number, row in enumerate(rows) if not all(cell.header for cell in row)), len(rows))
    return min(max(found, 1), len(rows) - 1)


def width(rows: Sequence[Row]) -> int:
    """Columns of the widest row."""
    return max((sum(cell.colspan for cell in row) for row in rows), default=0)
