from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from rag_core.parsing import Parsed
from tests.parsing import pdfs

Read = Callable[..., Parsed]


def of_kind(parsed: Parsed, kind: str) -> list[str]:
    return [element.text for element in parsed.elements if element.kind == kind]


def test_headings_make_section_paths_over_pages(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.report(tmp_path / "report.pdf", pages=3))
    storm = next(element for element in parsed.elements if element.text.startswith("Storm number 2"))
    assert storm.section == ("Annual Report of the Harbour", "2 Tides", "2.1 Storms")
    assert storm.place.page == 2


def test_running_heads_and_page_numbers_are_told_from_text(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.report(tmp_path / "report.pdf", pages=4))
    assert of_kind(parsed, "header") == [f"Harbour Report, volume {number}" for number in range(1, 5)]
    assert of_kind(parsed, "footer") == ["1", "2", "3", "4"]


def test_two_columns_are_read_one_after_the_other_under_their_title(tmp_path: Path, read: Read) -> None:
    text = " ".join(element.text for element in read(pdfs.two_columns(tmp_path / "columns.pdf")).elements)
    marks = ["Tides and Their Ledgers", "LEFT begins", "LEFT ends", "RIGHT begins", "RIGHT ends"]
    assert sorted(marks, key=text.index) == marks


def test_a_word_broken_at_the_end_of_a_line_is_mended(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = pdfs.new_page(document)
    lines = ["It is an auto-", "matic gauge of long-", "term tides, a long-term re\u00ad", "cord of the harbour."]
    for number, line in enumerate(lines):
        page.insert_text((72, 100 + 14 * number), line, fontsize=11)
    document.save(tmp_path / "broken.pdf")
    (element,) = read(tmp_path / "broken.pdf").elements
    assert element.text == "It is an automatic gauge of long-term tides, a long-term record of the harbour."


def test_text_of_other_scripts_comes_out_as_it_is(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    document.new_page().insert_htmlbox((72, 72, 500, 300), "<p>Größe Ωμέγα 東京 Привет – naïve</p>")
    document.save(tmp_path / "scripts.pdf")
    assert "Größe Ωμέγα 東京 Привет – naïve" in " ".join(
        element.text for element in read(tmp_path / "scripts.pdf").elements
    )


def test_boxes_of_a_rotated_page_are_as_it_is_displayed(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    page = document.new_page(width=400, height=600)
    page.insert_text((350, 500), "Sideways", rotate=90)  # upright once the page is turned
    page.set_rotation(90)
    document.save(tmp_path / "rotated.pdf")
    parsed = read(tmp_path / "rotated.pdf")
    (box,) = parsed.elements[0].place.boxes
    assert parsed.page_sizes == ((600, 400),)
    assert (box.x0, box.y0) == pytest.approx((100, 340), abs=16)
    assert box.x1 - box.x0 > 2 * (box.y1 - box.y0)


def test_the_same_file_gives_the_same_ids_and_no_id_comes_twice(tmp_path: Path, read: Read) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=3)
    first, second = ([element.id for element in read(path).elements] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_a_page_without_text_is_no_failure(tmp_path: Path, read: Read) -> None:
    document = pymupdf.open()
    document.new_page()
    document.save(tmp_path / "blank.pdf")
    parsed = read(tmp_path / "blank.pdf")
    assert (parsed.pages, parsed.elements, parsed.failed) == (1, (), ())
