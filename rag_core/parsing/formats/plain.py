"""Plain text: paragraphs, lists and headings as people set them with blank lines alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from rag_core.parsing.formats.encoding import read_text
from rag_core.parsing.formats.pieces import Content, Flow, Piece, cleaned, paragraph
from rag_core.parsing.lines import BULLET

WRAPPED_CHARS = 50
HEADING_CHARS = 80
_PARTED = re.compile(r"\n\s*\n")
_RULE = re.compile(r"[=\-~*_]{3,}")
_ALIGNED = re.compile(r"\S {3,}\S")


def read(path: Path) -> Content:
    """Read a text file; a form feed begins a page.

    Raises:
        Refused: It is not text, or far too long.
    """
    pages = read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\f")
    return Content([Flow(list(_pieces(page))) for page in pages if page.strip()])


def _pieces(text: str) -> Iterator[Piece]:
    parts = [part for found in _PARTED.split(text) if (part := cleaned(found))]
    for number, part in enumerate(parts):
        lines = part.split("\n")
        underlined = len(lines) == 2 and _RULE.fullmatch(lines[1])
        if underlined or (number + 1 < len(parts) and _is_heading(lines)):
            yield from paragraph("title", lines[0], 1 if underlined else 2)
        else:
            yield from _paragraphs(lines)


def _is_heading(lines: Sequence[str]) -> bool:
    text = lines[0].strip()
    worded = len(text) <= HEADING_CHARS and text[:1].isalnum() and any(map(str.isalpha, text))
    return len(lines) == 1 and worded and not text[:1].islower() and not text.endswith((".", ",", ";", ":", "!", "?"))


def _paragraphs(lines: Sequence[str]) -> Iterator[Piece]:
    """Join the lines that an editor wrapped; columns stay as they stand."""
    if len(lines) > 1 and sum(bool(_ALIGNED.search(line)) for line in lines) * 2 > len(lines):
        yield Piece(text="\n".join(lines), code=True)
        return
    wrapped = len(lines) > 1 and median(map(len, lines[:-1])) >= WRAPPED_CHARS
    joined: list[str] = []
    for line in lines:
        if joined and wrapped and not BULLET.match(line.strip()):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    for line in joined:
        yield from paragraph("list" if BULLET.match(line.strip()) else "text", line)
