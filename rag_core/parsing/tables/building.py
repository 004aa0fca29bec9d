"""From the words and rules in a table's area to its rows of cells.

Words join to runs, runs on one baseline to lines. Columns come from how runs stand over each other: two that stand
side by side on any line are of different columns, however wide another run may reach over both. Lines join to rows
where a cell is wrapped. Rules part what they stand between.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from rag_core.parsing.boxes import around
from rag_core.parsing.lines import Line, join
from rag_core.parsing.lines import rows as rows_of
from rag_core.parsing.tables.cells import Cell, Row, is_heading
from rag_core.parsing.tables.columns import find_columns, placed
from rag_core.parsing.tables.headings import first_body_line, header_groups, heads_anew, placed_headings
from rag_core.parsing.tables.runs import Rules, Run, TextLine, middle, overlaps, text_lines
from rag_core.types import Box

MAX_WIDTH = 60
COUNTED = re.compile(r"[$€£(<~+–-]?\s*\d")
UNFINISHED = re.compile(
    r"(?:[,/&–—-]|\b(?:and|or|of|the|to|for|in|on|from|by|with|a|an|as|at|per|net))$", re.IGNORECASE
)


def build_rows(words: Sequence[Line], rules: Rules, vocabulary: Counter[str]) -> list[Row]:
    """Give the rows of a table, headings marked; empty where the words do not stand in columns.

    Args:
        words: Those in the table's area, a `Line` each.
        vocabulary: Decides about hyphens at the ends of lines, as in running text.
    """
    lines = text_lines(words, rules)
    if not lines:
        return []
    first = first_body_line(lines, rules)
    columns = find_columns(lines, first, rules)
    width = len(columns)
    if not 2 <= width <= MAX_WIDTH:
        return []
    head = placed_headings(lines[:first], columns, rules)
    body = [placed(line, columns) for line in lines[first:]]
    rows = [_row(group, width, vocabulary, header=True) for group in header_groups(head, rules)]
    if rows and not is_heading(rows[0]):  # text in columns, such as a list of exhibits, on from the page before
        rows = [tuple(replace(cell, header=False) for cell in row) for row in rows]
    headings = {run.text for line in head for run in line if run.first > 0}
    for group in _body_groups(body, width, rules):
        rows.append(_row(group, width, vocabulary, header=heads_anew(group, headings)))
    return rows


def _body_groups(lines: Sequence[TextLine], width: int, rules: Rules) -> list[list[TextLine]]:
    groups: list[list[TextLine]] = []
    for band in _bands(lines, width, rules):
        groups += band
    return groups


def _bands(lines: Sequence[TextLine], width: int, rules: Rules) -> list[list[list[TextLine]]]:
    """Cut the body at rules across it, and each band into rows."""
    left = min((run.box.x0 for line in lines for run in line), default=0.0)
    right = max((run.box.x1 for line in lines for run in line), default=0.0)
    # From side to side: a line under linked text may be nearly as long.
    slack = 0.05 * (right - left)
    cuts = [y for y, x0, x1 in rules.across if x0 < left + slack and x1 > right - slack]
    banded = [list(band) for _, band in groupby(lines, key=lambda line: sum(y < middle(line) for y in cuts))]
    as_rows = len(banded) > 1 and bool(rules.down) and all(not _is_several(band, width) for band in banded)
    return [[band] if as_rows else _wrapped(band) for band in banded]


def _is_several(band: Sequence[TextLine], width: int) -> bool:
    """Whether the lines between two rules are rows of their own: each has a number in a column, or text in all."""
    if len(band) < 2:
        return False
    by_column = Counter(run.first for line in band for run in line if run.first and COUNTED.match(run.text))
    return max(by_column.values(), default=0) >= max(2, 0.6 * len(band)) or all(
        len(line) == width and all(len(run.text) < 20 for run in line) for line in band
    )


def _wrapped(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Join lines that go on with the cells of the line above, or lead up to those of the line below."""
    groups: list[list[TextLine]] = []
    for line in lines:
        if groups and _goes_on(groups[-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _goes_on(group: Sequence[TextLine], line: TextLine) -> bool:
    last = group[-1]
    height = last[0].box.y1 - last[0].box.y0
    if overlaps(last, line):  # of cells set at other heights
        return not {run.first for run in last} & {run.first for run in line}
    if line[0].box.y0 - max(run.box.y1 for run in last) > 0.9 * height:
        return False
    label, above = _label(line), next((found for upper in reversed(group) if (found := _label(upper))), None)
    if label is None:
        filled = {run.first for upper in group for run in upper}
        if line[0].is_number or line[0].first not in filled:
            return False
        more = max(filled) < line[-1].first and not any(run.is_number for run in last)
        return more or (all(not run.is_number and run.first in filled for run in line) and len(line) <= len(group[0]))
    if above is None or above is not _label(last):
        return False
    unfinished = not above.text.endswith(":") and (label.text[0].islower() or bool(UNFINISHED.search(above.text)))
    valued = sum(any(run.first > 0 for run in one) for one in (*group, line))
    return unfinished and (valued <= 1 or not any(run.is_number for run in line))


def _label(line: TextLine) -> Run | None:
    return line[0] if line[0].first == 0 else None


def _row(group: Sequence[TextLine], width: int, vocabulary: Counter[str], header: bool = False) -> Row:
    runs = [run for line in group for run in line]
    spans = _spans(runs, width, header)
    cells: list[Cell] = []
    column = 0
    while column < width:
        end = spans.get(column, column)
        here = [run for run in runs if column <= run.first <= end]
        text = (
            join([line.text for line in rows_of([word for run in here for word in run.words])], vocabulary)
            if here
            else ""
        )
        box = _rounded(around(run.box for run in here)) if here else None
        cells.append(Cell(text, header=header, colspan=end - column + 1, box=box))
        column = end + 1
    return tuple(cells)


def _spans(runs: Sequence[Run], width: int, header: bool) -> dict[int, int]:
    """The last column of each cell by its first. A lone text in the body goes over the whole row."""
    if not header and len({run.first for run in runs}) == 1 and not any(run.is_number for run in runs) and width > 2:
        for run in runs:
            run.first = 0
        return {0: width - 1}
    spans: dict[int, int] = {}
    for run in runs:
        spans[run.first] = max(spans.get(run.first, 0), run.last if header else run.first)
    starts = sorted(spans)
    return {start: min(spans[start], after - 1) for start, after in pairwise([*starts, width])}


def _rounded(box: Box) -> Box:
    return Box(**{side: round(value, 1) for side, value in box.model_dump().items()})
