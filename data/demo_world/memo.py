"""The board memo as a scan: a typed page drawn in pixels, laid a little askew, with the grain of a copier.

Only integers move pixels, and chance comes from a seeded generator, so every machine draws the same page.
"""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFont
from reportlab.lib.pagesizes import letter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from demo_world.layout import FONTS

DPI = 200
SIZE = (1700, 2200)
LEFT, RIGHT, TOP = 210, 1490, 250
LINE = 45
# Typefaces of reportlab's own: `er` is its Times, `eb` the bold one.
FACES = {
    "plain": ("_er_____.pfb", 33),
    "bold": ("_eb_____.pfb", 33),
    "head": ("_eb_____.pfb", 46),
    "hand": ("callig15.pfb", 88),
}
SKEWS = (14, -9, 6)  # thousandths of a radian, one a page


def make(path: Path) -> None:
    """Write the memo: every page one JPEG, no text layer."""
    text = (Path(__file__).parent / "text" / "memo.txt").read_text(encoding="utf-8")
    canvas = Canvas(str(path), pagesize=letter, invariant=1, pageCompression=0)
    canvas.setTitle("scan0047")
    for number, page in enumerate(text.split("\n~\n"), start=1):
        canvas.drawImage(ImageReader(_scan(_typed(page, number), number)), 0, 0, *letter)
        canvas.showPage()
    canvas.save()


def _font(face: str) -> ImageFont.FreeTypeFont:
    file, size = FACES[face]
    return ImageFont.truetype(str(FONTS / file), size, layout_engine=ImageFont.Layout.BASIC)


def _typed(text: str, number: int) -> Image.Image:
    page = Image.new("L", SIZE, 255)
    draw = ImageDraw.Draw(page)
    y = _letterhead(draw) if number == 1 else TOP
    for paragraph in text.strip().split("\n"):
        y = _paragraph(draw, paragraph, y)
    if number == 3:
        _signatures(draw, y + 60)
    draw.text((SIZE[0] // 2, 2090), f"- {number} -", font=_font("plain"), fill=40, anchor="ms")
    return page


def _letterhead(draw: ImageDraw.ImageDraw) -> int:
    draw.text((LEFT, 150), "INNOVATECORP, INC.", font=_font("head"), fill=20)
    draw.text((RIGHT, 190), "Office of the Chief Executive", font=_font("plain"), fill=40, anchor="rs")
    draw.line((LEFT, 222, RIGHT, 222), fill=30, width=4)
    draw.text((LEFT, 262), "MEMORANDUM", font=_font("head"), fill=20)
    draw.rectangle((1070, 252, RIGHT, 322), outline=60, width=5)
    draw.text((1280, 300), "STRICTLY CONFIDENTIAL", font=_font("plain"), fill=60, anchor="ms")
    return 370


def _paragraph(draw: ImageDraw.ImageDraw, text: str, y: int) -> int:
    if "\t" in text:
        label, value = text.split("\t")
        draw.text((LEFT, y), label, font=_font("bold"), fill=25)
        draw.text((LEFT + 210, y), value, font=_font("plain"), fill=25)
        return y + LINE
    font = _font("bold" if text[:1].isdigit() or text.isupper() or text.startswith("Item") else "plain")
    for line in _wrapped(text, font):
        draw.text((LEFT, y), line, font=font, fill=25)
        y += LINE
    return y if text else y + LINE // 2


def _wrapped(text: str, font: ImageFont.FreeTypeFont) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= RIGHT - LEFT:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _signatures(draw: ImageDraw.ImageDraw, y: int) -> None:
    for x, name, role in ((LEFT, "Ruth Adeyemi", "Chair"), (900, "Kenji Watanabe", "Secretary to the board")):
        draw.text((x + 20, y + 70), name, font=_font("hand"), fill=50, anchor="ls")
        draw.line((x, y + 100, x + 520, y + 100), fill=60, width=2)
        draw.text((x, y + 115), f"{name}, {role}", font=_font("plain"), fill=30)


def _scan(page: Image.Image, number: int) -> BytesIO:
    grain = Image.frombytes("L", SIZE, random.Random(number).randbytes(SIZE[0] * SIZE[1]))
    grain = grain.point([236 + value // 16 for value in range(256)])
    paper = ImageChops.multiply(_askew(page, SKEWS[number - 1]), grain)
    for x in range(26):  # the shadow of the lid along the left edge
        shade = 120 + x * 4
        paper.paste(paper.crop((x, 0, x + 1, SIZE[1])).point([value * shade // 255 for value in range(256)]), (x, 0))
    scan = BytesIO()
    paper.save(scan, "JPEG", quality=34, dpi=(DPI, DPI))
    scan.seek(0)
    return scan


def _askew(page: Image.Image, thousandths: int) -> Image.Image:
    """Turn the page by a small angle: rows move sideways, then columns up or down, by whole pixels."""
    width, height = page.size
    slanted = Image.new("L", page.size, 255)
    for y in range(height):
        slanted.paste(page.crop((0, y, width, y + 1)), ((y - height // 2) * thousandths // 1000, y))
    turned = Image.new("L", page.size, 255)
    for x in range(width):
        turned.paste(slanted.crop((x, 0, x + 1, height)), (x, -(x - width // 2) * thousandths // 1000))
    return turned
