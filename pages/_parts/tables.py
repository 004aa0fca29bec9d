"""A table as data: what the screen shows, and files that a spreadsheet opens and will not run."""

from __future__ import annotations

import csv
import io
import re
from html import escape

from rag_core.parsing.tables import Cell, TableView

_PLAIN = re.compile(r"-?(?:0|[1-9]\d{0,14}|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_EITHER = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")  # '1.200' is twelve hundred in some countries
# A spreadsheet takes a cell that begins so for a formula; a signed number is none.
_FORMULA = re.compile(r"[=@\t\r]|[+\-](?![\d.,\s]*%?$)")
_SCALES = {1_000: "thousands", 1_000_000: "millions", 1_000_000_000: "billions"}


def grid(view: TableView) -> list[list[str]]:
    """The cells as text, row by row; one that spans several slots stands in the first of them alone."""
    seen: set[int] = set()

    def once(cell: Cell) -> str:
        new = id(cell) not in seen
        seen.add(id(cell))
        return cell.text if new else ""

    return [[once(cell) for cell in cells] for cells in view.cells]


def columns(view: TableView) -> dict[str, list[str]]:
    """The table without its heading rows, by column; a column is called by all its headings, or by its number."""
    named: dict[str, list[str]] = {}
    rows = grid(view)[view.headers :]
    for at in range(view.n_columns):
        name = view.column_label(at) or (str(at + 1) if not view.headers else " ")
        while name in named:
            name += " "
        named[name] = [row[at] for row in rows]
    return named


def numeric(view: TableView) -> list[int]:
    """The columns whose values are mostly numbers."""
    counted = {at: sum(view.quantity(row, at) is not None for row in view.body) for at in view.columns}
    return [at for at, count in counted.items() if count > len(view.body) / 2]


def measured_in(view: TableView) -> str:
    """What the numbers count, where the table says so: 'USD, in millions'."""
    scale = _SCALES.get(view.scale, "")
    return ", ".join(part for part in (view.unit, f"in {scale}" if scale else "") if part)


def as_csv(view: TableView) -> str:
    """The whole grid as CSV."""
    out = io.StringIO()
    rows = grid(view)
    csv.writer(out).writerows([[f"'{cell}" if _FORMULA.match(cell) else cell for cell in row] for row in rows])
    return out.getvalue()


def as_xlsx(view: TableView, title: str) -> bytes:
    """The whole grid as a workbook: numbers as numbers where they are printed plainly, all else as text."""
    from openpyxl import Workbook  # deferred, with its cells: most tables are looked at and not taken away
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in grid(view):
        cells = [WriteOnlyCell(sheet, number(text)) for text in row]
        for cell, text in zip(cells, row, strict=True):
            if not isinstance(cell.value, float):
                cell.value, cell.data_type = (
                    ILLEGAL_CHARACTERS_RE.sub("", text),
                    "s",
                )  # what begins with = is no formula
        sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def number(text: str) -> float | None:
    """The number that a cell holds and nothing else; None for codes such as '007' and for what may be read two ways."""
    if not _PLAIN.fullmatch(text) or _EITHER.fullmatch(text):
        return None
    return float(text.replace(",", ""))


def as_html(html: str, title: str) -> str:
    """The table as a page of its own."""
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n{html}\n'
