"""Files that other readers fell over, and files made to harm: each ends as read, partly read and said, or refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from rag_core.errors import PdfParseError
from rag_core.parsing import Parsed, Parser
from rag_core.parsing.records import Level
from rag_core.settings import Settings
from tests.eval_data import eval_set
from tests.parsing import hostile, pdfs

SAMPLE = 12
CODES = {"not_pdf", "locked", "no_pages", "unreadable", "too_many_pages", "too_large"}


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    made = Parser(Settings(page_seconds=4, parse_workers=2))
    made.warm()
    yield made
    made.close()


def outcome(parser: Parser, path: Path, level: Level, figures: Path) -> Parsed | PdfParseError:
    try:
        return parser.parse(path, level=level, figures=figures)
    except PdfParseError as error:
        return error


def assert_said(found: Parsed | PdfParseError) -> None:
    """What was read and what was not is all accounted for, in sentences."""
    if isinstance(found, PdfParseError):
        assert found.code in CODES
        assert found.reason.endswith(".")
        assert "\n" not in str(found)
    else:
        assert len(found.page_sizes) == found.pages > 0
        assert all(1 <= failed.page <= found.pages and failed.reason for failed in found.failed)


@pytest.mark.parametrize("level", ["quick", "full"])
@pytest.mark.parametrize("make", hostile.MAKERS, ids=lambda make: make.__name__)
def test_a_file_made_to_harm_costs_its_own_pages_at_most(
    parser: Parser, tmp_path: Path, make: hostile.Maker, level: Level
) -> None:
    path = make(tmp_path / "a.pdf")
    began = time.perf_counter()
    found = outcome(parser, path, level, tmp_path / "figures")
    assert time.perf_counter() - began < 150
    assert_said(found)
    if isinstance(found, Parsed):
        assert {failed.page for failed in found.failed} <= {2}
        assert {1, 3} <= {element.place.page for element in found.elements}
    else:
        assert (make, found.code) in ((hostile.zip_archive, "not_pdf"), (hostile.many_pages, "too_many_pages"))


def test_the_other_files_of_a_batch_are_unharmed(parser: Parser, tmp_path: Path) -> None:
    bad = [make(tmp_path / f"{make.__name__}.pdf") for make in (hostile.flate_bomb, hostile.cut_off, hostile.huge_page)]
    good = [pdfs.report(tmp_path / f"good{number}.pdf", pages=4) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        read = {path: pool.submit(outcome, parser, path, "quick", tmp_path) for path in [*bad, *good]}
        for path in good:
            found = read[path].result()
            assert isinstance(found, Parsed)
            assert (found.failed, found.pages) == ((), 4)
            assert sum("closed the road" in element.text for element in found.elements) == 4


def test_a_page_that_needs_more_memory_than_there_is_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}
    parser = Parser(Settings(page_seconds=30, parse_workers=1))
    try:
        parser.parse(pdfs.report(tmp_path / "warm.pdf"), level="full", figures=tmp_path)
        (worker,) = [child for child in psutil.Process().children() if child.pid not in before]
        assert worker.rlimit(psutil.RLIMIT_AS)[0] <= 4 * 2**30
        # The limit that it has set for itself, lowered to what it has: any page is then too much.
        limit = worker.memory_info().vms
        worker.rlimit(psutil.RLIMIT_AS, (limit, limit))
        parsed = parser.parse(pdfs.figures(tmp_path / "a.pdf"), level="full", figures=tmp_path)
        after = parser.parse(pdfs.report(tmp_path / "next.pdf", pages=2), level="full", figures=tmp_path)
    finally:
        parser.close()
    (failed,) = parsed.failed
    assert failed.reason == "needs more memory than a reader may have; only its text was read"
    assert parsed.elements
    assert after.failed == ()


def test_files_that_other_readers_fell_over_are_read_or_refused(parser: Parser, tmp_path: Path) -> None:
    folder = eval_set("hostile")
    files = [json.loads(line)["name"] for line in (folder / "manifest.jsonl").read_text().splitlines()]
    work: list[tuple[str, Level]] = [(name, "quick") for name in files]
    work += [(name, "full") for name in files[:: len(files) // SAMPLE]]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one: outcome(parser, folder / "pdfs" / one[0], one[1], tmp_path), work))
    for one in found:
        assert_said(one)
    read = sum(isinstance(one, Parsed) for one in found[: len(files)])
    assert read >= 0.8 * len(files), "most of them can be read"
