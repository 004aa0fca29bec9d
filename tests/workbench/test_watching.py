"""What a watch sees of a folder, and what becomes of it over a real Weaviate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_core.settings import ROOT, Settings
from rag_core.workbench import FileResult, Workbench
from rag_core.workbench.watching import Change, Watched
from tests.papers import a_pdf


def test_a_file_counts_when_two_looks_find_it_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    watched = Watched([tmp_path])
    assert watched.look() == []
    path.write_bytes(b"half")
    assert watched.look() == []
    path.write_bytes(b"half and half")
    assert watched.look() == [], "it is still being written"
    assert watched.look() == [Change(path, "a.pdf", "written")]
    assert watched.look() == []


def test_what_was_there_before_counts_too_and_a_change_again(tmp_path: Path) -> None:
    path = tmp_path / "below" / "a.pdf"
    path.parent.mkdir()
    path.write_bytes(b"one")
    watched = Watched([tmp_path])
    looks = [watched.look(), watched.look()]
    assert looks == [[], [Change(path, "below/a.pdf", "written")]]
    path.write_bytes(b"another")
    looks = [watched.look(), watched.look()]
    assert looks == [[], [Change(path, "below/a.pdf", "written")]]


def test_a_file_that_goes_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"one")
    watched = Watched([tmp_path])
    watched.look()
    watched.look()
    path.unlink()
    assert watched.look() == [Change(path, "a.pdf", "gone")]
    assert watched.look() == []


class Watch:
    """A workbench that watches a folder on a thread of its own."""

    def __init__(self, workbench: Workbench, folder: Path, *, delete_missing: bool) -> None:
        self.told: list[FileResult] = []
        self.stopped = threading.Event()
        asked = {"stopped": self.stopped, "delete_missing": delete_missing, "told": self.told.append}
        self._thread = threading.Thread(target=workbench.watch, args=(folder,), kwargs=asked)
        self._thread.start()

    def end(self) -> None:
        self.stopped.set()
        self._thread.join(60)

    def next(self, seconds: float = 120) -> tuple[str, str]:
        end = time.monotonic() + seconds
        while not self.told:
            assert time.monotonic() < end, "nothing was told"
            time.sleep(0.05)
        result = self.told.pop(0)
        return result.name, result.state


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watch]]:
    begun: list[Watch] = []
    monkeypatch.setattr("rag_core.workbench.bench._WATCH_EVERY_S", 0.2)
    with Workbench.open(Settings(data_dir=tmp_path / "data")) as workbench:

        def begin(folder: Path, *, delete_missing: bool = False) -> tuple[Workbench, Watch]:
            begun.append(Watch(workbench, folder, delete_missing=delete_missing))
            return workbench, begun[-1]

        yield begin
        for watch in begun:
            watch.end()


def test_what_is_written_changed_and_taken_away_is_followed(
    watch: Callable[..., tuple[Workbench, Watch]], tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    a_pdf(folder / "fox.pdf", "The red fox lives in the forest.")
    workbench, watching = watch(folder, delete_missing=True)
    assert watching.next() == ("fox.pdf", "indexed")
    (folder / "bad.pdf").write_bytes(b"no PDF")
    assert watching.next() == ("bad.pdf", "failed")
    a_pdf(folder / "fox.pdf", "The red fox moved to the lake.")
    assert watching.next() == ("fox.pdf", "indexed")
    assert "lake" in workbench.ask("Where is the red fox?").final_answer
    (folder / "fox.pdf").unlink()
    assert watching.next() == ("fox.pdf", "deleted")
    end = time.monotonic() + 60
    while [record.name for record in workbench.documents("Documents")] != ["bad.pdf"]:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_command_says_a_line_an_event_and_ends_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    a_pdf(folder / "fox.pdf", "The red fox lives in the forest.")
    process = subprocess.Popen(
        [sys.executable, "-m", "rag_core", "ingest", str(folder), "--watch"],
        cwd=ROOT,
        env={**os.environ, "RAGSCOPE_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("indexed   fox.pdf: 1 pages")
        (folder / "fox.pdf").unlink()
        assert process.stdout.readline() == "gone      fox.pdf: its file has gone; the document stays\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
