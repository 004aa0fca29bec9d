"""How the server binary is had: from the cache, the release page, or Go."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import platform
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.errors import ArtefactError
from rag_core.settings import Settings
from rag_core.stores.weaviate.binary import VERSION, find_server

BINARY = os.urandom(300_000)

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="the archive made here is Linux's")


class ReleasePage:
    """A release page on the loopback address: archives, their checksums, and connections that break."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_at: int | None = None
        self.asked: list[tuple[str, str | None]] = []
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name, wanted = self.path.rsplit("/", 1)[1], self.headers.get("Range")
                page.asked.append((name, wanted))
                if not self.path.startswith(f"/v{VERSION}/") or name not in page.files:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
                whole = page.files[name]
                self.send_response(206 if wanted else 200)
                self.send_header("Content-Length", str(len(whole) - start))
                if wanted:
                    self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
                self.end_headers()
                end = len(whole)
                if page.cut_at is not None and name.endswith(".tar.gz"):
                    end, page.cut_at = page.cut_at, None
                self.wfile.write(whole[start:end])

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def publish(self, members: dict[str, bytes]) -> str:
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        name = f"weaviate-v{VERSION}-Linux-{machine}.tar.gz"
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for member, content in members.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        self.files[name] = packed.getvalue()
        self.files[f"{name}.sha256"] = hashlib.sha256(packed.getvalue()).hexdigest().encode() + b"\n"
        return name

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def page() -> Iterator[ReleasePage]:
    page = ReleasePage()
    yield page
    page.close()


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with an empty cache, on a machine without Go."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Settings(cache_dir=tmp_path / "cache")


def put_go(settings: Settings, script: str) -> None:
    """Put a program named `go` on the PATH."""
    go = settings.cache_dir.parent / "bin" / "go"
    go.write_text(f"#!{sys.executable}\n{script}")
    go.chmod(0o755)


def left_over(settings: Settings) -> list[str]:
    names = [path.name for path in (settings.cache_dir / "weaviate").iterdir()]
    return sorted(name for name in names if not name.endswith(".lock"))


def test_a_released_binary_is_fetched_checked_and_kept(page: ReleasePage, empty: Settings) -> None:
    page.publish({"LICENSE": b"...", "weaviate": BINARY})
    found = find_server(empty, print, releases=page.url)
    assert found.read_bytes() == BINARY
    assert os.access(found, os.X_OK)
    assert VERSION in found.name
    assert left_over(empty) == [found.name]
    asked = len(page.asked)
    assert find_server(empty, print, releases=page.url) == found
    assert len(page.asked) == asked


def test_a_download_that_is_cut_off_goes_on_from_there(page: ReleasePage, empty: Settings) -> None:
    name = page.publish({"weaviate": BINARY})
    page.cut_at = 100_000
    assert find_server(empty, print, releases=page.url).read_bytes() == BINARY
    assert page.asked[-2:] == [(name, None), (name, "bytes=100000-")]


def test_a_wrong_checksum_is_never_installed(page: ReleasePage, empty: Settings) -> None:
    name = page.publish({"weaviate": BINARY})
    page.files[f"{name}.sha256"] = b"0" * 64
    with pytest.raises(ArtefactError, match="not the file that was expected"):
        find_server(empty, print, releases=page.url)
    assert left_over(empty) == []


def test_an_archive_without_a_checksum_or_without_the_binary_is_refused(page: ReleasePage, empty: Settings) -> None:
    name = page.publish({"README.md": b"..."})
    with pytest.raises(ArtefactError, match="holds no file 'weaviate'"):
        find_server(empty, print, releases=page.url)
    page.files[f"{name}.sha256"] = b"<html>"
    with pytest.raises(ArtefactError, match="holds no checksum"):
        find_server(empty, print, releases=page.url)
    assert left_over(empty) == []


def test_without_release_and_go_the_page_names_three_ways_out(page: ReleasePage, empty: Settings) -> None:
    with pytest.raises(ArtefactError) as caught:
        find_server(empty, print, releases=page.url)
    for needed in ("404", "no 'go' on the PATH", "Install Go", "docker run", "WEAVIATE_URL"):
        assert needed in str(caught.value)


def test_go_builds_it_where_the_release_page_fails(page: ReleasePage, empty: Settings) -> None:
    put_go(
        empty,
        """
import os, sys, pathlib
if sys.argv[1] == "env":
    print("go1.26.8")
else:
    assert os.environ["CGO_ENABLED"] == "0"
    assert sys.argv[1:] == ["install", "-v", "-trimpath", "github.com/weaviate/weaviate/cmd/weaviate-server@v1.39.0"]
    pathlib.Path(os.environ["GOBIN"], "weaviate-server").write_bytes(b"built")
""",
    )
    said: list[str] = []
    found = find_server(empty, said.append, releases=page.url)
    assert found.read_bytes() == b"built"
    assert os.access(found, os.X_OK)
    assert left_over(empty) == [found.name]
    assert any("Building" in line for line in said)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('go1.25.1')", "needs Go 1.26 or newer, and .* is go1.25.1"),
        ("import sys; sys.exit(1)", "needs Go 1.26 or newer, and .* is broken"),
        (
            "import sys\nif sys.argv[1] == 'env': print('go1.26.8')\nelse: sys.exit('no space left on device')",
            "could not be built here: no space left on device",
        ),
    ],
)
def test_why_go_could_not_build_it_is_said(page: ReleasePage, empty: Settings, script: str, reason: str) -> None:
    put_go(empty, script)
    with pytest.raises(ArtefactError, match=reason):
        find_server(empty, print, releases=page.url)
    assert left_over(empty) == []
