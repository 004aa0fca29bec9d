"""The headings of a table: which lines they are, the columns that each heads, and their levels."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rag_core.parsing.tables.columns import Column, placed
from rag_core.parsing.tables.numbers import is_nil, scale_in
from rag_core.parsing.tables.runs import YEAR, Rules, TextLine, height, middle, overlaps
from rag_core.types import Box

RULE_NEAR = 9.0
MAX_HEADER = 8
MAX_RULED_HEADER = 4
MAX_INDENT = 40.0
LARGER = 1.15
CENTRED = 0.12


def first_body_line(lines: Sequence[TextLine], rules: Rules) -> int:
    """The line that the body begins with: 0 where there are no headings."""
    usual = median(height(line) for line in lines)
    large = next((number for number, line in enumerate(lines) if height(line) < LARGER * usual), 0)
    first = max(min(large, MAX_HEADER), _first_below_headings(lines, rules))
    while 0 < first < len(lines) - 1 and overlaps(lines[first - 1], lines[first]):
        first += 1  # of headings that are set at other heights
    return first


def _first_below_headings(lines: Sequence[TextLine], rules: Rules) -> int:
    left = min(line[0].box.x0 for line in lines)
    indented = left + MAX_INDENT
    valued = next((number for number, line in enumerate(lines[: MAX_HEADER + 1]) if _has_value(line)), None)
    if valued is not None:
        over = [number for number in range(valued) if lines[number][-1].box.x0 > indented]
        while len(over) > 1 and _is_centred(lines[over[-1]], lines):
            over.pop()
        return over[-1] + 1 if over else 0
    if lines[0][0].box.x0 > indented:  # a blank corner
        stub = min(next((number for number, line in enumerate(lines) if line[0].box.x0 <= indented), 1), MAX_HEADER)
        over = _ruled_under(lines, stub, rules) and not _ruled_under(lines, stub - 1, rules)
        return stub + 1 if over else stub
    bottom = next((y for y, _, _ in rules.across if y > middle(lines[0])), 0.0)
    ruled = sum(middle(line) < bottom for line in lines)
    if 0 < ruled <= MAX_RULED_HEADER and ruled < len(lines):
        return ruled
    stacked = (n for n, line in enumerate(lines) if n and (line[0].box.x0 <= indented or _is_centred(line, lines)))
    return min(next(stacked, 1), MAX_HEADER)


def _ruled_under(lines: Sequence[TextLine], number: int, rules: Rules) -> bool:
    """Whether there is a rule between a line and the next."""
    top, bottom = middle(lines[number]), middle(lines[number + 1]) if number + 1 < len(lines) else 0.0
    return any(top < y < bottom for y, _, _ in rules.across)


def _has_value(line: TextLine) -> bool:
    """Whether a line holds a number that is no year, other than as its label."""
    return any(run.is_value and not is_nil(run.text) for run in (line[1:] or line))


def _is_centred(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether a line is a heading in the middle of the whole table, label column and all: it heads rows."""
    left, right = min(one[0].box.x0 for one in lines), max(one[-1].box.x1 for one in lines)
    return len(line) == 1 and abs(line[0].box.x0 + line[0].box.x1 - left - right) < CENTRED / 2 * (right - left)


def placed_headings(lines: Sequence[TextLine], columns: Sequence[Column], rules: Rules) -> list[TextLine]:
    """Say which columns the runs of each line of headings head."""
    return [_spread(_over_rule(line, columns, rules), columns, top=not number) for number, line in enumerate(lines)]


def _over_rule(line: TextLine, columns: Sequence[Column], rules: Rules) -> TextLine:
    """Say which columns each heading heads: those over the rule directly under it, where there is one."""
    placed(line, columns)
    ends = [-1, *(run.last for run in line)]
    starts = [*(run.first for run in line), len(columns)]
    lone = sum(run.first > 0 for run in line) == 1
    for number, run in enumerate(line):
        centre = (run.box.x0 + run.box.x1) / 2
        under = [
            (x0, x1)
            for y, x0, x1 in rules.across
            if -2 <= y - run.box.y1 < RULE_NEAR
            and x0 - 2 <= centre <= x1 + 2
            and (lone or not any(x0 <= (one.box.x0 + one.box.x1) / 2 <= x1 for one in line if one is not run))
        ]
        if not under or run.first == 0:
            continue
        x0, x1 = min(under, key=lambda ends: ends[1] - ends[0])
        over = [
            n
            for n, column in enumerate(columns)
            if ends[number] < n < starts[number + 1] and n > 0 and column.x1 - column.x0 < 2 * _common(column, x0, x1)
        ]
        if over:
            run.first, run.last = over[0], over[-1]
    return line


def _spread(line: TextLine, columns: Sequence[Column], *, top: bool) -> TextLine:
    """Let headings without rules head the columns that they are in the middle of, where that leaves none without."""
    over = [run for run in line if run.first > 0]
    alone = len(over) == 1 and (len(columns) > 4 or scale_in(over[0].text) is not None)
    if not (alone or (top and len(over) > 1)) or not 3 < len(columns) > len(over) + 1:
        return line
    bounds = [0, *(run.last for run in over), len(columns)]
    spans: list[range] = []
    for number, run in enumerate(over, 1):
        most = range(bounds[number - 1] + 1, over[number].first if number < len(over) else len(columns))
        centre = (run.box.x0 + run.box.x1) / 2
        fits = [
            range(start, stop)
            for start in range(most.start, run.first + 1)
            for stop in range(run.last + 1, most.stop + 1)
            if start > (spans[-1].stop - 1 if spans else 0)
            and abs(columns[start].x0 + columns[stop - 1].x1 - 2 * centre)
            < CENTRED * (columns[stop - 1].x1 - columns[start].x0)
        ]
        spans.append(max(fits, key=len, default=range(run.first, run.last + 1)))
    if sum(map(len, spans)) == len(columns) - 1:
        for run, span in zip(over, spans, strict=True):
            run.first, run.last = span.start, span.stop - 1
    return line


def _common(column: Column, x0: float, x1: float) -> float:
    return min(column.x1, x1) - max(column.x0, x0)


def header_groups(lines: Sequence[TextLine], rules: Rules) -> list[list[TextLine]]:
    """Join the lines of wrapped headings; a rule between, or a heading over several columns, parts two levels."""
    groups: list[list[TextLine]] = []
    for line in lines:
        if groups and not _new_level(groups[-1], line, rules):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _new_level(group: Sequence[TextLine], line: TextLine, rules: Rules) -> bool:
    for run in line:
        for above in (over for upper in group for over in upper):
            if above.last < run.first or above.first > run.last:
                continue
            if (above.first, above.last) != (run.first, run.last):
                return True
            if _ruled_between(above.box, run.box, rules):
                return True
    return False


def _ruled_between(above: Box, below: Box, rules: Rules) -> bool:
    top, bottom = (above.y0 + above.y1) / 2, (below.y0 + below.y1) / 2
    centre = (below.x0 + below.x1) / 2
    return any(top < y < bottom and x0 <= centre <= x1 for y, x0, x1 in rules.across)


def heads_anew(group: Sequence[TextLine], headings: set[str]) -> bool:
    """Whether a row of the body heads columns anew: with years alone, or with headings that stand at the top."""
    over = [run for line in group for run in line if run.first > 0]
    again = sum(run.text in headings or bool(YEAR.fullmatch(run.text)) for run in over)
    return bool(headings and over) and not any(run.is_value for run in over) and again > len(over) / 2
