"""The product roadmap, edition of the third quarter of 2023."""

from __future__ import annotations

from pathlib import Path

from reportlab.graphics.shapes import Drawing
from reportlab.lib.colors import HexColor, white
from reportlab.lib.pagesizes import landscape, letter
from reportlab.pdfgen.canvas import Canvas

from demo_world.charts import plan
from demo_world.layout import Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

TEAL, PALE = HexColor(0x0B6E7F), HexColor(0xC9D3D9)
THEME = Theme(
    accent=TEAL, body="Vera", head="Vera-Bold", table="Vera", table_bold="Vera-Bold", size=10.2, leading=15.4,
    head_sizes=(19, 12, 10), page=landscape(letter), left=60, right=60, top=92, bottom=60, first_top=118,
)  # fmt: skip
MONTHS = ("Jul 2023", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan 2024")
# Months from 1 July: 3.5 is the middle of October.
WORK = (
    ("R-01 QuantumLeap Analytics", 3.5, 5.1, "beta with 12 customers 6 Nov · available 4 Dec", "work"),
    ("R-02 Pulse Stream 3", 0.1, 4.0, "load test 13 Oct · done 31 Oct", "work"),
    ("R-03 Source Lens", 2.1, 6.85, "prototype 20 Nov · done 26 Jan", "work"),
    ("R-04 Ledgerline 9.1", 1.45, 4.55, "code freeze 27 Oct · done 17 Nov", "work"),
    ("R-05 FieldKit offline", 1.0, 5.5, "iOS 10 Nov · Android 15 Dec", "work"),
    ("R-06 Sign-on and roles", 0.1, 3.65, "audit 9 Oct · done 20 Oct", "work"),
    ("R-07 Lantern", 0.0, 1.1, "", "paused"),
)


def make(path: Path) -> None:
    """Write the roadmap."""
    story = Setter(THEME, {"plan": _plan}).story(text_of("roadmap"))
    Document(path, THEME, _furniture, "InnovateCorp product roadmap, Q3 2023", "Sofia Almeida").multiBuild(story)


def _plan(width: float) -> Drawing:
    return plan(width, MONTHS, WORK, TEAL, PALE)


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    canvas.setFillColor(TEAL)
    canvas.rect(0, height - 62, width, 62, stroke=0, fill=1)
    canvas.setFillColor(white)
    canvas.setFont("Vera-Bold", 15)
    canvas.drawString(THEME.left, height - 39, "Product roadmap · Q3 2023 edition")
    canvas.setFont("Vera", 9)
    canvas.drawRightString(width - THEME.right, height - 37, "InnovateCorp · Product")
    canvas.setFillColor(THEME.faint)
    canvas.setFont("Vera", 7.5)
    canvas.drawString(THEME.left, 32, "Confidential · for use inside InnovateCorp")
    canvas.drawRightString(width - THEME.right, 32, f"{page} / 4")
