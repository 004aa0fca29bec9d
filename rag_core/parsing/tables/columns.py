"""The columns of a table: where runs stand over each other and not side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rag_core.parsing.tables.runs import Rules, Run, TextLine
from rag_core.types import Box

TOUCH = 1.5
"""Less than this in common, in points, is no overlap."""
SPLINTER = 0.35


@dataclass(slots=True)
class Column:
    x0: float
    x1: float
    lines: set[int] = field(default_factory=set)

    def overlap(self, box: Box) -> float:
        return min(self.x1, box.x1) - max(self.x0, box.x0)


def find_columns(lines: Sequence[TextLine], first: int, rules: Rules) -> list[Column]:
    """Give the columns from the left; `first` is the line that the body begins with."""
    columns = _columns([run for line in lines[first:] for run in line])
    if len(columns) < 2:
        columns = _columns([run for line in lines for run in line])
    return _with_empty(_without_splinters(columns, lines, first), lines[:first], rules)


def placed(line: TextLine, columns: Sequence[Column]) -> TextLine:
    """Say which columns each run stands in."""
    for run in line:
        hit = [number for number, column in enumerate(columns) if column.overlap(run.box) > TOUCH]
        if not hit:
            middle = (run.box.x0 + run.box.x1) / 2
            hit = [min(range(len(columns)), key=lambda n: abs((columns[n].x0 + columns[n].x1) / 2 - middle))]
        run.first, run.last = hit[0], hit[-1]
    # A label that reaches over the next column has its own where another run of the line stands.
    for run, after in pairwise(line):
        run.last = max(run.first, min(run.last, after.first - 1))
        after.first = max(after.first, min(run.last + 1, after.last))
    return line


def _columns(runs: Sequence[Run]) -> list[Column]:
    columns: list[Column] = []
    for run in sorted(runs, key=lambda run: run.box.x1 - run.box.x0):
        hit = [column for column in columns if column.overlap(run.box) > TOUCH]
        if any(one.lines & other.lines for number, one in enumerate(hit) for other in hit[:number]):
            continue  # it reaches over columns
        merged = Column(run.box.x0, run.box.x1, {run.line})
        for column in hit:
            merged = Column(min(merged.x0, column.x0), max(merged.x1, column.x1), merged.lines | column.lines)
            columns.remove(column)
        columns.append(merged)
    return sorted(columns, key=lambda column: column.x0 + column.x1)


def _without_splinters(columns: list[Column], lines: Sequence[TextLine], first: int) -> list[Column]:
    """Join to the column before it what wide spaces in running text have split off.

    Such a column is of words, on some lines only, never without text before it, and no heading is its own.
    """
    heads = {run.line for line in lines[:first] for run in line}
    kept = columns[:1]
    for column in columns[1:]:
        before = kept[-1]
        own = [run for line in lines for run in line if column.overlap(run.box) > TOUCH > before.overlap(run.box)]
        both = {
            run.line
            for line in lines[first:]
            for run in line
            if min(column.overlap(run.box), before.overlap(run.box)) > TOUCH
        }
        headed = any(run.line in heads for run in own)
        worded = sum(not run.is_number for run in own) > 0.8 * len(own)
        text = before.lines | both
        if not headed and worded and len(column.lines) <= SPLINTER * len(text) and column.lines <= text:
            kept[-1] = Column(before.x0, max(before.x1, column.x1), text)
        else:
            kept.append(column)
    return kept


def _with_empty(columns: list[Column], head: Sequence[TextLine], rules: Rules) -> list[Column]:
    """Add the columns that have a heading between two rules and no text under it."""
    sides = sorted({x for x, _, _ in rules.down})
    for run in (run for line in head for run in line):
        between = [
            (x0, x1) for x0, x1 in pairwise(sides) if x0 - 1 < run.box.x0 and run.box.x1 < x1 + 1 and x1 - x0 > 5
        ]
        if between and not any(
            column.overlap(Box(x0=x0, y0=0, x1=x1, y1=0)) > TOUCH for column in columns for x0, x1 in between
        ):
            columns.append(Column(run.box.x0, run.box.x1))
    return sorted(columns, key=lambda column: column.x0 + column.x1)
