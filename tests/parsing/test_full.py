from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pymupdf
import pytest

from rag_core.parsing import Parsed, Parser
from rag_core.parsing.tables import read_html
from rag_core.settings import Settings
from rag_core.types import Element
from tests.parsing import pdfs

Read = Callable[..., Parsed]


def only(parsed: Parsed, kind: str) -> Element:
    (found,) = [element for element in parsed.elements if element.kind == kind]
    return found


def caption_of(parsed: Parsed, owner: Element) -> str:
    (before,) = [before for before, after in pairwise(parsed.elements) if after is owner]
    assert before.kind == "caption"
    return before.text


def cells(element: Element) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row) for row in read_html(element.html or "")]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_comes_with_its_cells_its_caption_and_its_section(tmp_path: Path, read: Read, ruled: bool) -> None:
    parsed = read(pdfs.table(tmp_path / "table.pdf", ruled=ruled), "full")
    table = only(parsed, "table")
    assert cells(table) == [tuple(row) for row in pdfs.ROWS]
    assert table.text.splitlines()[1] == "North | 1,204 | 1,310 | 1,455"
    assert caption_of(parsed, table) == "Table 1: Catch by region, in tonnes"
    assert table.section == ("Catches",)


def test_text_of_a_table_stands_nowhere_else_and_text_around_it_is_kept(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.table(tmp_path / "table.pdf", ruled=True), "full")
    running = " ".join(element.text for element in parsed.elements if element.kind != "table")
    assert "1,204" not in running
    assert running.count("The harbour authority measured") == 2


def test_figures_are_cropped_with_their_captions_below_and_above(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.figures(tmp_path / "figures.pdf"), "full")
    picture, chart = [element for element in parsed.elements if element.kind == "figure"]
    assert caption_of(parsed, picture) == "Figure 1: The harbour from the air"
    assert caption_of(parsed, chart) == "Figure 2: Catch by year"
    assert "2022" in chart.text
    for figure in (picture, chart):
        crop = pymupdf.Pixmap(str(tmp_path / "figures" / str(figure.image)))
        (box,) = figure.place.boxes
        assert crop.width / crop.height == pytest.approx((box.x1 - box.x0) / (box.y1 - box.y0), rel=0.05)


def test_layout_tells_headings_headers_and_text_apart(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.report(tmp_path / "report.pdf", pages=3), "full")
    storm = next(element for element in parsed.elements if element.text.startswith("Storm number 2"))
    assert storm.section[-2:] == ("2 Tides", "2.1 Storms")
    assert {element.text for element in parsed.elements if element.kind == "footer"} == {"1", "2", "3"}


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_a_scan_is_read_with_its_boxes(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.scan(tmp_path / "scan.pdf"), "full")
    text = " ".join(element.text for element in parsed.elements)
    assert "Memorandum of the harbour board" in text
    assert "slept at the station" in text
    (box,) = parsed.elements[0].place.boxes
    assert (box.x0, box.y0) == pytest.approx((72, 100), abs=10)


def test_a_scan_without_tesseract_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    parser = Parser(Settings())
    parsed = parser.parse(pdfs.scan(tmp_path / "scan.pdf"), level="full", figures=tmp_path)
    parser.close()
    (failed,) = parsed.failed
    assert (failed.page, "apt install tesseract-ocr" in failed.reason) == (1, True)


def test_a_page_of_many_thousand_paths_is_read_in_time(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    content = "".join(
        f"{x % 500 + 50} {y + 200} m {x % 500 + 60} {y + 205} l S\n" for x in range(400) for y in range(100)
    )
    pdfs.write(page, 72, pdfs.BODY)
    xref = document.get_new_xref()
    document.update_object(xref, "<<>>")
    document.update_stream(xref, content.encode())
    page.clean_contents()
    document.xref_set_key(page.xref, "Contents", f"[{page.get_contents()[0]} 0 R {xref} 0 R]")
    document.save(tmp_path / "paths.pdf")
    parsed = read(tmp_path / "paths.pdf", "full")
    assert parsed.failed == ()
    assert "bound ledger" in parsed.elements[0].text
