"""Meridian's market report: two columns, and a chart that is a picture."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.colors import HexColor, white
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Image as Picture

from demo_world.layout import FONTS, Document, Theme
from demo_world.markup import Setter
from demo_world.words import text_of

GREEN = HexColor(0x1F5C4A)
THEME = Theme(
    accent=GREEN, size=10.2, leading=13.8, head_sizes=(22, 12, 10), columns=2, gutter=22,
    left=54, right=54, top=78, bottom=72, first_top=158,
)  # fmt: skip
GROWTH = (
    ("Streaming analytics", 39),
    ("Machine-learning platforms", 31),
    ("Data catalogs", 26),
    ("Data warehousing", 17),
    ("Business intelligence", 12),
)


def make(path: Path) -> None:
    """Write the market report."""
    story = Setter(THEME, {"growth": _growth}).story(text_of("market"))
    title = "Data & AI Quarterly: data analytics in the third quarter of 2023"
    Document(path, THEME, _furniture, title, "Meridian Insight Research").multiBuild(story)


def _growth(width: float) -> Picture:
    picture = BytesIO()
    # A JPEG is embedded as it is, where a PNG would be packed again by the machine's zlib.
    _growth_pixels().save(picture, "JPEG", quality=88, subsampling=0)
    return Picture(picture, width, width * 0.72)


def _growth_pixels() -> Image.Image:
    plain, bold = (ImageFont.truetype(str(FONTS / f"{name}.ttf"), 26, layout_engine=ImageFont.Layout.BASIC)
                   for name in ("Vera", "VeraBd"))  # fmt: skip
    image = Image.new("RGB", (1000, 720), "#f3f7f5")
    draw = ImageDraw.Draw(image)
    draw.text((30, 24), "Growth of spending, percent", font=bold, fill="#1f5c4a")
    for i, (name, percent) in enumerate(GROWTH):
        y = 90 + i * 120
        draw.text((30, y), name, font=plain, fill="#222222")
        draw.rectangle((30, y + 42, 30 + percent * 21, y + 88), fill="#1f5c4a" if i == 0 else "#7fb3a0")
        draw.text((46 + percent * 21, y + 50), f"{percent} %", font=bold, fill="#222222")
    draw.line((30, 84, 30, 690), fill="#222222", width=3)
    return image


def _furniture(canvas: Canvas, page: int) -> None:
    width, height = THEME.page
    canvas.setFillColor(GREEN)
    if page == 1:
        canvas.rect(0, height - 130, width, 130, stroke=0, fill=1)
        canvas.setFillColor(white)
        canvas.setFont("Times-Bold", 32)
        canvas.drawString(THEME.left, height - 74, "Data & AI Quarterly")
        canvas.setFont("Helvetica", 10)
        canvas.drawString(THEME.left, height - 100, "Market report · Third quarter of 2023 · 7 November 2023")
        canvas.drawRightString(width - THEME.right, height - 100, "Claire Duvall and Rahul Menon")
        canvas.setFont("Helvetica-Bold", 10)
        canvas.drawRightString(width - THEME.right, height - 66, "MERIDIAN INSIGHT RESEARCH")
    else:
        canvas.setFont("Helvetica-Bold", 8.5)
        canvas.drawString(THEME.left, height - 50, "MERIDIAN INSIGHT RESEARCH")
        canvas.setFont("Helvetica", 8.5)
        canvas.drawRightString(width - THEME.right, height - 50, "Data & AI Quarterly, Q3 2023")
        canvas.setStrokeColor(GREEN)
        canvas.line(THEME.left, height - 58, width - THEME.right, height - 58)
    canvas.setFillColor(THEME.faint)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(THEME.left, 40, "© 2023 Meridian Insight Research. For subscribers; not for redistribution.")
    canvas.drawRightString(width - THEME.right, 40, f"Page {page}")
