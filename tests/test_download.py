from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rag_core import download as download_module
from rag_core.download import download
from rag_core.errors import ArtefactError

BODY = bytes(range(256)) * 4_000
SHA256 = hashlib.sha256(BODY).hexdigest()


@dataclass
class Origin:
    """A file server on loopback with faults to order."""

    url: str = ""
    body: bytes = BODY
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    """The Range header of each request."""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked = request.headers["Range"]
        self.asked.append(asked)
        if self.statuses:
            return request.send_error(self.statuses.pop(0))
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if start >= len(self.body):
            return request.send_error(416)
        rest = self.body[start:]
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(rest)))
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(self.body) - 1}/{len(self.body)}")
        request.end_headers()
        request.wfile.write(rest[: self.cuts.pop(0)] if self.cuts else rest)
        request.close_connection = True
        return None


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    monkeypatch.setattr(download_module, "_PAUSE_S", 0)
    origin = Origin()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            origin.answer(self)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    origin.url = f"http://127.0.0.1:{server.server_port}/weights.bin"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield origin
    server.shutdown()
    server.server_close()


def test_a_file_arrives_whole_and_leaves_no_part(origin: Origin, tmp_path: Path) -> None:
    target = tmp_path / "new" / "weights.bin"
    said: list[str] = []
    assert download(origin.url, target, sha256=SHA256, say=said.append) == target
    assert target.read_bytes() == BODY
    assert not list(target.parent.glob("*.part"))
    assert said == ["weights.bin: 1.0 MB fetched"]


def test_a_file_that_is_there_and_right_is_not_fetched_again(origin: Origin, tmp_path: Path) -> None:
    target = tmp_path / "weights.bin"
    target.write_bytes(BODY)
    download(origin.url, target, sha256=SHA256)
    assert origin.asked == []


def test_a_file_that_is_there_but_wrong_is_replaced(origin: Origin, tmp_path: Path) -> None:
    target = tmp_path / "weights.bin"
    target.write_bytes(b"an older version")
    download(origin.url, target, sha256=SHA256)
    assert target.read_bytes() == BODY


def test_a_cut_connection_goes_on_where_it_broke(origin: Origin, tmp_path: Path) -> None:
    origin.cuts = [300_000, 200_000]
    download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert (tmp_path / "weights.bin").read_bytes() == BODY
    assert origin.asked == [None, "bytes=300000-", "bytes=500000-"]


def test_a_later_call_goes_on_from_the_part_of_an_earlier_one(origin: Origin, tmp_path: Path) -> None:
    (tmp_path / "weights.bin.part").write_bytes(BODY[:1_000])
    download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert (tmp_path / "weights.bin").read_bytes() == BODY
    assert origin.asked == ["bytes=1000-"]


def test_a_part_that_was_whole_needs_only_its_check(origin: Origin, tmp_path: Path) -> None:
    (tmp_path / "weights.bin.part").write_bytes(BODY)
    download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert (tmp_path / "weights.bin").read_bytes() == BODY


def test_without_a_checksum_an_old_part_is_not_trusted(origin: Origin, tmp_path: Path) -> None:
    (tmp_path / "weights.bin.part").write_bytes(b"of another version")
    download(origin.url, tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == BODY


def test_a_server_without_ranges_sends_it_all_again(origin: Origin, tmp_path: Path) -> None:
    origin.ranges, origin.cuts = False, [300_000]
    download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert (tmp_path / "weights.bin").read_bytes() == BODY


def test_a_busy_server_is_asked_again(origin: Origin, tmp_path: Path) -> None:
    origin.statuses = [503, 429]
    download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert len(origin.asked) == 3


def test_a_connection_that_is_always_cut_gives_up_and_keeps_the_part(origin: Origin, tmp_path: Path) -> None:
    origin.cuts = [1_000] * 99
    with pytest.raises(ArtefactError, match="cut off 5 times"):
        download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert (tmp_path / "weights.bin.part").read_bytes() == BODY[:5_000]


def test_a_wrong_checksum_removes_what_came(origin: Origin, tmp_path: Path) -> None:
    origin.body = b"something else"
    with pytest.raises(ArtefactError, match="not the file that was expected"):
        download(origin.url, tmp_path / "weights.bin", sha256=SHA256)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["weights.bin.lock"])


def test_a_missing_file_is_asked_for_once(origin: Origin, tmp_path: Path) -> None:
    origin.statuses = [404] * 9
    with pytest.raises(ArtefactError, match="the server answered 404"):
        download(origin.url, tmp_path / "weights.bin")
    assert len(origin.asked) == 1


def test_a_server_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="could not be reached"):
        download("http://127.0.0.1:9/weights.bin", tmp_path / "weights.bin")


def test_a_full_disk_is_said_in_one_sentence(origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download_module, "_write", full)
    with pytest.raises(ArtefactError, match=r"The disk is full: make room in .* for weights\.bin"):
        download(origin.url, tmp_path / "weights.bin")


def test_two_at_once_fetch_it_once(origin: Origin, tmp_path: Path) -> None:
    calls = [
        threading.Thread(target=download, args=(origin.url, tmp_path / "weights.bin"), kwargs={"sha256": SHA256})
        for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert (tmp_path / "weights.bin").read_bytes() == BODY
    assert len(origin.asked) == 1
