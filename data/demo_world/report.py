"""InnovateCorp's report on the third quarter of 2023."""

from __future__ import annotations

from pathlib import Path

from reportlab.graphics.shapes import Drawing
from reportlab.lib.colors import HexColor, white
from reportlab.pdfgen.canvas import Canvas

from demo_world.charts import columns
from demo_world.layout import Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

NAVY, SKY = HexColor(0x14365C), HexColor(0x3D7EBF)
THEME = Theme(accent=NAVY, body="Helvetica", size=10.4, leading=15, top=92)
QUARTERS = ("Q3 2022", "Q4 2022", "Q1 2023", "Q2 2023", "Q3 2023")
REVENUE = (41.0, 43.2, 44.9, 47.1, 50.0)
CUSTOMERS = (1840, 1975, 2110, 2260, 2415)


def make(path: Path) -> None:
    """Write the report; page 1 is its cover."""
    story = Setter(THEME, {"revenue": _revenue, "customers": _customers}).story(text_of("report"))
    title = "InnovateCorp Q3 2023 Report"
    Document(path, THEME, _furniture, title, "InnovateCorp, Inc.").multiBuild(story)


def _revenue(width: float) -> Drawing:
    return columns(width, tuple(zip(QUARTERS, REVENUE, strict=True)), "Revenue, $ millions", 60, SKY, "{:.1f}")


def _customers(width: float) -> Drawing:
    return columns(width, tuple(zip(QUARTERS, CUSTOMERS, strict=True)), "StratoCore customers", 2800, NAVY, "{:,}")


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    if page == 1:
        _cover(canvas, width, height)
        return
    canvas.setFillColor(NAVY)
    canvas.rect(THEME.left, height - 62, 14, 14, stroke=0, fill=1)
    canvas.setFont("Helvetica-Bold", 9)
    canvas.drawString(THEME.left + 20, height - 58.5, "InnovateCorp")
    canvas.setFont("Helvetica", 8.5)
    canvas.setFillColor(THEME.faint)
    canvas.drawRightString(width - THEME.right, height - 58.5, "Third quarter report 2023")
    canvas.setStrokeColor(NAVY)
    canvas.setLineWidth(0.7)
    canvas.line(THEME.left, height - 70, width - THEME.right, height - 70)
    canvas.drawString(THEME.left, 36, "Unaudited. Amounts in millions of US dollars unless stated otherwise.")
    canvas.drawRightString(width - THEME.right, 36, str(page))


def _cover(canvas: Canvas, width: float, height: float) -> None:
    canvas.setFillColor(NAVY)
    canvas.rect(0, 0, width, height, stroke=0, fill=1)
    canvas.setFillColor(SKY)
    for i, tall in enumerate(REVENUE):
        canvas.rect(width - 300 + i * 60, 0, 44, (tall - 36) * 26, stroke=0, fill=1)
    canvas.setFillColor(white)
    canvas.setFont("Helvetica-Bold", 15)
    canvas.drawString(72, height - 96, "InnovateCorp")
    canvas.setFont("Helvetica-Bold", 42)
    canvas.drawString(72, height - 250, "Third quarter")
    canvas.drawString(72, height - 298, "report 2023")
    canvas.setFont("Helvetica", 14)
    for i, line in enumerate(("Three months ended 30 September 2023", "Published 2 November 2023")):
        canvas.drawString(72, height - 340 - 22 * i, line)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(72, 78, "InnovateCorp, Inc. · INVC")
    canvas.drawString(72, 64, "1700 Larimer Street, Denver, Colorado")
