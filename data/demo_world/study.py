"""The report on Project Titan, a study of StratoCore's users."""

from __future__ import annotations

from pathlib import Path

from reportlab.graphics.shapes import Drawing
from reportlab.lib.colors import HexColor
from reportlab.pdfgen.canvas import Canvas

from demo_world.charts import lying_bars
from demo_world.layout import Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

RUST = HexColor(0xA4451C)
THEME = Theme(accent=RUST, size=10.8, leading=15, head_sizes=(20, 13.5, 11), left=80, right=80, top=80)
TASKS = (
    ("Set an alert", 84.0),
    ("Share a report", 76.0),
    ("Build a dashboard", 60.0),
    ("Trace a number to its source", 40.0),
)


def make(path: Path) -> None:
    """Write the study."""
    story = Setter(THEME, {"tasks": _tasks}).story(text_of("study"))
    title = "Project Titan: how enterprises work with their operational data"
    Document(path, THEME, _furniture, title, "InnovateCorp User Research").multiBuild(story)


def _tasks(width: float) -> Drawing:
    return lying_bars(width, TASKS, 100, RUST, "{:.0f} %")


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    canvas.setFillColor(RUST)
    canvas.rect(0, 0, 10, height, stroke=0, fill=1)
    canvas.setFillColor(THEME.faint)
    canvas.setFont("Helvetica", 8.5)
    if page > 1:
        canvas.drawString(THEME.left, height - 52, "Project Titan · UR-2023-07")
        canvas.drawRightString(width - THEME.right, height - 52, "InnovateCorp User Research")
    canvas.drawString(THEME.left, 40, "Internal")
    canvas.drawRightString(width - THEME.right, 40, f"{page}")
