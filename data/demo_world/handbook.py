"""InnovateCorp's employee handbook, forty pages."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.colors import HexColor, white
from reportlab.pdfgen.canvas import Canvas

from demo_world.layout import Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

FOREST, SAND = HexColor(0x22483B), HexColor(0xE8DFC8)
THEME = Theme(
    accent=FOREST, size=11, leading=16, head_sizes=(21, 13.5, 11), page=(504, 684),
    left=62, right=62, top=76, bottom=70, first_top=76,
)  # fmt: skip


def make(path: Path) -> None:
    """Write the handbook; page 1 is its cover."""
    story = Setter(THEME, {}).story(text_of("handbook"))
    Document(path, THEME, _furniture, "InnovateCorp Employee Handbook", "People Operations").multiBuild(story)


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    if page == 1:
        _cover(canvas, width, height)
        return
    canvas.setFillColor(THEME.faint)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(THEME.left, height - 46, "Employee Handbook")
    canvas.drawRightString(width - THEME.right, height - 46, "Ninth edition, September 2023")
    canvas.setStrokeColor(SAND)
    canvas.setLineWidth(1.5)
    canvas.line(THEME.left, height - 54, width - THEME.right, height - 54)
    canvas.setFont("Helvetica-Bold", 9)
    canvas.setFillColor(FOREST)
    # A bound book has its numbers on the outer edge.
    if page % 2:
        canvas.drawRightString(width - THEME.right, 36, str(page))
    else:
        canvas.drawString(THEME.left, 36, str(page))


def _cover(canvas: Canvas, width: float, height: float) -> None:
    canvas.setFillColor(SAND)
    canvas.rect(0, 0, width, height, stroke=0, fill=1)
    canvas.setFillColor(FOREST)
    canvas.rect(0, 0, width, 230, stroke=0, fill=1)
    canvas.setFont("Times-Bold", 44)
    canvas.drawString(THEME.left, height - 190, "How we work")
    canvas.setFont("Helvetica", 16)
    canvas.drawString(THEME.left, height - 224, "Employee Handbook")
    canvas.setFillColor(white)
    canvas.setFont("Helvetica-Bold", 13)
    canvas.drawString(THEME.left, 110, "InnovateCorp")
    canvas.setFont("Helvetica", 10)
    canvas.drawString(THEME.left, 90, "Ninth edition · valid from 1 September 2023")
    canvas.drawString(THEME.left, 74, "Denver · Rotterdam · Singapore")
