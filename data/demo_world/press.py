"""DataWeave's press release on QuantumLeap Analytics."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.colors import HexColor
from reportlab.pdfgen.canvas import Canvas

from demo_world.layout import Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

PLUM = HexColor(0x6A2C70)
THEME = Theme(
    accent=PLUM, size=10.6, leading=14.2, head_sizes=(20, 12.5, 11), first_top=122, top=88, bottom=70, left=86, right=86
)


def make(path: Path) -> None:
    """Write the press release."""
    title = "DataWeave launches QuantumLeap Analytics on InnovateCorp's cloud platform"
    Document(path, THEME, _furniture, title, "DataWeave Inc.").multiBuild(Setter(THEME, {}).story(text_of("press")))


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    canvas.setFillColor(PLUM)
    canvas.setStrokeColor(PLUM)
    if page == 1:
        _woven_mark(canvas, THEME.left, height - 92)
        canvas.setFont("Helvetica-Bold", 22)
        canvas.drawString(THEME.left + 44, height - 82, "DataWeave")
        canvas.setFont("Helvetica", 9)
        canvas.drawString(THEME.left + 45, height - 95, "an InnovateCorp company")
        canvas.drawRightString(width - THEME.right, height - 82, "245 First Street, Cambridge, MA 02142")
        canvas.drawRightString(width - THEME.right, height - 95, "dataweave.example")
    else:
        canvas.setFont("Helvetica", 9)
        canvas.drawString(THEME.left, height - 60, "DataWeave launches QuantumLeap Analytics")
    canvas.setFillColor(THEME.faint)
    canvas.setFont("Helvetica", 8.5)
    canvas.drawCentredString(width / 2, 40, f"Press release · 24 October 2023 · Page {page} of 2")


def _woven_mark(canvas: Canvas, x: float, y: float) -> None:
    canvas.setLineWidth(3.4)
    for i in range(3):
        canvas.line(x + 6 + i * 10, y, x + 6 + i * 10, y + 32)
        canvas.line(x, y + 6 + i * 10, x + 32, y + 6 + i * 10)
