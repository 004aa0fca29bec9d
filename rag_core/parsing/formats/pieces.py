"""What is read of a file that is no PDF, before it has pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core.parsing.captions import CAPTION_START, FIGURE_CAPTION, TABLE_CAPTION
from rag_core.parsing.lines import clean
from rag_core.parsing.tables import Row
from rag_core.types import ElementKind

PAPER = (595.0, 842.0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A heading, a paragraph, a table, a picture. `text` is plain; where it has lines, they are kept."""

    kind: ElementKind = "text"
    text: str = ""
    level: int = 1
    """Of a heading or a list item: 1 is the outermost."""
    code: bool = False
    rows: tuple[Row, ...] = ()
    picture: bytes = b""


@dataclass(frozen=True, slots=True)
class Flow:
    """Pieces that begin on a page of their own: a document, a slide, a sheet."""

    pieces: Sequence[Piece]
    size: tuple[float, float] = PAPER
    """Of a page, in points."""
    single: bool = False
    """On one page, which is then as long as it must be."""
    left_out: str = ""
    """What of it was not read, as the end of a sentence about its last page."""


@dataclass(frozen=True, slots=True)
class Content:
    """A whole file."""

    flows: Iterable[Flow]
    title: str = ""


def one_flow(pieces: Iterable[Piece], title: str = "") -> Content:
    """A file that is a single text."""
    return Content([Flow(with_captions(pieces))], title)


def cleaned(text: str) -> str:
    """Text whose lines count, each without what cannot be shown and without white space at its end."""
    lines = ("".join(c for c in line.expandtabs(4) if c.isprintable()).rstrip() for line in text.splitlines())
    return "\n".join(lines).strip("\n")


def paragraph(kind: ElementKind, text: str, level: int = 1) -> Iterator[Piece]:
    """A piece of running text; none where there is no text."""
    if text := clean(text):
        yield Piece(kind, text, level)


def with_captions(pieces: Iterable[Piece]) -> list[Piece]:
    """Put each caption directly before the table or picture that it stands beside; others become text."""
    found = list(pieces)
    for at, piece in enumerate(found):
        named = piece.kind == "caption" or (piece.kind == "text" and CAPTION_START.match(piece.text))
        if not named:
            continue
        if _owns(found, at + 1, piece.text):
            found[at] = replace(piece, kind="caption")
        elif _owns(found, at - 1, piece.text) and not (at > 1 and found[at - 2].kind == "caption"):
            found[at - 1], found[at] = replace(piece, kind="caption"), found[at - 1]
        else:
            found[at] = replace(piece, kind="text")
    return found


def _owns(pieces: Sequence[Piece], at: int, caption: str) -> bool:
    if not 0 <= at < len(pieces):
        return False
    unfit = {"table": FIGURE_CAPTION, "figure": TABLE_CAPTION}.get(pieces[at].kind)
    return unfit is not None and not unfit.match(caption)
