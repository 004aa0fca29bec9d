from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.parsing import Parsed, Parser
from rag_core.settings import Settings
from tests.parsing import pdfs

Read = Callable[..., Parsed]

pytestmark = pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")


def text_of(parsed: Parsed) -> str:
    return " ".join(element.text for element in parsed.elements)


def test_a_scan_says_how_sure_its_text_is(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.scan(tmp_path / "scan.pdf"), "full")
    assert parsed.ocr[1].reason == "scan"
    assert 0.85 < parsed.ocr[1].confidence <= 1


def test_a_page_of_text_is_not_read_by_ocr(tmp_path: Path, read: Read) -> None:
    assert read(pdfs.report(tmp_path / "report.pdf"), "full").ocr == {}


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_scan_is_read_and_its_boxes_lie_on_the_page_as_shown(tmp_path: Path, read: Read, degrees: int) -> None:
    parsed = read(pdfs.turned_scan(tmp_path / "scan.pdf", degrees), "full")
    assert "Memorandum of the harbour board" in text_of(parsed)
    (size,) = parsed.page_sizes
    (box,) = parsed.elements[0].place.boxes
    assert 0 <= box.x0 < box.x1 <= size[0]
    assert 0 <= box.y0 < box.y1 <= size[1]
    # The first lines stand at the left, the bottom or the right.
    middle = ((box.x0 + box.x1) / 2 / size[0], (box.y0 + box.y1) / 2 / size[1])
    assert {90: middle[0] > 0.6, 180: middle[1] > 0.6, 270: middle[0] < 0.4}[degrees]


def test_a_hidden_text_layer_is_kept(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.scan_with_text(tmp_path / "scan.pdf"), "full")
    assert "another program read" in text_of(parsed)
    assert parsed.ocr == {}


def test_a_page_whose_font_gives_wrong_characters_is_read_by_ocr(tmp_path: Path, read: Read) -> None:
    path = pdfs.wrong_characters(tmp_path / "wrong.pdf")
    assert "harbour" not in text_of(read(path, "quick"))
    parsed = read(path, "full")
    assert "Memorandum of the harbour board" in text_of(parsed)
    assert parsed.ocr[1].reason == "characters"


def test_what_a_picture_says_is_read_and_said_to_be_ocr(tmp_path: Path, read: Read) -> None:
    parsed = read(pdfs.picture_of_text(tmp_path / "picture.pdf"), "full")
    (figure,) = [element for element in parsed.elements if element.kind == "figure"]
    assert figure.text.splitlines() == ["Text in the picture, by OCR:", "Gangway closed", "in stormy weeks"]


def test_a_picture_is_read_once(tmp_path: Path, read: Read) -> None:
    path = pdfs.picture_of_text(tmp_path / "picture.pdf")
    read(path, "full")
    (kept,) = (tmp_path / "figures").glob("*.tesseract.eng.txt")
    kept.write_text("as it was kept", encoding="utf-8")
    assert "as it was kept" in text_of(read(path, "full"))


def test_a_language_that_is_not_installed_is_named_with_what_to_do(tmp_path: Path) -> None:
    parser = Parser(Settings(ocr_languages="eng+tlh"))
    parsed = parser.parse(pdfs.scan(tmp_path / "scan.pdf"), level="full", figures=tmp_path)
    parser.close()
    (failed,) = parsed.failed
    assert "'tlh'" in failed.reason
    assert "RAGSCOPE_OCR_LANGUAGES to some of: eng" in failed.reason


def test_an_engine_that_is_not_installed_is_named_with_what_to_do(tmp_path: Path) -> None:
    parser = Parser(Settings(ocr_engine="rapidocr"))
    parsed = parser.parse(pdfs.scan(tmp_path / "scan.pdf"), level="full", figures=tmp_path)
    parser.close()
    (failed,) = parsed.failed
    assert "pip install rapidocr" in failed.reason
