"""Spreadsheets: Excel (XLSX) and CSV. A sheet begins on a page of its own, under its name.

Cells have what Excel shows: the values of formulas, percentages, dates, thousands. Rows that stand together are a
table; lone cells above it are its title, those below it text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from rag_core.parsing.formats.encoding import encoding_of
from rag_core.parsing.formats.pieces import Content, Flow, Piece, paragraph
from rag_core.parsing.lines import clean
from rag_core.parsing.tables import Cell

MAX_ROWS = 20_000
MAX_COLUMNS = 100
CELL_CHARS = 5_000
SNIFFED_CHARS = 64_000
DELIMITERS = ",;\t|"

Line = list[str]


def read_excel(path: Path) -> Content:
    """Read the sheets one after the other; macros, charts and links to other files are left alone.

    Raises:
        Exception: Of many kinds, where it is damaged.
    """
    from openpyxl import load_workbook  # deferred: most documents are none

    book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    return Content((_sheet(sheet) for sheet in book.worksheets), book.properties.title or "")


def read_csv(path: Path) -> Content:
    """Read a file of values parted by commas, semicolons, tabs or bars.

    Raises:
        Refused: It is not text.
    """
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        dialect = _dialect(file.read(SNIFFED_CHARS))
        file.seek(0)
        csv.field_size_limit(CELL_CHARS * 100)
        lines = ([cell[:CELL_CHARS] for cell in line] for line in csv.reader(file, dialect))
        return Content([_flow(lines)])


def _dialect(sample: str) -> type[csv.Dialect] | csv.Dialect:
    try:
        return csv.Sniffer().sniff(sample[: sample.rfind("\n")], DELIMITERS)
    except csv.Error:
        head = sample.partition("\n")[0]

        class Guessed(csv.excel):
            delimiter = max(DELIMITERS, key=head.count)

        return Guessed


def _sheet(sheet: Any) -> Flow:
    sheet.reset_dimensions()  # what some programs write there is wrong
    lines = (
        [_shown(cell.value, cell.number_format) for cell in row] for row in sheet.iter_rows(max_col=MAX_COLUMNS + 1)
    )
    return _flow(lines, sheet.title)


def _flow(lines: Iterable[Line], name: str = "") -> Flow:
    """Read a sheet as far as the bounds go, and say what is beyond."""
    lines = iter(lines)
    read = [[clean(cell) for cell in line] for line in islice(lines, MAX_ROWS)]
    beyond = [f"its rows after {MAX_ROWS:,}"] if next(lines, None) is not None else []
    if any(any(line[MAX_COLUMNS:]) for line in read):
        beyond.append(f"its columns after {MAX_COLUMNS}")
    left_out = f"{name or 'the file'}: {' and '.join(beyond)} were left out" if beyond else ""
    within = (line[:MAX_COLUMNS] for line in read)
    pieces = [*paragraph("title", name), *(piece for block in _blocks(within) for piece in _pieces(block))]
    return Flow(pieces, left_out=left_out)


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines that stand together, without the empty columns around them."""
    block: list[Line] = []
    for line in [*lines, []]:
        if any(line):
            block.append(line)
        elif block:
            yield _trimmed(block)
            block = []


def _trimmed(block: Sequence[Line]) -> list[Line]:
    across = max(map(len, block))
    full = [line + [""] * (across - len(line)) for line in block]
    used = [column for column in range(across) if any(line[column] for line in full)]
    return [line[used[0] : used[-1] + 1] for line in full]


def _pieces(block: Sequence[Line]) -> Iterator[Piece]:
    lone = [sum(map(bool, line)) == 1 for line in block]
    first = next((number for number, alone in enumerate(lone) if not alone), len(block))
    last = len(block) - next((number for number, alone in enumerate(reversed(lone)) if not alone), 0)
    last = max(first, last)
    for number, line in enumerate(block[:first]):
        titled = number == first - 1 and first < last
        yield from paragraph("caption" if titled else "text", "".join(line))
    if first < last:
        yield Piece("table", rows=tuple(_rows(_trimmed(block[first:last]))))
    for line in block[last:]:
        yield from paragraph("text", "".join(line))


def _rows(lines: Sequence[Line]) -> Iterator[tuple[Cell, ...]]:
    for number, line in enumerate(lines):
        yield tuple(Cell(text, header=number == 0 and len(lines) > 1) for text in line)


def _shown(value: Any, style: str | None) -> str:
    """A value as Excel shows it, as far as its number format is a common one."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case int() | float():
            return _number(value, (style or "General").partition(";")[0])
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
        case date() | time():
            return value.isoformat()
    return str(value)[:CELL_CHARS]


def _number(value: float, style: str) -> str:
    if "0" not in style:
        return f"{value:.15g}"
    places = len(style.rpartition(".")[2].rstrip('%_)" ').split("0")) - 1 if "." in style else 0
    percent = "%" in style
    text = f"{value * 100 if percent else value:{',' if ',' in style else ''}.{places}f}"
    currency = next((sign for sign in "$€£¥" if sign in style), "")
    return f"{currency}{text}{'%' if percent else ''}"
