"""A table's HTML as rows of text, and as CSV that a spreadsheet will not run."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

# A spreadsheet takes a cell that begins so for a formula; a signed number is none.
_FORMULA = re.compile(r"[=@\t\r]|[+\-](?![\d.,\s]*%?$)")
MOST_SPAN = 100


class _Rows(HTMLParser):
    """Reads the cells of the first table; a cell over several columns or rows is followed by empty ones."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self._span = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self._close()
            span = dict(attrs).get("colspan") or "1"
            self._cell, self._span = [], min(int(span), MOST_SPAN) if span.isdecimal() else 1
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._close()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _close(self) -> None:
        if self._cell is not None and self.rows:
            self.rows[-1] += [" ".join("".join(self._cell).split()), *[""] * (self._span - 1)]
        self._cell = None


def table_rows(html: str) -> list[list[str]]:
    """The cells as text, row by row, all rows equally long."""
    parser = _Rows()
    parser.feed(html)
    rows = [row for row in parser.rows if row]
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def as_csv(rows: list[list[str]]) -> str:
    """The rows as CSV."""
    out = io.StringIO()
    csv.writer(out).writerows([[f"'{cell}" if _FORMULA.match(cell) else cell for cell in row] for row in rows])
    return out.getvalue()
