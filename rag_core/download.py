"""Fetches one large file: resumed after a cut, checked by its SHA-256, in place only when it is whole."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from filelock import FileLock, Timeout

from rag_core.errors import ArtefactError

_TRIES = 5
_PAUSE_S = 1.0
_SILENCE_S = 30
"""Seconds without a byte after which a connection counts as cut."""
_PASSING = (408, 425, 429, 500, 502, 503, 504)
"""HTTP statuses that may be gone at the next try."""

log = logging.getLogger(__name__)


class _Cut(Exception):
    """The connection broke, or the server asks to come again: what has come so far is kept."""


def sha256_of(path: Path) -> str:
    """Give the file's SHA-256, in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cannot_write(target: Path, error: OSError) -> ArtefactError:
    """Say in one sentence why `target` could not be written and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ArtefactError(f"The disk is full: make room in {target.parent} for {target.name} and run it again.")
    reason = error.strerror or str(error)
    return ArtefactError(f"{target} could not be written ({reason}); make its folder writable and run it again.")


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    say: Callable[[str], None] = log.info,
    connect_s: float = 5,
) -> Path:
    """Fetch `url` to `target`, unless it is there already.

    What has come stands in `<target>.part` until it is whole. With a checksum a later call goes on from there;
    without one nothing would tell a part of another version, so it begins anew. A second process waits.

    Args:
        sha256: In lower-case hex. A `target` that is there but does not match is fetched again.
        say: Hears about progress, at most once a second.
        connect_s: Seconds to wait for the server to answer the call.

    Raises:
        ArtefactError: The server could not be reached or refused, the checksum is wrong, or the disk is full.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target, say):
            if target.exists() and (sha256 is None or sha256_of(target) == sha256):
                return target
            if sha256 is None:
                part.unlink(missing_ok=True)
            _fetch(url, part, say, connect_s)
            _check(url, part, sha256)
            part.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    return target


def sha256_at_hub(url: str, *, connect_s: float = 5) -> str | None:
    """Ask the Hugging Face hub for the SHA-256 of a file; None for small ones, which it knows by another hash.

    Raises:
        ArtefactError: The hub could not be reached or refused.
    """
    try:
        response = httpx.head(url, timeout=httpx.Timeout(_SILENCE_S, connect=connect_s))
    except httpx.RequestError as error:
        raise ArtefactError(f"{url} could not be reached ({error}); check the network or the proxy.") from error
    if response.is_error:
        raise ArtefactError(f"{url} could not be fetched: the server answered {response.status_code}.")
    stated = response.headers.get("X-Linked-Etag", "").strip('"')
    return stated if re.fullmatch(r"[0-9a-f]{64}", stated) else None


@contextmanager
def _locked(target: Path, say: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(target.with_name(f"{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{target.name}: another process is fetching it; waiting for that")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fetch(url: str, part: Path, say: Callable[[str], None], connect_s: float) -> None:
    timeout = httpx.Timeout(_SILENCE_S, connect=connect_s)
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        for tried in range(_TRIES):
            try:
                _append(client, url, part, say)
                return
            except _Cut as cut:
                if tried == _TRIES - 1:
                    raise ArtefactError(f"{url} was cut off {_TRIES} times ({cut}); run it again to go on.") from cut
                say(f"{part.stem}: {cut}; going on from {_have(part) / 1e6:.1f} MB")
                time.sleep(tried * _PAUSE_S)


def _append(client: httpx.Client, url: str, part: Path, say: Callable[[str], None]) -> None:
    """Ask for what is missing from `part` and write it there; the whole, where the server sends the whole."""
    have = _have(part)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with client.stream("GET", url, headers=headers) as response:
            if have and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # Nothing is missing, or the part is of another file: the checksum tells.
            if response.status_code in _PASSING:
                raise _Cut(f"the server answered {response.status_code}")
            if response.is_error:
                raise ArtefactError(f"{url} could not be fetched: the server answered {response.status_code}.")
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                part.unlink(missing_ok=True)
                raise _Cut("the server sent another range than was asked for")
            _write(response, part, have if resumed else 0, say)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
        raise ArtefactError(f"{url} could not be reached ({error}); check the network or the proxy.") from error
    except httpx.RequestError as error:
        raise _Cut(str(error) or type(error).__name__) from error


def _write(response: httpx.Response, part: Path, start: int, say: Callable[[str], None]) -> None:
    length = response.headers.get("Content-Length")
    total = start + int(length) if length else None
    with part.open("ab" if start else "wb") as file:
        for block in _told(response.iter_raw(), part.stem, start, total, say):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())


def _told(
    blocks: Iterator[bytes], name: str, start: int, total: int | None, say: Callable[[str], None]
) -> Iterator[bytes]:
    """Pass the blocks on, saying about once a second how far it is."""
    began = last = time.monotonic()
    have, of = start, "" if total is None else f" of {total / 1e6:.1f}"
    for block in blocks:
        yield block
        have, now = have + len(block), time.monotonic()
        if now - last >= 1:
            last = now
            say(f"{name}: {have / 1e6:.1f}{of} MB, {(have - start) / (now - began) / 1e6:.1f} MB/s")
    say(f"{name}: {have / 1e6:.1f} MB fetched")


def _check(url: str, part: Path, sha256: str | None) -> None:
    if sha256 is None or (found := sha256_of(part)) == sha256:
        return
    part.unlink()
    raise ArtefactError(
        f"{url} is not the file that was expected (SHA-256 {found}, not {sha256}); it was removed, run it again."
    )


def _have(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
