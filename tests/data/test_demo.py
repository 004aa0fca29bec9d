"""The demo documents are what `make_demo.py` writes, and its questions can be answered from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pymupdf
import pytest

DATA = Path(__file__).parents[2] / "data"
DEMO = DATA / "demo"
SCAN = "board-memo-scan.pdf"
PAGES = {
    "innovatecorp-q3-2023-report.pdf": 12,
    "dataweave-press-release.pdf": 2,
    "meridian-market-report.pdf": 5,
    "project-titan-user-study.pdf": 6,
    "product-roadmap-q3-2023.pdf": 4,
    SCAN: 3,
    "employee-handbook.pdf": 40,
}
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
QUOTABLE = [row for row in QUESTIONS if row["kind"] in {"lookup", "table"}]


def page_text(name: str, page: int) -> str:
    with pymupdf.open(DEMO / name) as document:
        return " ".join(str(document[page - 1].get_text()).split())


def ocr_text(name: str, page: int) -> str:
    if shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    with pymupdf.open(DEMO / name) as document:
        png = document[page - 1].get_pixmap(dpi=200).tobytes("png")
    one_thread = os.environ | {"OMP_THREAD_LIMIT": "1"}  # its threads slow each other down on small machines
    done = subprocess.run(["tesseract", "-", "-"], input=png, capture_output=True, check=True, env=one_thread)
    return " ".join(done.stdout.decode("utf-8").split())


def test_making_the_documents_again_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(DATA / "make_demo.py"), "--out", str(tmp_path)], check=True, capture_output=True
    )
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in DEMO.glob("*.pdf")} == set(PAGES)
    assert [name for name in made if (tmp_path / name).read_bytes() != (DEMO / name).read_bytes()] == []


@pytest.mark.parametrize(("name", "pages"), PAGES.items())
def test_a_document_has_its_pages_and_only_the_scan_has_no_text(name: str, pages: int) -> None:
    with pymupdf.open(DEMO / name) as document:
        assert len(document) == pages
        lengths = [len(str(page.get_text()).strip()) for page in document]
    assert all(length == 0 for length in lengths) if name == SCAN else all(length > 50 for length in lengths)


def test_the_documents_stay_small() -> None:
    assert sum(path.stat().st_size for path in DEMO.iterdir()) < 3_000_000


def test_the_handbook_has_headings_three_levels_deep() -> None:
    with pymupdf.open(DEMO / "employee-handbook.pdf") as document:
        assert {level for level, *_ in document.get_toc()} == {1, 2, 3}


def test_the_chart_of_the_market_report_is_a_picture() -> None:
    with pymupdf.open(DEMO / "meridian-market-report.pdf") as document:
        assert len(document[0].get_images()) == 1
    assert "39 %" not in page_text("meridian-market-report.pdf", 1)


def test_the_press_release_does_not_name_the_price() -> None:
    assert "1.2 billion" not in " ".join(page_text("dataweave-press-release.pdf", page) for page in (1, 2))


def test_questions_are_unique_and_of_every_kind() -> None:
    assert len({row["id"] for row in QUESTIONS}) == len({row["question"] for row in QUESTIONS}) == len(QUESTIONS) >= 48
    kinds = Counter(row["kind"] for row in QUESTIONS)
    answerable = ("lookup", "table", "figure", "multi-hop", "comparison", "relation", "summary")
    assert set(kinds) == {*answerable, "unanswerable"}
    assert min(kinds[kind] for kind in answerable) >= 5
    assert kinds["unanswerable"] >= 6


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row["id"])
def test_a_question_has_answers_and_existing_evidence_unless_unanswerable(row: dict[str, Any]) -> None:
    assert set(row) == {"id", "question", "answers", "evidence", "kind"}
    answerable = row["kind"] != "unanswerable"
    assert bool(row["answers"]) == bool(row["evidence"]) == answerable
    assert all(1 <= place["page"] <= PAGES[place["document"]] for place in row["evidence"])


@pytest.mark.parametrize("row", QUOTABLE, ids=lambda row: row["id"])
def test_the_answer_stands_on_each_page_of_its_evidence(row: dict[str, Any]) -> None:
    for place in row["evidence"]:
        read = ocr_text if place["document"] == SCAN else page_text
        text = read(place["document"], place["page"])
        assert any(answer in text for answer in row["answers"]), text
