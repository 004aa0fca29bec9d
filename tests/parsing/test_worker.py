"""What a worker may not do, how it knows a page again, and what it leaves out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pymupdf
import pytest

from rag_core.parsing import Parser
from rag_core.parsing.kept import KeptPages
from rag_core.settings import ROOT, Settings
from tests.parsing import hostile, pdfs

SHUT_IN = """
import os, socket, subprocess, sys
from rag_core.parsing.sandbox import shut_in
before = os.readlink("/proc/self/ns/net")
shut_in(0)
def tried(address):
    try:
        socket.create_connection(address, timeout=3)
    except OSError as error:
        return type(error).__name__
    return "connected"
connect = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=3)"
child = subprocess.run([sys.executable, "-c", connect, sys.argv[1]], stderr=subprocess.DEVNULL)
own = os.readlink("/proc/self/ns/net") != before
print(tried(("127.0.0.1", int(sys.argv[1]))), tried(("example.org", 80)), own, child.returncode)
"""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        yield server


def test_a_process_that_is_shut_in_reaches_nobody(listening: socket.socket) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHUT_IN, str(listening.getsockname()[1])],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    to_us, to_name, own_network, child = done.stdout.split()
    assert (to_us, to_name) == ("PermissionError", "PermissionError")
    if own_network == "False":
        pytest.skip("this kernel gives no process a network of its own; the audit hook alone held")
    assert child != "0", "what it starts reaches nobody either"
    with pytest.raises(TimeoutError):
        listening.accept()


def test_readers_are_shut_in(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}
    parser = Parser(Settings(parse_workers=1))
    try:
        parser.parse(pdfs.report(tmp_path / "a.pdf"), level="quick", figures=tmp_path)
        (worker,) = [child for child in psutil.Process().children() if child.pid not in before]
        assert worker.rlimit(psutil.RLIMIT_AS)[0] == 4 * 2**30
        assert worker.nice() >= 5
        networks = [Path(f"/proc/{pid}/ns/net").readlink() for pid in (os.getpid(), worker.pid)]
    finally:
        parser.close()
    if networks[0] == networks[1]:
        pytest.skip("this kernel gives no process a network of its own")


@pytest.fixture
def kept(tmp_path: Path) -> KeptPages:
    return KeptPages(tmp_path / "pages.jsonl", tmp_path / "figures")


def marked(kept: Path) -> None:
    """Change what is kept, so that pages taken from there are told from those that were read."""
    kept.write_text(kept.read_text().replace("closed the road", "KEPT"))


@pytest.mark.parametrize("level", ["quick", "full"])
def test_pages_that_were_read_in_full_are_not_read_again(
    parser: Parser, kept: KeptPages, tmp_path: Path, level: str
) -> None:
    path = pdfs.report(tmp_path / "a.pdf", pages=3)
    parser.parse(path, level="full", figures=tmp_path / "figures", kept=kept)
    marked(tmp_path / "pages.jsonl")
    again = KeptPages(tmp_path / "pages.jsonl", tmp_path / "figures")
    parsed = parser.parse(path, level=level, figures=tmp_path / "figures", kept=again)
    assert sum("KEPT" in element.text for element in parsed.elements) == 3


def test_only_the_pages_of_a_new_version_that_look_or_read_otherwise_are_read(
    parser: Parser, kept: KeptPages, tmp_path: Path
) -> None:
    figures = tmp_path / "figures"
    path = pdfs.report(tmp_path / "a.pdf", pages=4)
    parser.parse(path, level="full", figures=figures, kept=kept)
    marked(tmp_path / "pages.jsonl")
    document = pymupdf.open(path)
    document[1].insert_text((72, 600), "A word more.")
    document[2].draw_rect((72, 600, 200, 700), fill=(1, 0, 0))
    document.move_page(3, 0)
    document.save(tmp_path / "b.pdf", garbage=4, deflate=True)
    again = KeptPages(tmp_path / "pages.jsonl", figures)
    parsed = parser.parse(tmp_path / "b.pdf", level="full", figures=figures, kept=again)
    assert {element.place.page for element in parsed.elements if "KEPT" in element.text} == {1, 2}


def test_half_a_kept_line_costs_that_page_alone(parser: Parser, kept: KeptPages, tmp_path: Path) -> None:
    path = pdfs.report(tmp_path / "a.pdf", pages=3)
    parser.parse(path, level="full", figures=tmp_path / "figures", kept=kept)
    file = tmp_path / "pages.jsonl"
    file.write_text(file.read_text().rstrip()[:-40])
    again = KeptPages(file, tmp_path / "figures")
    assert len(again.digests) == 2
    parser.parse(path, level="full", figures=tmp_path / "figures", kept=again)
    assert len(KeptPages(file, tmp_path / "figures").digests) == 3


def test_what_a_new_version_no_longer_shows_is_forgotten(parser: Parser, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    first = KeptPages(old / "pages.jsonl", old / "figures")
    (old / "figures").mkdir(parents=True)
    (new / "figures").mkdir(parents=True)
    path = pdfs.figures(tmp_path / "a.pdf")
    parser.parse(path, level="full", figures=old / "figures", kept=first)
    crops = {crop.name for crop in (old / "figures").iterdir()}
    assert any(name.endswith(".png") for name in crops)
    second = KeptPages(new / "pages.jsonl", new / "figures")
    second.inherit(old / "pages.jsonl", old / "figures")
    assert {crop.name for crop in (new / "figures").iterdir()} == crops
    parser.parse(pdfs.report(tmp_path / "b.pdf"), level="full", figures=new / "figures", kept=second)
    second.drop_unused()
    assert list((new / "figures").iterdir()) == []
    assert len(KeptPages(new / "pages.jsonl", new / "figures").digests) == 1


def test_text_beyond_all_measure_is_left_out_and_said(parser: Parser, tmp_path: Path) -> None:
    path = hostile.endless_text(tmp_path / "a.pdf", lines=9_000)
    parsed = parser.parse(path, level="quick", figures=tmp_path)
    assert [(failed.page, "left out" in failed.reason) for failed in parsed.failed] == [(2, True)]
    assert sum(len(element.text) for element in parsed.elements) < 210_000
