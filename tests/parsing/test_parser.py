from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pymupdf
import pytest

from rag_core.errors import PdfParseError, Stopped
from rag_core.parsing import Parsed, Parser
from rag_core.settings import Settings
from tests.parsing import pdfs


def error_of(call: Callable[[], object]) -> PdfParseError:
    with pytest.raises(PdfParseError) as caught:
        call()
    return caught.value


def readers(since: set[int]) -> list[psutil.Process]:
    """The worker processes started after `since` was taken."""
    return [child for child in psutil.Process().children() if child.pid not in since]


@pytest.fixture
def before() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.fixture
def own(before: set[int]) -> Iterator[Parser]:
    made = Parser(Settings(page_seconds=6, parse_workers=1))
    yield made
    made.close()


def locked(path: Path) -> Path:
    document = pymupdf.open()
    pdfs.write(pdfs.new_page(document), 72, pdfs.BODY)
    document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="tide", owner_pw="master")
    return path


def no_pages(path: Path) -> Path:
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
        b"trailer\n<</Root 1 0 R/Size 3>>\n%%EOF\n"
    )
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda folder: written(folder / "a.pdf", b""), "empty"),
        (lambda folder: written(folder / "a.pdf", b"<html><p>Not found</p></html>"), "not_pdf"),
        (lambda folder: written(folder / "a.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 40), "unreadable"),
        (lambda folder: no_pages(folder / "a.pdf"), "no_pages"),
        (lambda folder: locked(folder / "a.pdf"), "locked"),
        (lambda folder: folder / "gone.pdf", "unreadable"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, parser: Parser, make: Callable[[Path], Path], code: str
) -> None:
    path = make(tmp_path)
    errors = [
        error_of(lambda: parser.inspect(path)),
        error_of(lambda: parser.parse(path, level="quick", figures=tmp_path)),
    ]
    assert [error.code for error in errors] == [code, code]
    assert str(errors[0]).startswith(f"{path.name}: ")
    assert str(errors[0]).endswith(".")


def test_a_picture_that_is_called_pdf_is_no_pdf(tmp_path: Path, parser: Parser) -> None:
    path = tmp_path / "picture.pdf"
    pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 20, 20), False).save(path, output="png")
    assert error_of(lambda: parser.inspect(path)).code == "not_pdf"


def test_a_locked_file_opens_with_its_password_alone(tmp_path: Path, parser: Parser) -> None:
    path = locked(tmp_path / "locked.pdf")
    assert error_of(lambda: parser.inspect(path, "ebb")).code == "wrong_password"
    parsed = parser.parse(path, level="quick", figures=tmp_path, password="tide")
    assert "bound ledger" in parsed.elements[0].text
    assert parser.render(path, 1, password="tide").startswith(b"\x89PNG")


def test_files_over_the_limits_are_refused_with_the_setting_that_says_so(tmp_path: Path) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=3)
    large = written(tmp_path / "large.pdf", path.read_bytes() + b"\n" * 1_000_000)
    small = Parser(Settings(max_pages=2, max_file_mb=1))
    pages, size = error_of(lambda: small.inspect(path)), error_of(lambda: small.inspect(large))
    small.close()
    assert (pages.code, size.code) == ("too_many_pages", "too_large")
    assert "RAGSCOPE_MAX_PAGES" in str(pages)
    assert "RAGSCOPE_MAX_FILE_MB" in str(size)


def test_facts_have_pages_title_and_sizes_as_displayed(tmp_path: Path, parser: Parser) -> None:
    document = pymupdf.open()
    document.new_page(width=300, height=500).set_rotation(90)
    document.set_metadata({"title": "Tides"})
    document.save(tmp_path / "a.pdf")
    facts = parser.inspect(tmp_path / "a.pdf")
    assert (facts.pages, facts.title, facts.page_sizes) == (1, "Tides", ((500, 300),))


def test_a_page_is_drawn_at_the_asked_size_and_a_huge_one_smaller(tmp_path: Path, parser: Parser) -> None:
    document = pymupdf.open()
    document.new_page(width=300, height=400)
    document.new_page(width=14_000, height=14_000)
    document.save(tmp_path / "a.pdf")
    small, huge = (pymupdf.Pixmap(parser.render(tmp_path / "a.pdf", page, dpi=144)) for page in (1, 2))
    assert (small.width, small.height) == (600, 800)
    assert 2_000 < huge.width <= 4_000
    assert error_of(lambda: parser.render(tmp_path / "a.pdf", 3)).code == "no_such_page"


