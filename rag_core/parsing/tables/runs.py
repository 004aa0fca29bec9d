"""Runs: the words of one cell on one line, parted by wide gaps and by upright rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rag_core.parsing.boxes import around
from rag_core.parsing.lines import Line, baselines
from rag_core.parsing.tables.numbers import is_nil, parse_number
from rag_core.types import Box

RUN_GAP = 0.62
"""A wider gap between words, in heights of a line, parts two runs: twice the widest space of set text."""
NUMBER_GAP = 0.3
"""The same between two numbers, which are not words of one phrase."""
SIGN_GAP = 3.0
"""How far, in heights of a line, a per cent sign or bracket may stand after its number."""

LEADERS = re.compile(r"(?:[.…_]\s*){3,}$|·{6,}$|^[.…]+$|^[-–—=_]{4,}$")
CURRENCY = re.compile(r"(?:[A-Z]{0,3}\$|[€£¥₹₩]|Rs\.?)\(?")
OPENS_NUMBER = re.compile(r"[\d(.–—-]")
CLOSES_NUMBER = re.compile(r"[)%]{1,2}|bps|pts?")
YEAR = re.compile(r"(?:19|20)\d\d[A-Z]?")
NO_VALUE = re.compile(rf"{YEAR.pattern}|\(\d{{1,2}}\)")


@dataclass(frozen=True, slots=True)
class Rules:
    """Straight lines in a table's area: horizontal ones as (y, x0, x1), upright ones as (x, y0, y1); by position."""

    across: tuple[tuple[float, float, float], ...] = ()
    down: tuple[tuple[float, float, float], ...] = ()


@dataclass
class Run:
    """Words of one cell on one line, and the columns that they stand in."""

    words: tuple[Line, ...]
    line: int
    first: int = 0
    last: int = 0

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @cached_property
    def box(self) -> Box:
        return around(word.box for word in self.words)

    @property
    def is_value(self) -> bool:
        """Whether it is a number, other than a year or the mark of a footnote, or a dash in the place of one."""
        number = parse_number(self.text) is not None and not NO_VALUE.fullmatch(self.text)
        return number or is_nil(self.text)

    @property
    def is_number(self) -> bool:
        return parse_number(self.text) is not None or is_nil(self.text)


TextLine = list[Run]
"""The runs on one baseline, from the left."""


def text_lines(words: Iterable[Line], rules: Rules) -> list[TextLine]:
    """Give the lines of a table from the top."""
    lines = (_runs(parts, number, rules) for number, parts in enumerate(baselines(_without_leaders(words))))
    return [line for line in lines if line]


def middle(line: TextLine) -> float:
    return (line[0].box.y0 + line[0].box.y1) / 2


def height(line: TextLine) -> float:
    return max(run.box.y1 - run.box.y0 for run in line)


def overlaps(above: TextLine, below: TextLine) -> bool:
    """Whether two lines stand beside each other in part: those of cells that are set at other heights."""
    depth = max(run.box.y1 for run in above) - min(run.box.y0 for run in below)
    return depth > 0.3 * min(height(above), height(below))


def _without_leaders(words: Iterable[Line]) -> list[Line]:
    """Drop the dots that lead the eye from a label to its value."""
    found = []
    for word in words:
        text = LEADERS.sub("", word.text).strip()
        if not text and found and found[-1].text.endswith(".") and word.x0 - found[-1].x1 < word.y1 - word.y0:
            found[-1] = replace(found[-1], text=found[-1].text[:-1])  # the first of the dots stuck to the label
        if text and len(text) < len(word.text):
            share = len(text) / len(word.text)
            found.append(replace(word, text=text, x1=word.x0 + share * (word.x1 - word.x0)))
        elif text and not (text == "." and word.x1 - word.x0 < word.y1 - word.y0):
            found.append(word)
    return found


def _runs(parts: Sequence[Line], number: int, rules: Rules) -> TextLine:
    runs: list[list[Line]] = []
    for word in parts:
        if runs and _continues(runs[-1], word, rules):
            runs[-1].append(word)
        else:
            runs.append([word])
    return _with_signs([Run(tuple(run), number) for run in runs])


def _continues(run: Sequence[Line], word: Line, rules: Rules) -> bool:
    last = run[-1]
    height = max(min(last.y1 - last.y0, word.y1 - word.y0), 1.0)
    both_numbers = _is_number(word.text) and _is_number(last.text) and not last.text.endswith(",")
    next_amount = CURRENCY.fullmatch(word.text) and (_is_number(last.text) or is_nil(last.text))
    if word.x0 - last.x1 > height * (NUMBER_GAP if both_numbers or next_amount else RUN_GAP):
        return False
    middle = (word.y0 + word.y1) / 2
    return not any(y0 < middle < y1 and last.x1 - 1 <= x <= word.x0 + 1 for x, y0, y1 in rules.down)


def _is_number(text: str) -> bool:
    return parse_number(text) is not None


def _with_signs(runs: TextLine) -> TextLine:
    """Join currency signs to the number after them, and per cents and brackets to the one before."""
    joined: TextLine = []
    for run in runs:
        before = joined[-1] if joined else None
        if before is not None and _is_sign_of(before, run):
            joined[-1] = Run((*before.words, *run.words), run.line)
        else:
            joined.append(run)
    return joined


def _is_sign_of(left: Run, right: Run) -> bool:
    both = f"{left.text} {right.text}"
    if CURRENCY.fullmatch(left.text):
        return bool(OPENS_NUMBER.match(right.text)) and (_is_number(both) or is_nil(right.text))
    near = right.box.x0 - left.box.x1 < SIGN_GAP * (right.box.y1 - right.box.y0)
    return near and bool(CLOSES_NUMBER.fullmatch(right.text)) and (_is_number(both) or is_nil(left.text))
