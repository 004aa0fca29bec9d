"""Lines of text on a page: cleaned, put in reading order, joined into paragraphs.

Starts from the dictionary that PyMuPDF gives for a page; from there on it is numbers and strings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

from rag_core.parsing.boxes import around
from rag_core.parsing.records import Block
from rag_core.types import Box

BOLD_FLAG = 16
BOLD_NAME = re.compile(r"bold|black|heavy|demi|medi|cmbx|-bd", re.IGNORECASE)
BULLET = re.compile(r"([•◦▪‣●○■□◆➢✓·–—*-]|\(?(\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)])\s+\S")
SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
PROSE_SHARE = 0.18
SOFT_HYPHEN = "\u00ad"
WORD = re.compile(r"[\w-]+")

# Private-use bullets of the Symbol and Wingdings fonts; Latin ligatures that a font maps to one character.
_REPLACED = dict.fromkeys(map(ord, "\uf0b7\uf0a7\uf0d8\uf076\uf06e\u25cf"), "•") | {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
}  # fmt: skip
_DROPPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one baseline. Coordinates in points from the top left of the page as displayed."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    upright: bool = True

    @property
    def box(self) -> Box:
        return Box(x0=self.x0, y0=self.y0, x1=self.x1, y1=self.y1)


def clean(text: str) -> str:
    """Mend ligatures and bullets, drop control characters and lone surrogates, and squeeze white space."""
    return " ".join(_DROPPED.sub("", text.translate(_REPLACED).replace("\n", " ").replace("\t", " ")).split())


def read_lines(page: dict[str, Any]) -> list[Line]:
    """Give the lines of `page.get_text("dict")` that lie on the page, in the order of the file."""
    lines = (_line(found) for block in page["blocks"] for found in block.get("lines", ()))
    width, height = page["width"], page["height"]
    return [
        line for line in lines if line and 0 <= line.x0 + line.x1 <= 2 * width and 0 <= line.y0 + line.y1 <= 2 * height
    ]


def _line(found: dict[str, Any]) -> Line | None:
    spans = found["spans"]
    text = clean("".join(span["text"] for span in spans))
    if not text:
        return None
    main = max(spans, key=lambda span: len(span["text"].strip()))
    return Line(
        text,
        *found["bbox"],
        size=round(main["size"], 1),
        bold=all(_is_bold(span["flags"], span["font"]) for span in spans if len(span["text"].strip()) > 1),
        upright=abs(found["dir"][0]) > 0.9,
    )


@lru_cache(maxsize=1_000)
def _is_bold(flags: int, font: str) -> bool:
    return bool(flags & BOLD_FLAG or BOLD_NAME.search(font))


def paragraphs(lines: Sequence[Line]) -> list[Block]:
    """Put lines in reading order and join them to paragraphs."""
    vocabulary = words(lines)
    return [block_of(group, vocabulary) for group in groups(lines)]


def groups(lines: Sequence[Line]) -> list[list[Line]]:
    """The rows of each paragraph in reading order; sideways lines (margin stamps) come last, each by itself."""
    upright = [line for line in lines if line.upright]
    read = [group for column in columns(upright) for group in _split(rows(column))]
    return [*read, *([line] for line in lines if not line.upright)]


def block_of(group: Sequence[Line], vocabulary: Counter[str]) -> Block:
    """Join rows that belong together. They must not be empty."""
    main = max(group, key=lambda line: len(line.text))
    return Block(
        kind="list" if BULLET.match(group[0].text) else "text",
        text=join([line.text for line in group], vocabulary),
        box=around(line.box for line in group),
        size=main.size,
        bold=all(line.bold for line in group),
    )


def words(lines: Iterable[Line]) -> Counter[str]:
    """Count the words that stand whole in a line; `join` decides about hyphens by them."""
    return Counter(word for line in lines for word in WORD.findall(line.text.lower()))


def join(texts: Sequence[str], vocabulary: Counter[str]) -> str:
    """Join the lines of a paragraph, mending words that were broken at a line's end."""
    joined = texts[0]
    for text in texts[1:]:
        joined = _join_two(joined, text, vocabulary)
    return joined.replace(SOFT_HYPHEN, "")


def _join_two(left: str, right: str, vocabulary: Counter[str]) -> str:
    if left.endswith(SOFT_HYPHEN):
        return left + right
    if not (left.endswith(("-", "\u2010")) and right[0].islower() and left[-2:-1].isalpha()):
        return f"{left} {right}"
    head, tail = left[:-1].rsplit(maxsplit=1)[-1].lower(), WORD.match(right.lower())
    rest = tail.group() if tail else ""
    # "training-time" keeps its hyphen where the page has it within a line, or its halves as words of their own.
    compound = min(vocabulary[head], vocabulary[rest], len(head) - 2, len(rest) - 2) > 0
    if vocabulary[f"{head}-{rest}"] + compound > vocabulary[head + rest]:
        return left + right
    return left[:-1] + right


