"""Charts as vectors: bars with their values, lying bars, and a plan of work over months."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reportlab.graphics.shapes import Drawing, Line, Polygon, Rect, String
from reportlab.lib.colors import Color, HexColor

from demo_world.layout import FAINT, INK

RULE, STRIPE = HexColor(0xD4DAE1), HexColor(0xF5F7FA)
FACE, BOLD = "Helvetica", "Helvetica-Bold"
Anchor = Literal["start", "middle", "end"]
Bars = Sequence[tuple[str, float]]


def _label(
    x: float, y: float, text: str, anchor: Anchor = "middle", size: float = 8, colour: Color = INK, face: str = FACE
) -> String:
    return String(x, y, text, textAnchor=anchor, fontSize=size, fillColor=colour, fontName=face)


def _bar(x: float, y: float, width: float, height: float, colour: Color, rounding: float = 0) -> Rect:
    bar = Rect(x, y, width, height, rounding, rounding)
    bar.fillColor, bar.strokeColor = colour, None
    return bar


def columns(width: float, bars: Bars, axis: str, top: float, colour: Color, form: str) -> Drawing:
    """Standing bars over an axis from 0 to `top` in four steps; `form` writes a bar's value."""
    height, left, floor = 190.0, 38.0, 22.0
    roof = height - 24
    drawing = Drawing(width, height)
    drawing.add(_label(0, height - 9, axis, "start", colour=FAINT))
    for step in range(5):
        y = floor + (roof - floor) * step / 4
        drawing.add(Line(left, y, width, y, strokeColor=RULE, strokeWidth=0.5))
        drawing.add(_label(left - 5, y - 3, f"{top * step / 4:,.0f}", "end", colour=FAINT))
    slot = (width - left) / len(bars)
    for i, (name, value) in enumerate(bars):
        middle, tall = left + slot * (i + 0.5), (roof - floor) * value / top
        drawing.add(_bar(middle - slot * 0.29, floor, slot * 0.58, tall, colour))
        drawing.add(_label(middle, floor + tall + 4, form.format(value), face=BOLD))
        drawing.add(_label(middle, 8, name))
    return drawing


def lying_bars(width: float, bars: Bars, top: float, colour: Color, form: str) -> Drawing:
    """Lying bars from 0 to `top`, the first one uppermost, each with its name before and its value behind it."""
    pitch, left = 24.0, 172.0
    drawing = Drawing(width, pitch * len(bars) + 6)
    drawing.add(Line(left, 2, left, pitch * len(bars) + 4, strokeColor=FAINT, strokeWidth=0.7))
    for i, (name, value) in enumerate(bars):
        y = pitch * (len(bars) - 1 - i) + 6
        long = (width - left - 40) * value / top
        drawing.add(_bar(left, y, long, 14, colour))
        drawing.add(_label(left - 8, y + 4, name, "end"))
        drawing.add(_label(left + long + 6, y + 4, form.format(value), "start", face=BOLD))
    return drawing


def plan(
    width: float, months: Sequence[str], rows: Sequence[tuple[str, float, float, str, str]], colour: Color, pale: Color
) -> Drawing:
    """A plan of work: a row is (name, start, end, milestone, kind); starts and ends count months from the left edge.

    A milestone stands as a diamond at the row's end. Rows of kind "paused" are drawn pale.
    """
    pitch, left, head = 44.0, 150.0, 26.0
    height = head + pitch * len(rows)
    drawing = Drawing(width, height)
    month = (width - left) / len(months)
    for i, name in enumerate(months):
        x = left + month * i
        if i % 2 == 0:
            drawing.add(_bar(x, 0, month, height, STRIPE))
        drawing.add(_label(x + month / 2, height - 15, name, face=BOLD))
    for i, (name, start, end, milestone, kind) in enumerate(rows):
        y = height - head - pitch * (i + 1)
        drawing.add(Line(0, y, width, y, strokeColor=RULE, strokeWidth=0.5))
        drawing.add(_label(0, y + 21, name, "start", size=8.5, face=BOLD))
        x0, x1 = left + month * start, left + month * end
        drawing.add(_bar(x0, y + 20, x1 - x0, 12, pale if kind == "paused" else colour, 2))
        diamond = Polygon([x1 - 6, y + 26, x1, y + 32, x1 + 6, y + 26, x1, y + 20])
        diamond.fillColor, diamond.strokeColor = INK, None
        drawing.add(diamond)
        drawing.add(_label(min(x1, width - 3), y + 6, milestone, "end", size=8, colour=FAINT))
    return drawing
