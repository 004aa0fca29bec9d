"""The Weaviate server's binary: from the cache, else from the release page, else built by Go.

The archives are named as in the client's own `embedded.py`; each has its SHA-256 beside it. `go install` of the
same version takes about three minutes on two cores and goes on where it was interrupted, by Go's own build cache.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from filelock import FileLock

from rag_core.download import download
from rag_core.errors import ArtefactError
from rag_core.settings import Settings

VERSION = "1.39.0"
RELEASES = "https://github.com/weaviate/weaviate/releases/download"
GO_PACKAGE = f"github.com/weaviate/weaviate/cmd/weaviate-server@v{VERSION}"
GO_NEEDED = (1, 26)
_NEWS_EVERY_S = 5
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

Say = Callable[[str], None]
"""Hears one line about what is going on."""


def find_server(settings: Settings, say: Say, *, releases: str = RELEASES) -> Path:
    """Give the server's binary, fetching or building it at the first call.

    Raises:
        ArtefactError: It could be neither fetched nor built; the text says why and names three ways out.
    """
    folder = settings.cache_dir / "weaviate"
    binary = folder / f"weaviate-server-{VERSION}-{_system()}-{_machine()}"
    if binary.exists():
        return binary
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "fetching.lock"):
        failures = []
        for way in (_from_release_page, _from_go):
            if binary.exists():
                return binary
            try:
                with _scratch(folder) as scratch:
                    found = way(folder, scratch, say, releases)
                    found.chmod(0o755)
                    found.replace(binary)
            except ArtefactError as error:
                failures.append(str(error))
                say(str(error))
    if not binary.exists():
        raise ArtefactError(_three_ways_out(failures))
    return binary


def _from_release_page(folder: Path, scratch: Path, say: Say, releases: str) -> Path:
    name = _archive_name()
    url = f"{releases}/v{VERSION}/{name}"
    say(f"Fetching Weaviate {VERSION} from {url}")
    published = download(f"{url}.sha256", scratch / "sha256", sha256=None, say=say).read_text().split()
    if not published or not re.fullmatch(r"[0-9a-f]{64}", published[0]):
        raise ArtefactError(f"{url}.sha256 holds no checksum, so the archive beside it cannot be trusted.")
    archive = download(url, folder / name, sha256=published[0], say=say)
    try:
        return _unpack(archive, scratch / "weaviate")
    finally:
        archive.unlink()


def _unpack(archive: Path, target: Path) -> Path:
    """Take the one file `weaviate` out of the archive, whatever path the archive gives it."""
    try:
        with _open_member(archive) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ArtefactError(f"{archive.name} holds no file 'weaviate'; it is not the archive expected.") from error
    return target


@contextmanager
def _open_member(archive: Path) -> Iterator[IO[bytes]]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed, packed.open("weaviate") as source:
            yield source
        return
    with tarfile.open(archive) as packed:
        source = packed.extractfile("weaviate")
        if source is None:
            raise KeyError("weaviate")
        yield source


def _from_go(_folder: Path, scratch: Path, say: Say, _releases: str) -> Path:
    go = shutil.which("go")
    if go is None:
        raise ArtefactError("Weaviate could not be built here: there is no 'go' on the PATH.")
    # GOTOOLCHAIN=local: what is installed counts; Go would else fetch another Go behind the user's back.
    environment = os.environ | {"CGO_ENABLED": "0", "GOBIN": str(scratch), "GOTOOLCHAIN": "local"}
    version = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, env=environment).stdout.strip()
    numbers = re.match(r"go(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < GO_NEEDED:
        raise ArtefactError(
            f"Weaviate {VERSION} could not be built here: it needs Go {GO_NEEDED[0]}.{GO_NEEDED[1]} or newer, "
            f"and {go} is {version or 'broken'}."
        )
    say(f"Building Weaviate {VERSION} with {version}: about three minutes, once")
    _build([go, "install", "-v", "-trimpath", GO_PACKAGE], environment, say)
    return scratch / "weaviate-server"


def _build(command: list[str], environment: dict[str, str], say: Say) -> None:
    """Run Go, saying every few seconds how far it is. With -v it names each package that it compiles or fetches."""
    began = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=_collect, args=(process.stderr, lines), daemon=True)
        reader.start()
        try:
            while not _ended(process, _NEWS_EVERY_S):
                say(f"Building Weaviate {VERSION}: {len(lines)} packages, {time.monotonic() - began:.0f} s")
        except BaseException:
            process.terminate()
            raise
        reader.join()
    if process.returncode:
        reason = "".join(lines[-3:]).strip() or f"exit code {process.returncode}"
        raise ArtefactError(f"Weaviate {VERSION} could not be built here: {reason}")


def _collect(stream: IO[str], lines: list[str]) -> None:
    for line in stream:
        lines.append(line)


def _ended(process: subprocess.Popen[str], within_s: float) -> bool:
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _archive_name() -> str:
    if _system() == "darwin":
        return f"weaviate-v{VERSION}-Darwin-all.zip"
    return f"weaviate-v{VERSION}-Linux-{_machine()}.tar.gz"


def _system() -> str:
    system = platform.system()
    if system not in ("Linux", "Darwin"):
        raise ArtefactError(
            f"Weaviate's server does not run on {system}: set WEAVIATE_URL to one that runs elsewhere (docker, WSL)."
        )
    return system.lower()


def _machine() -> str:
    machine = platform.machine()
    return _MACHINES.get(machine, machine)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder on the cache's own file system, so that the last step is one rename."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-", ignore_cleanup_errors=True) as scratch:
        yield Path(scratch)


def _three_ways_out(failures: list[str]) -> str:
    reasons = "\n".join(f"  - {failure}" for failure in failures)
    return f"""\
The Weaviate server is missing, and this machine could not get it:
{reasons}
Three ways out; take one and start again:
  1. Install Go {GO_NEEDED[0]}.{GO_NEEDED[1]} or newer (https://go.dev/dl/): the server is then built here, in minutes.
  2. Run it in docker, and set WEAVIATE_URL=http://127.0.0.1:8080:
     docker run -p 127.0.0.1:8080:8080 -p 127.0.0.1:50051:50051 \\
       -e PERSISTENCE_DATA_PATH=/var/lib/weaviate -v ragscope:/var/lib/weaviate \\
       -e AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true cr.weaviate.io/semitechnologies/weaviate:{VERSION}
  3. Set WEAVIATE_URL (and WEAVIATE_API_KEY) to a Weaviate {VERSION} that you have."""