def parsed_with(own: Parser, path: Path, tmp_path: Path, at_page: int, act: Callable[[], object]) -> Parsed:
    """Read a document in full, and do something once when `at_page` is done."""
    left = [act]

    def on_page(done: int, pages: int) -> None:
        if done == at_page and left:
            left.pop()()

    return own.parse(path, level="full", figures=tmp_path, on_page=on_page)


def test_when_a_worker_dies_its_page_is_named_and_the_others_are_read(
    tmp_path: Path, own: Parser, before: set[int]
) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=6)
    parsed = parsed_with(own, path, tmp_path, 1, lambda: [reader.kill() for reader in readers(before)])
    (failed,) = parsed.failed
    assert failed.page in (2, 3)  # the worker may be a page ahead
    assert failed.reason == "crashed the reader; only its text was read"
    assert {element.place.page for element in parsed.elements} == {1, 2, 3, 4, 5, 6}


def test_a_page_whose_worker_gets_no_processor_is_waited_for(tmp_path: Path, own: Parser, before: set[int]) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=5)

    def starve() -> None:
        held = readers(before)
        for reader in held:
            reader.send_signal(signal.SIGSTOP)
        threading.Timer(7.5, lambda: [reader.send_signal(signal.SIGCONT) for reader in held]).start()

    assert parsed_with(own, path, tmp_path, 1, starve).failed == ()


def test_when_a_page_takes_too_long_its_worker_is_replaced(tmp_path: Path, own: Parser, before: set[int]) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=5)
    hang = lambda: [reader.send_signal(signal.SIGSTOP) for reader in readers(before)]  # noqa: E731
    parsed = parsed_with(own, path, tmp_path, 1, hang)
    (failed,) = parsed.failed
    assert failed.reason == "took longer than 6 s; only its text was read"
    assert {element.place.page for element in parsed.elements} == {1, 2, 3, 4, 5}
    assert len(readers(before)) == 1


def test_a_file_that_crashes_its_reader_when_opened_is_refused(tmp_path: Path, own: Parser, before: set[int]) -> None:
    path = pdfs.report(tmp_path / "report.pdf")

    def kill() -> bool:
        for reader in readers(before):
            reader.kill()
        return False

    error = error_of(lambda: own.parse(path, level="quick", figures=tmp_path, stopped=kill))
    assert (error.code, "crashed the reader" in str(error)) == ("unreadable", True)


def test_a_worker_that_died_while_it_was_idle_is_replaced(tmp_path: Path, own: Parser, before: set[int]) -> None:
    path = pdfs.report(tmp_path / "report.pdf")
    own.inspect(path)
    (idle,) = readers(before)
    idle.kill()
    psutil.wait_procs([idle], timeout=60)
    assert own.inspect(path).pages == 1


def test_stop_ends_the_reading_at_once(tmp_path: Path, own: Parser) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=30)
    done: list[int] = []
    with pytest.raises(Stopped):
        own.parse(
            path,
            level="full",
            figures=tmp_path,
            on_page=lambda page, pages: done.append(page),
            stopped=lambda: len(done) >= 2,
        )
    assert len(done) < 6


def test_pages_are_drawn_while_a_long_document_is_read(tmp_path: Path, own: Parser) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=12)
    own.render(path, 1)
    enough = threading.Event()

    def read() -> None:
        with pytest.raises(Stopped):
            own.parse(path, level="full", figures=tmp_path, stopped=enough.is_set)

    reading = threading.Thread(target=read)
    reading.start()
    own.render(path, 5)
    assert reading.is_alive()
    enough.set()
    reading.join()


def test_several_threads_may_read_at_once(tmp_path: Path, parser: Parser) -> None:
    paths = [pdfs.report(tmp_path / f"{number}.pdf", pages=number) for number in range(1, 6)]
    found: dict[Path, int] = {}
    threads = [
        threading.Thread(
            target=lambda path=path: found.update({path: parser.parse(path, level="quick", figures=tmp_path).pages})
        )
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[path] for path in paths] == [1, 2, 3, 4, 5]


def test_after_close_no_process_is_left_and_none_starts(tmp_path: Path, before: set[int]) -> None:
    path = pdfs.report(tmp_path / "report.pdf")
    parser = Parser(Settings())
    parser.inspect(path)
    parser.close()
    assert readers(before) == []
    with pytest.raises(Stopped):
        parser.inspect(path)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    path = pdfs.report(tmp_path / "report.pdf", pages=40)
    program = (
        "import sys, os, pathlib\n"
        "from rag_core.parsing import Parser\n"
        "from rag_core.settings import Settings\n"
        "import psutil\n"
        "def on_page(done, pages):\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "Parser(Settings()).parse(path, level='full', figures=path.parent, on_page=on_page)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
    )
    pid = int(ended.stdout.split()[0])
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.1)
