"""Small PDFs, drawn for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pymupdf

BODY = (
    "The harbour authority measured the tide twice a day and wrote each figure into a bound ledger. "
    "Every entry was read back by a second clerk before the page was signed and put away. "
    "In stormy weeks the clerks slept at the station, since the road along the shore was often closed. "
)
ROWS = (
    ("Region", "2021", "2022", "2023"),
    ("North", "1,204", "1,310", "1,455"),
    ("South", "880", "915", "1,002"),
    ("East", "640", "655", "701"),
    ("West", "2,118", "2,240", "2,391"),
)


def new_page(document: pymupdf.Document) -> pymupdf.Page:
    return document.new_page(width=612, height=792)


def write(page: pymupdf.Page, y: float, text: str, *, x: float = 72, width: float = 468, size: float = 11, bold=False):
    """Write wrapped text from `y` down; gives the y below it."""
    font = "hebo" if bold else "helv"
    left = page.insert_textbox((x, y, x + width, y + 400), text, fontsize=size, fontname=font, lineheight=1.3)
    assert left >= 0
    return y + 400 - left


def report(path: Path, pages: int = 1) -> Path:
    """Pages with a title, a section, a subsection and body text; a running head and a page number on each."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = new_page(document)
        page.insert_text((72, 40), f"Harbour Report, volume {number}", fontsize=8)
        page.insert_text((300, 765), str(number), fontsize=8)
        y = 80.0
        if number == 1:
            y = write(page, y, "Annual Report of the Harbour", size=24, bold=True) + 12
        y = write(page, y, f"{number} Tides", size=16, bold=True) + 8
        y = write(page, y, BODY) + 12
        y = write(page, y, f"{number}.1 Storms", size=13, bold=True) + 8
        write(page, y, f"Storm number {number} closed the road. " + BODY)
    document.save(path)
    return path


def two_columns(path: Path) -> Path:
    document = pymupdf.open()
    page = new_page(document)
    # The right column is written first: the order of the file is not the order of reading.
    write(page, 150, "RIGHT begins. " + BODY * 4 + "RIGHT ends.", x=316, width=224, size=10)
    write(page, 150, "LEFT begins. " + BODY * 4 + "LEFT ends.", x=72, width=224, size=10)
    write(page, 80, "Tides and Their Ledgers over Two Columns", size=20, bold=True)
    document.save(path)
    return path


def table(path: Path, *, ruled: bool, rows: Sequence[Sequence[str]] = ROWS) -> Path:
    document = pymupdf.open()
    page = new_page(document)
    y = write(page, 80, "Catches", size=16, bold=True) + 8
    y = write(page, y, BODY) + 20
    page.insert_text((72, y), "Table 1: Catch by region, in tonnes", fontsize=10)
    top, height, width = y + 10, 22, 117
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            font = "hebo" if number == 0 else "helv"
            page.insert_text((78 + column * width, top + number * height + 15), cell, fontsize=10, fontname=font)
    bottom, right = top + height * len(rows), 72 + width * len(rows[0])
    if ruled:
        for number in range(len(rows) + 1):
            page.draw_line((72, top + number * height), (right, top + number * height))
        for column in range(len(rows[0]) + 1):
            page.draw_line((72 + column * width, top), (72 + column * width, bottom))
    write(page, bottom + 24, BODY)
    document.save(path)
    return path


def figures(path: Path) -> Path:
    """A raster picture with its caption below, and a drawn bar chart with its caption above."""
    document = pymupdf.open()
    page = new_page(document)
    y = write(page, 72, BODY) + 16
    picture = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 200, 100), False)
    for column in range(200):
        picture.set_rect((column, 0, column + 1, 100), (column, 255 - column, 90))
    page.insert_image((150, y, 450, y + 150), pixmap=picture)
    page.insert_text((150, y + 166), "Figure 1: The harbour from the air", fontsize=10)
    y = write(page, y + 190, BODY) + 30
    page.insert_text((150, y), "Figure 2: Catch by year", fontsize=10)
    for number, high in enumerate((60, 95, 130)):
        left = 180 + 80 * number
        page.draw_rect((left, y + 160 - high, left + 50, y + 160), fill=(0.2, 0.3, 0.8), color=(0, 0, 0))
        page.insert_text((left + 10, y + 172), str(2021 + number), fontsize=8)
    page.draw_line((165, y + 160), (430, y + 160))
    page.draw_line((165, y + 20), (165, y + 160))
    write(page, y + 200, BODY)
    document.save(path)
    return path


def scan(path: Path) -> Path:
    """A page of text as pixels alone."""
    source = pymupdf.open()
    write(new_page(source), 100, "Memorandum of the harbour board. " + BODY * 2, size=14)
    document = pymupdf.open()
    page = new_page(document)
    page.insert_image(page.rect, pixmap=source[0].get_pixmap(dpi=200))
    document.save(path)
    return path


def turned_scan(path: Path, degrees: int) -> Path:
    """A page of text as pixels alone, that was laid on the scanner sideways or head down."""
    source = pymupdf.open()
    write(new_page(source), 100, "Memorandum of the harbour board. " + BODY * 3, size=14)
    pixels = source[0].get_pixmap(matrix=pymupdf.Matrix(200 / 72, 200 / 72).prerotate(degrees))
    document = pymupdf.open()
    page = document.new_page(width=pixels.width * 0.36, height=pixels.height * 0.36)
    page.insert_image(page.rect, pixmap=pixels)
    document.save(path)
    return path


def scan_with_text(path: Path) -> Path:
    """A scan over which its text lies hidden, as other OCR leaves it."""
    document = pymupdf.open(scan(path.with_name("bare.pdf")))
    hidden = "The hidden layer says what another program read on this very page of the harbour board."
    document[0].insert_textbox((72, 100, 540, 200), hidden, fontsize=11, render_mode=3)
    document.save(path)
    return path


def wrong_characters(path: Path) -> Path:
    """A page that looks right, and whose font tells private-use characters for its letters."""
    document = pymupdf.open()
    page = new_page(document)
    write(page, 100, "Memorandum of the harbour board. " + BODY * 3, size=14)
    (xref,) = [found[0] for found in page.get_fonts()]
    pairs = "\n".join(f"<{code:02x}> <{0xF000 + code:04x}>" for code in range(0x41, 0x7B))
    table = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Wrong def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange {0x7B - 0x41} beginbfchar\n{pairs}\nendbfchar\n"
        "endcmap end end"
    )
    to_unicode = document.get_new_xref()
    document.update_object(to_unicode, "<<>>")
    document.update_stream(to_unicode, table.encode())
    document.xref_set_key(xref, "ToUnicode", f"{to_unicode} 0 R")
    document.save(path)
    return path


def picture_of_text(path: Path) -> Path:
    """Body text, and a picture that says something in its pixels alone."""
    drawn = pymupdf.open()
    inner = drawn.new_page(width=300, height=150)
    inner.draw_rect(inner.rect, fill=(0.9, 0.95, 1), color=(0, 0, 0))
    inner.insert_text((40, 60), "Gangway closed", fontsize=24)
    inner.insert_text((40, 110), "in stormy weeks", fontsize=24)
    document = pymupdf.open()
    page = new_page(document)
    y = write(page, 72, BODY) + 16
    page.insert_image((150, y, 450, y + 150), pixmap=inner.get_pixmap(dpi=150))
    page.insert_text((150, y + 166), "Figure 1: A sign at the harbour", fontsize=10)
    write(page, y + 190, "As Figure 1 shows, warnings are posted. " + BODY)
    document.save(path)
    return path
