"""A page of the web as its reader sees it, read in a process of its own, as files are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_core.parsing.formats import plain
from rag_core.parsing.formats.pieces import Piece
from rag_core.parsing.formats.web import read_html_file
from rag_core.parsing.refused import Refused
from rag_core.parsing.sandbox import shut_in
from rag_core.settings import ROOT
from rag_core.web.pages import Page, PageError
from rag_core.web.results import inert


def text_of(page: Page, seconds: float = 10) -> str:
    """What a reader of the page sees, with a blank line between paragraphs.

    Args:
        seconds: When to give it up.

    Raises:
        PageError: It cannot be read.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "rag_core.parsing.formats.fetched", page.media_type, page.encoding]
    try:
        read = subprocess.run(
            command, input=page.body, capture_output=True, timeout=seconds, env={**os.environ, "PYTHONPATH": path}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageError(page.url, "it took too long to read") from error
    if read.returncode:
        raise PageError(page.url, "it cannot be read as text")
    return read.stdout.decode()


def main(media_type: str, encoding: str) -> None:
    """Read a page from stdin and write its text to stdout, in UTF-8."""
    shut_in(0)
    body = sys.stdin.buffer.read()
    if encoding:
        with suppress(LookupError):  # one that nobody knows says nothing
            body = body.decode(encoding, "replace").encode("utf-8", "replace")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "page"
        file.write_bytes(body)
        content = plain.read(file) if media_type == "text/plain" else read_html_file(file)
        lines = [line for flow in content.flows for piece in flow.pieces for line in _lines(piece)]
    sys.stdout.buffer.write("\n\n".join(filter(None, map(inert, lines))).encode())


def _lines(piece: Piece) -> Iterator[str]:
    yield piece.text
    for row in piece.rows:
        yield " | ".join(cell.text for cell in row)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, RecursionError, MemoryError, ValueError):
        sys.exit(1)
