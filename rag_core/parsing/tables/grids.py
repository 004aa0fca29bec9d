"""The tables of a page as grids of cells.

Where tables are is what PyMuPDF's layout model says, out to the rules around them; what stands in their cells is found
from the words. (Its `find_tables` takes shaded rows apart, and a fifth of a second a page to put them together.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rag_core.parsing.boxes import around, inside
from rag_core.parsing.lines import Line, baselines, clean, words
from rag_core.parsing.tables.building import build_rows
from rag_core.parsing.tables.cells import Row
from rag_core.parsing.tables.runs import Rules
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box

WORD_FLAGS = pymupdf.TEXTFLAGS_WORDS & ~pymupdf.TEXT_PRESERVE_LIGATURES
FRAME_GAP = 12
THIN = 2.5
ACROSS_GAP = 1.5
DOWN_GAP = 10
"""How far apart strokes of one rule may be: spanner rules stand side by side, upright ones leave out shaded rows."""
SHORTEST = 6
BESIDE = 30
LABELS = 0.15
"""The least share of a table's width that its labels have."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table on a page: where it stands and its cells, row by row, those of headings marked."""

    box: Box
    rows: tuple[Row, ...]


def find_grids(page: pymupdf.Page) -> list[Grid]:
    """Give the tables of a page whose layout has been found (`page.get_layout(return_raw=True)`), from the top."""
    areas = [_box(found["group_bbox"]) for found in page.layout_information or () if found["class_name"] == "table"]
    if not areas:
        return []
    on_page, rules = _words(page), _rules(page)
    vocabulary = words(on_page)
    found = []
    for area in (_headed(_framed(area, rules), on_page, rules) for area in areas):
        here = [word for word in on_page if inside(word.box, area)]
        rows = build_rows(here, _within(rules, area), vocabulary)
        if len(rows) >= 2:
            found.append(Grid(area, tuple(rows)))
    return found


def _words(page: pymupdf.Page) -> list[Line]:
    """The words of a page that are set upright, a line each."""
    found = cast(Iterable[Sequence[Any]], page.get_text("words", flags=WORD_FLAGS))
    read = ((clean(text), x0, y0, x1, y1) for x0, y0, x1, y1, text, *_ in found)
    return [
        Line(text, x0, y0, x1, y1, size=y1 - y0, bold=False)
        for text, x0, y0, x1, y1 in read
        if text and (len(text) < 4 or y1 - y0 < 2 * (x1 - x0))
    ]


def _rules(page: pymupdf.Page) -> Rules:
    """The thin lines and thin filled boxes of a page; the edges of boxes that are drawn, not those filled alone."""
    across: set[tuple[float, float, float]] = set()
    down: set[tuple[float, float, float]] = set()
    for path in page.get_cdrawings() or ():
        for x0, y0, x1, y1 in _strokes(path):
            if y1 - y0 <= THIN and x1 - x0 >= SHORTEST:
                across.add((round((y0 + y1) / 2, 1), round(x0, 1), round(x1, 1)))
            elif x1 - x0 <= THIN and y1 - y0 >= SHORTEST:
                down.add((round((x0 + x1) / 2, 1), round(y0, 1), round(y1, 1)))
    return Rules(_joined(across, ACROSS_GAP), _joined(down, DOWN_GAP))


def _strokes(path: dict[str, Any]) -> Iterable[tuple[float, float, float, float]]:
    for kind, *points in path["items"]:
        if kind == "l":
            (x0, y0), (x1, y1) = points[:2]
            yield min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
        elif kind == "re":
            x0, y0, x1, y1 = points[0]
            if min(x1 - x0, y1 - y0) <= THIN:
                yield x0, y0, x1, y1
            elif "s" in path["type"]:
                yield from ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1))


def _joined(strokes: Iterable[tuple[float, float, float]], gap: float) -> tuple[tuple[float, float, float], ...]:
    """Join strokes that go on in each other: many files draw a rule cell by cell."""
    found: list[tuple[float, float, float]] = []
    for at, begin, end in sorted(strokes, key=lambda stroke: (round(stroke[0]), stroke[1])):
        if found and abs(at - found[-1][0]) < 1.5 and begin - found[-1][2] < gap:
            found[-1] = (found[-1][0], found[-1][1], max(end, found[-1][2]))
        else:
            found.append((at, begin, end))
    return tuple(sorted(found))


def _framed(area: Box, rules: Rules) -> Box:
    """Widen an area to the rules that frame it."""
    wide = [
        Box(x0=x0, y0=y, x1=x1, y1=y)
        for y, x0, x1 in rules.across
        if area.y0 - FRAME_GAP < y < area.y1 + FRAME_GAP and _is_side(x0, x1, area.x0, area.x1)
    ]
    high = [
        Box(x0=x, y0=y0, x1=x, y1=y1)
        for x, y0, y1 in rules.down
        if area.x0 - 3 * FRAME_GAP < x < area.x1 + 3 * FRAME_GAP and _is_side(y0, y1, area.y0, area.y1)
    ]
    return around([area, *(wide if len(wide) > 1 else ()), *(high if len(high) > 1 else ())])


def _headed(area: Box, on_page: Sequence[Line], rules: Rules) -> Box:
    """Raise the top of an area over the lines of headings that the layout model has left out.

    They stand over columns, not over labels: on a rule of their own, or stacked on the heading of a column.
    """
    values = area.x0 + LABELS * (area.x1 - area.x0)
    left = area.x0 - BESIDE
    above = [word for word in on_page if left < word.x0 and word.x1 <= area.x1 + 3 and word.y1 < area.y0 + 3]
    for line in reversed(baselines(above)):
        height = line[0].y1 - line[0].y0
        gap = area.y0 - line[0].y1
        near = [(x0, x1) for y, x0, x1 in rules.across if abs(y - area.y0) < height]
        ruled = bool(near) and all(x0 > values or x1 < values for x0, x1 in near)
        stacked = not near and gap < 0.5 * height and line[0].x0 > (area.x0 + area.x1) / 2
        if gap > height or line[0].x0 < values or not (ruled or stacked):
            break
        area = area.model_copy(update={"y0": line[0].y0})
    return area


def _is_side(begin: float, end: float, first: float, last: float) -> bool:
    """Whether a rule from `begin` to `end` is about as long as the side of an area from `first` to `last`."""
    return begin > first - 3 * FRAME_GAP and end < last + 3 * FRAME_GAP and end - begin > 0.8 * (last - first)


def _within(rules: Rules, area: Box) -> Rules:
    return Rules(
        tuple(
            rule
            for rule in rules.across
            if area.y0 - 3 <= rule[0] <= area.y1 + 3 and rule[1] < area.x1 and rule[2] > area.x0
        ),
        tuple(
            rule
            for rule in rules.down
            if area.x0 - 3 <= rule[0] <= area.x1 + 3 and rule[1] < area.y1 and rule[2] > area.y0
        ),
    )


def _box(sides: Sequence[float]) -> Box:
    x0, y0, x1, y1 = sides
    return Box(x0=x0, y0=y0, x1=x1, y1=y1)
