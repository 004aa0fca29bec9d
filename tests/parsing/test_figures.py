from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pymupdf

from rag_core.parsing import Parsed
from tests.parsing import pdfs

Read = Callable[..., Parsed]


def figures(parsed: Parsed) -> list[tuple[tuple[float, ...], str]]:
    """Each figure's box, rounded to ten points, with its caption."""
    return [
        (
            tuple(round(edge, -1) for edge in after.place.boxes[0].model_dump().values()),
            before.text if before.kind == "caption" else "",
        )
        for before, after in pairwise(parsed.elements)
        if after.kind == "figure"
    ]


def picture(colour: tuple[int, int, int] = (30, 90, 160)) -> pymupdf.Pixmap:
    """A raster chart: bars on white."""
    drawn = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 200, 100), False)
    drawn.clear_with(255)
    for number in range(6):
        drawn.set_rect((20 + 28 * number, 80 - 10 * number, 40 + 28 * number, 90), colour)
    return drawn


def test_charts_that_touch_but_have_headings_of_their_own_stay_apart(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    y = pdfs.write(page, 72, pdfs.BODY) + 40
    for number, heading in enumerate(("Revenues in 2021", "Cash flow in 2021")):
        left = 100 + 200 * number
        page.insert_text((left + 50, y - 5), heading, fontsize=9, fontname="hebo")
        page.insert_image((left, y, left + 200, y + 100), pixmap=picture((30 * number, 90, 160)))
    pdfs.write(page, y + 140, pdfs.BODY)
    document.save(tmp_path / "charts.pdf")
    found = figures(read(tmp_path / "charts.pdf", "full"))
    assert [caption for _, caption in found] == ["Revenues in 2021", "Cash flow in 2021"]
    assert [box[2] - box[0] for box, _ in found] == [200, 200]


def test_the_tiles_of_one_picture_are_one_figure(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    y = pdfs.write(page, 72, pdfs.BODY) + 20
    for number in range(4):
        page.insert_image((100, y + 40 * number, 400, y + 40 * number + 40), pixmap=picture((30 * number, 90, 160)))
    page.insert_text((100, y + 176), "Figure 1: The harbour", fontsize=10)
    pdfs.write(page, y + 200, pdfs.BODY)
    document.save(tmp_path / "tiles.pdf")
    ((box, caption),) = figures(read(tmp_path / "tiles.pdf", "full"))
    assert (box[3] - box[1], caption) == (160, "Figure 1: The harbour")


def test_panels_beside_and_above_each_other_under_one_caption_are_one_figure(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    y = pdfs.write(page, 72, pdfs.BODY) + 20
    for row in range(2):
        for column in range(2):
            left, top = 80 + 230 * column, y + 115 * row
            page.insert_image((left, top, left + 200, top + 100), pixmap=picture((30 * row, 90, 80 * column)))
    page.insert_textbox((80, y + 225, 520, y + 260), "Figure 1: Four harbours and their tides over the years.")
    pdfs.write(page, y + 270, pdfs.BODY)
    document.save(tmp_path / "panels.pdf")
    ((box, caption),) = figures(read(tmp_path / "panels.pdf", "full"))
    assert (box[2] - box[0], caption[:8]) == (430, "Figure 1")
    assert 210 <= box[3] - box[1] <= 220


def test_a_logo_on_many_pages_is_no_figure(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    for number in range(6):
        page = pdfs.new_page(document)
        page.insert_image((60, 20, 160, 70), pixmap=picture())
        pdfs.write(page, 100, f"Page {number}. " + pdfs.BODY * 3)
    document.save(tmp_path / "logo.pdf", garbage=4)
    assert figures(read(tmp_path / "logo.pdf", "full")) == []


def test_body_text_on_a_picture_that_fills_the_page_stays_text(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    page.insert_image(page.rect, pixmap=picture((220, 230, 240)))
    pdfs.write(page, 100, pdfs.BODY * 3)
    document.save(tmp_path / "background.pdf")
    parsed = read(tmp_path / "background.pdf", "full")
    assert "bound ledger" in " ".join(element.text for element in parsed.elements if element.kind == "text")


def test_a_chart_on_a_scan_is_cropped(tmp_path: Path, read: Read) -> None:
    source = pymupdf.open()
    page = pdfs.new_page(source)
    y = pdfs.write(page, 72, pdfs.BODY) + 20
    page.insert_image((150, y, 450, y + 150), pixmap=picture())
    page.insert_text((150, y + 172), "Figure 1: Catch by year", fontsize=12)
    pdfs.write(page, y + 200, pdfs.BODY)
    document = pymupdf.open()
    pdfs.new_page(document).insert_image(page.rect, pixmap=page.get_pixmap(dpi=200))
    document.save(tmp_path / "scan.pdf")
    ((box, caption),) = figures(read(tmp_path / "scan.pdf", "full"))
    assert caption == "Figure 1: Catch by year"
    assert box[0] >= 150
    assert box[2] <= 450


def test_a_frame_drawn_around_text_over_a_caption_is_the_figure_with_that_text(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    y = pdfs.write(page, 72, pdfs.BODY) + 20
    page.draw_rect((72, y, 540, y + 90), color=(0, 0.3, 0.6), radius=0.05)
    code = "The clerk asked for the tide of the day, and the ledger answered with the figure of the storm. " * 3
    pdfs.write(page, y + 10, code, x=90, width=430, size=10)
    page.insert_text((72, y + 112), "Figure 6: A question to the ledger", fontsize=10)
    pdfs.write(page, y + 140, pdfs.BODY)
    document.save(tmp_path / "frame.pdf")
    parsed = read(tmp_path / "frame.pdf", "full")
    ((_, caption),) = figures(parsed)
    (figure,) = [element for element in parsed.elements if element.kind == "figure"]
    running = " ".join(element.text for element in parsed.elements if element.kind == "text")
    assert caption == "Figure 6: A question to the ledger"
    assert "the ledger answered" in figure.text
    assert "the ledger answered" not in running
    assert running.count("The harbour authority measured") == 2