def rows(lines: Sequence[Line]) -> list[Line]:
    """Join what stands on one baseline; top row first."""
    return [_row(parts) for parts in baselines(lines)]


def baselines(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines by baseline, from the top, each from left to right."""
    found: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.y0 + line.y1, line.x0)):
        if found and _same_row(found[-1][-1], line):
            found[-1].append(line)
        else:
            found.append([line])
    return [sorted(parts, key=lambda line: line.x0) for parts in found]


def _same_row(above: Line, line: Line) -> bool:
    shared = min(above.y1, line.y1) - max(above.y0, line.y0)
    return shared > 0.55 * min(above.y1 - above.y0, line.y1 - line.y0)


def _row(parts: Sequence[Line]) -> Line:
    if len(parts) == 1:
        return parts[0]
    main = max(parts, key=lambda line: len(line.text))
    return Line(
        " ".join(line.text for line in parts),
        min(line.x0 for line in parts),
        min(line.y0 for line in parts),
        max(line.x1 for line in parts),
        max(line.y1 for line in parts),
        size=main.size,
        bold=all(line.bold for line in parts if len(line.text) > 1),
    )


def _split(column: Sequence[Line]) -> list[list[Line]]:
    """Cut the rows of a column where a new paragraph, heading or list item begins."""
    groups: list[list[Line]] = []
    for row in column:
        if groups and not _begins(row, groups[-1]):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _begins(row: Line, group: Sequence[Line]) -> bool:
    above = group[-1]
    left, right = min(line.x0 for line in group), max(line.x1 for line in group)
    ended = bool(SENTENCE_END.search(above.text))
    return (
        abs(row.size - above.size) > 0.08 * above.size
        or row.bold != above.bold
        or row.y0 - above.y1 > 0.6 * row.size
        or bool(BULLET.match(row.text))
        or min(row.x1, right) < max(row.x0, left)
        or (ended and (row.x0 > left + 0.8 * row.size or above.x1 < right - 0.15 * (right - left)))
    )


def columns(lines: Sequence[Line]) -> list[list[Line]]:
    """Cut a page into columns of running text, in reading order; what crosses the gutter cuts them in bands.

    Columns of a table are no columns: a side must have several lines as wide as prose.
    """
    if not lines:
        return []
    extent = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    return _columns(lines, PROSE_SHARE * extent)


def _columns(lines: Sequence[Line], prose: float) -> list[list[Line]]:
    gutter = _gutter(lines, prose)
    if gutter is None:
        return [list(lines)] if lines else []
    cut: list[list[Line]] = []
    left: list[Line] = []
    right: list[Line] = []
    across: list[Line] = []
    for line in sorted(lines, key=lambda line: line.y0):
        if line.x0 < gutter < line.x1:
            cut += [*_columns(left, prose), *_columns(right, prose)]
            left, right = [], []
            across.append(line)
        else:
            if across:
                cut.append(across)
                across = []
            (left if line.x1 <= gutter else right).append(line)
    return [*cut, *_columns(left, prose), *_columns(right, prose), *([across] if across else [])]


def _gutter(lines: Sequence[Line], prose: float) -> float | None:
    """Where lines at least `prose` wide begin a column to the right of others."""
    if len(lines) < 8:
        return None
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    wide = [line for line in lines if line.x1 - line.x0 > prose and len(line.text) > 15]
    edges = Counter(round(line.x0) for line in wide if left + prose < line.x0 < right - prose)
    best, fewest = None, len(lines) // 4 + 1
    for edge, _ in edges.most_common(4):
        x = edge - 2.0
        before = [line for line in wide if line.x1 <= x]
        after = [line for line in wide if line.x0 >= x]
        across = sum(line.x0 < x < line.x1 for line in lines)
        if across < fewest and min(len(before), len(after)) >= 4 and _beside(before, after):
            best, fewest = x, across
    return best


def _beside(before: Sequence[Line], after: Sequence[Line]) -> bool:
    """Whether two sets of lines stand side by side over some height."""
    top = max(min(line.y0 for line in before), min(line.y0 for line in after))
    bottom = min(max(line.y1 for line in before), max(line.y1 for line in after))
    return bottom - top > 3 * median(line.y1 - line.y0 for line in before)
