"""A table as a reader takes it in: what a cell is called by its row and its columns, and what its number counts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rag_core.parsing.tables.cells import Cell, Row, header_rows, read_caption, read_html, slots
from rag_core.parsing.tables.numbers import Quantity, is_nil, parse_number, scale_in, unit_in

MAX_STUB = 3
INDENT = 2.0
FAR = 200
"""How many rows above its own a group may be named."""
CENTRED = 0.06
LISTED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]", re.IGNORECASE)
PER_SHARE = re.compile(r"\bper\b.{0,30}\bshare|\beps\b", re.IGNORECASE)
SHARES = re.compile(r"\bshares?\b", re.IGNORECASE)
SHARES_APART = re.compile(r"except[^)]*?\b(?P<which>preferred |common )?(?<!per )(?<!per-)\bshares?\b", re.IGNORECASE)
PLAIN = re.compile(r"%|\bper ?cent|\bratio\b|\brates?\b|\bmargin\b|\bnumber of\b|\bemployees\b", re.IGNORECASE)


@dataclass(frozen=True)
class TableView:
    """A table laid out on a grid; rows and columns count from 0 at its top left, headings included.

    A cell that spans slots stands in each of them. `body` and `columns` are the rows and columns that hold values.
    """

    cells: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    """Its title and notes, as far as they are known: the scale and the unit are read from here too."""

    @classmethod
    def from_html(cls, html: str, caption: str = "") -> TableView:
        """Read the table in `html`; what `caption` says is put before a caption that stands in the HTML."""
        return cls.from_rows(read_html(html), " ".join(filter(None, dict.fromkeys((caption, read_caption(html))))))

    @classmethod
    def from_rows(cls, rows: Sequence[Row], caption: str = "") -> TableView:
        return cls(tuple(map(tuple, slots(rows))), caption)

    @property
    def n_rows(self) -> int:
        return len(self.cells)

    @property
    def n_columns(self) -> int:
        return len(self.cells[0]) if self.cells else 0

    @cached_property
    def headers(self) -> int:
        """How many rows at the top are headings."""
        return max(header_rows(self.cells), 0)

    @cached_property
    def stub(self) -> int:
        """How many columns at the left are labels: one, and the next while it is of groups or of numbers in a list."""
        for column in range(min(MAX_STUB, self.n_columns - 1)):
            if not self._leads(column) or self._is_numeric(column + 1):
                return column + 1
        return min(MAX_STUB, max(self.n_columns - 1, 0))

    @cached_property
    def body(self) -> tuple[int, ...]:
        """The rows that hold values: neither headings nor rows of a label alone."""
        return tuple(
            row for row in range(self.headers, self.n_rows) if not self._is_heading(row) and self._has_values(row)
        )

    @property
    def columns(self) -> range:
        """The columns that hold values."""
        return range(self.stub, self.n_columns)

    def cell(self, row: int, column: int) -> Cell:
        """Give the cell in a slot, with its box on the page.

        Raises:
            IndexError: The table is smaller.
        """
        return self.cells[row][column]

    def row_label(self, row: int) -> str:
        """What the row is called, without the headings over it."""
        return " ".join(_distinct(self.cells[row][: self.stub]))

    def row_path(self, row: int) -> tuple[str, ...]:
        """The row's label under the labels that head it, outermost first: ("Assets", "Current assets", "Cash")."""
        return (*filter(None, map(self.row_label, self.groups(row))), *self._labels(row))

    def groups(self, row: int) -> tuple[int, ...]:
        """The rows of a label alone that head a row, outermost first.

        Indents decide where boxes are known; without them only the nearest such row counts.
        """
        found: list[int] = []
        indent = deepest = self._indent(row)
        for above in range(row - 1, max(self.headers, row - FAR) - 1, -1):
            own = self._indent(above)
            if self._has_values(above):
                deepest = max(own, deepest) if own is not None and deepest is not None else deepest
            elif self.row_label(above):
                if self._heads(above, own, indent, deepest, first=not found):
                    found.append(above)
                    indent = deepest = own
                if own is None or indent is None:
                    break
        return tuple(reversed(found))

    def column_label(self, column: int, row: int | None = None) -> str:
        """What the column is called, from all its headings; `row` matters where headings come again further down."""
        return " ".join(self.column_path(column, row))

    def column_path(self, column: int, row: int | None = None) -> tuple[str, ...]:
        """The headings of a column, from the top; one that spans the whole table is no heading of any column."""
        over = [cells[column] for cells in self._headings(row) if not self._is_note(cells)]
        return tuple(_distinct(over))

    @cached_property
    def note(self) -> str:
        """All that may say what the numbers count: caption, headings across the table, the corner at its top left."""
        across = [cells[-1].text for cells in self.cells[: self.headers] if self._is_note(cells)]
        corner = _distinct(cell for cells in self.cells[: self.headers] for cell in cells[: self.stub])
        return " ".join(dict.fromkeys(part for part in (self.caption, *across, *corner) if part))

    @cached_property
    def scale(self) -> int:
        """What the numbers of the table are to be multiplied by, unless a column or row says otherwise: 1 if unsaid."""
        return scale_in(self.note) or 1

    @cached_property
    def unit(self) -> str:
        """The unit of the table as a whole: its currency, or "%"; empty where it says none."""
        said = unit_in(self.note)
        if said:
            return said
        signs = [found.unit for row in self.body for column in self.columns if (found := self._printed(row, column))]
        money = [sign for sign in signs if sign and sign not in ("%", "bps", "x")]
        return max(set(money), key=money.count) if money else ""

    def quantity(self, row: int, column: int) -> Quantity | None:
        """Read the number in a slot with its unit and scale; None where it holds none.

        What the cell prints goes before what its column says, that before its row, and that before the table.
        Per-share values, shares and per cents are not scaled where the table's note takes them out or they are ratios.
        """
        printed = self._printed(row, column)
        if printed is None:
            return None
        heading, label = self.column_label(column, row), self.row_label(row)
        words = f"{label} {heading}"
        counts = bool(SHARES.search(words) and not PER_SHARE.search(words)) or bool(PLAIN.search(label))
        unit = printed.unit or unit_in(heading) or unit_in(label) or ("" if counts else self.unit)
        if printed.scale > 1:
            return replace(printed, unit=unit)
        plain = self._unscaled(printed, unit, row, heading)
        return replace(printed, unit=unit, scale=1 if plain else scale_in(heading) or scale_in(label) or self.scale)

    def _unscaled(self, printed: Quantity, unit: str, row: int, heading: str) -> bool:
        """Whether the scale of the table is not meant for a number: per cents, ratios, values a share, shares apart."""
        label = self.row_label(row)
        words = f"{label} {heading}"
        # "Basic" under "Earnings per share:" is one where cents are printed; "Net income" under it is not.
        broken = printed.value != printed.value.to_integral_value()
        under = broken and PER_SHARE.search(" ".join(self.row_path(row)))
        if unit in ("%", "bps", "pp", "x") or PLAIN.search(label) or PER_SHARE.search(words) or under:
            return True
        apart = SHARES_APART.search(self.note)
        return bool(apart and SHARES.search(words) and (apart["which"] or "").lower() in words.lower())

    def _printed(self, row: int, column: int) -> Quantity | None:
        return parse_number(self.cells[row][column].text)

    def _heads(
        self, above: int, own: float | None, indent: float | None, deepest: float | None, *, first: bool
    ) -> bool:
        """Whether a row of a label alone heads one further down: by indents, else the nearest does.

        With the same indent it does so until rows that are deeper have closed it; one in the middle of the table does.
        """
        if own is None or indent is None or deepest is None:
            return first
        if own < indent - INDENT:
            return True
        level = own < indent + INDENT and deepest < own + INDENT
        return (level and (first or self._is_stacked(above))) or (
            first and own > indent + INDENT and self._is_centred(above)
        )

    def _is_stacked(self, row: int) -> bool:
        return row + 1 < self.n_rows and not self._has_values(row + 1)

    def _is_centred(self, row: int) -> bool:
        box = self.cells[row][0].box
        left, right = self._sides
        return box is not None and abs(box.x0 + box.x1 - left - right) < CENTRED * (right - left)

    @cached_property
    def _sides(self) -> tuple[float, float]:
        boxes = [cell.box for cells in self.cells for cell in cells if cell.box]
        return min((box.x0 for box in boxes), default=0.0), max((box.x1 for box in boxes), default=0.0)

    def _labels(self, row: int) -> list[str]:
        """The labels of a row; a group that is named once goes on until the next."""
        labels = []
        for column in range(self.stub):
            named = range(row, self.headers - 1, -1) if column < self.stub - 1 else (row,)
            for above in named:
                if text := self.cells[above][column].text:
                    labels.append(text)
                    break
        return list(dict.fromkeys(labels))

    def _leads(self, column: int) -> bool:
        """Whether a column says less than a label: it is blank in many rows that have values, or counts them."""
        texts = [
            cells[column].text
            for cells in self.cells[self.headers :]
            if any(cell.text for cell in cells[column + 1 :]) and cells[column] is not cells[-1]
        ]
        blank = sum(not text for text in texts)
        listed = sum(bool(LISTED.fullmatch(text)) for text in texts)
        return bool(texts) and (blank > 0.3 * len(texts) or blank + listed > 0.8 * len(texts))

    def _is_note(self, cells: Sequence[Cell]) -> bool:
        """Whether a heading row says something of the whole table: its title, or the scale of all its columns."""
        title = len(set(map(id, cells))) == 1
        values = cells[self.stub :]
        return title or (len(set(map(id, values))) == 1 and scale_in(values[0].text) is not None)

    def _is_numeric(self, column: int) -> bool:
        texts = [cells[column].text for cells in self.cells[self.headers :] if cells[column].text]
        return sum(bool(parse_number(text)) or is_nil(text) for text in texts) > len(texts) / 2

    def _is_heading(self, row: int) -> bool:
        return all(cell.header for cell in self.cells[row])

    def _has_values(self, row: int) -> bool:
        label = self.cells[row][0]
        return any(cell.text and cell is not label for cell in self.cells[row][self.stub :])

    def _indent(self, row: int) -> float | None:
        return next((cell.box.x0 for cell in self.cells[row][: self.stub] if cell.text and cell.box), None)

    def _headings(self, row: int | None) -> Sequence[Sequence[Cell]]:
        """The heading rows that hold at a row: the block of them last above it that heads columns."""
        if row is not None:
            at = bisect_left(self._further, row) - 1
            if at >= 0:
                first = last = self._further[at]
                while first > self.headers and self._is_heading(first - 1):
                    first -= 1
                return self.cells[first : last + 1]
        return self.cells[: self.headers]

    @cached_property
    def _further(self) -> list[int]:
        """The rows of headings of columns further down."""
        return [row for row in range(self.headers, self.n_rows) if self._is_heading(row) and self._has_values(row)]


def _distinct(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.text for cell in cells if cell.text))
