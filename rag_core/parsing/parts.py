"""The parts of a page while it is read: classed boxes in reading order, and the lines of text that lie in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_core.parsing.boxes import area, around, inside, overlap_x
from rag_core.parsing.lines import Line, baselines, block_of, rows
from rag_core.parsing.records import Block
from rag_core.parsing.tables import Cell, Row, as_text, width, write_html
from rag_core.types import Box, ElementKind

LABEL_CHARS = 120
AXIS_CHARS = 30
AXIS_GAP = 12
HEAD_SHARE = 0.2
HEADING_GAP = 20
LETTERS = re.compile(r"[^\W\d_]{3}")


@dataclass(eq=False)
class Part:
    """A piece of a page; `headline` where the layout calls it the document's title.

    `heads` are the headings inside a figure, at its top; `recognised` is what OCR reads in its picture.
    """

    kind: ElementKind
    box: Box
    lines: list[Line] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    image: str | None = None
    headline: bool = False
    heads: list[Part] = field(default_factory=list)
    recognised: str = ""

    @property
    def chars(self) -> int:
        return sum(len(line.text) for line in self.lines)

    @property
    def size(self) -> float:
        """The largest size of its letters."""
        return max((line.size for line in self.lines), default=0.0)


def settle(lines: Sequence[Line], parts: Sequence[Part]) -> list[Line]:
    """Give each line to the table or else the smallest part that it lies in; returns the lines that lie in none.

    A table takes only lines whose words are in its cells: its box may reach over text that is not.
    """
    squeezed = {id(part): "".join("".join(cell.text for row in part.cells for cell in row).split()) for part in parts}
    by_size = sorted(parts, key=lambda part: (not part.cells, area(part.box)))
    loose = []
    for line in lines:
        for part in by_size:
            if inside(line.box, part.box) and (not part.cells or _holds(squeezed[id(part)], line.text)):
                part.lines.append(line)
                break
        else:
            loose.append(line)
    return loose


def _holds(squeezed: str, text: str) -> bool:
    # Without the dots that lead from a label to its value, which are in no cell.
    found = [word.strip(".") in squeezed for word in text.split() if any(map(str.isalnum, word))]
    return sum(found) >= 0.5 * len(found)


def insert(part: Part, parts: list[Part]) -> None:
    """Put a part where it is read: before the first one below it in its column, else after the last one above."""
    column = [number for number, other in enumerate(parts) if overlap_x(part.box, other.box) > 0]
    middle = (part.box.y0 + part.box.y1) / 2
    below = [number for number in column if (parts[number].box.y0 + parts[number].box.y1) / 2 > middle]
    above = [number for number in column if number not in below]
    parts.insert(below[0] if below else above[-1] + 1 if above else len(parts), part)


def with_labels(figure: Box, parts: Sequence[Part], loose: Sequence[Line]) -> Box:
    """The figure's box with the short texts directly around it, which are the labels of its axes."""
    boxes = [line.box for line in loose if len(line.text) <= AXIS_CHARS]
    boxes += [part.box for part in parts if part.kind in ("text", "footnote", "list") and 0 < part.chars <= AXIS_CHARS]
    return around([figure, *(box for box in boxes if _touches(box, figure))])


def _touches(box: Box, figure: Box) -> bool:
    across = max(box.x0 - figure.x1, figure.x0 - box.x1)
    down = max(box.y0 - figure.y1, figure.y0 - box.y1)
    return max(across, down) <= AXIS_GAP and min(across, down) < 0


def fill(figure: Part, parts: list[Part], loose: Sequence[Line], *, framed: bool = False) -> list[Line]:
    """Move the labels in a figure into it, and its heading; returns the lines that are still loose.

    Running text stays outside, but for a frame drawn around it.
    """
    top = figure.box.y0 + HEAD_SHARE * (figure.box.y1 - figure.box.y0)
    for part in [*parts]:
        label = part.kind in ("title", "text", "list", "footnote", "formula")
        label = label and (framed or part.chars <= LABEL_CHARS)
        if label and inside(part.box, figure.box, 0.7):
            parts.remove(part)
            if part.kind == "title" and part.box.y1 < top and part.lines:
                figure.heads.append(part)
            else:
                figure.lines += part.lines
    figure.lines += [line for line in loose if inside(line.box, figure.box)]
    left = [line for line in loose if line not in figure.lines]
    if not figure.heads and (heading := _heading(figure, left)):
        figure.heads.append(Part("title", around(line.box for line in heading), heading))
        figure.lines = [line for line in figure.lines if line not in heading]
        left = [line for line in left if line not in heading]
    return left


def _heading(figure: Part, loose: Sequence[Line]) -> list[Line]:
    """The bold lines at the top of a figure whose other text is not, or else those directly over it with their like."""
    box = figure.box
    bold = [line for line in figure.lines if line.bold and LETTERS.search(line.text)]
    if len(bold) < len(figure.lines) / 2:
        edge = box.y0 + HEAD_SHARE * (box.y1 - box.y0)
        if heading := [line for line in bold if line.y1 < edge]:
            return heading
    over: list[Line] = []
    for line in sorted(loose, key=lambda line: -line.y1):
        above = over[-1].y0 if over else box.y0
        if -1 < above - line.y1 < HEADING_GAP and line.x0 >= box.x0 and line.x1 <= box.x1:
            over.append(line)
    return over[::-1] if any(line.bold for line in over) else []


def block(part: Part, vocabulary: Counter[str], top: float) -> Block | None:
    """Make the block of a part; None where it holds nothing. `top` is the size of the largest headline."""
    if part.kind == "figure":
        text = "\n".join([*(row.text for row in rows(part.lines)), *([part.recognised] if part.recognised else [])])
        return Block(kind="figure", text=text, box=part.box, image=part.image)
    if part.kind == "table" and (cells := part.cells or _cells(part.lines)):
        return Block(kind="table", text=as_text(cells), box=part.box, html=write_html(cells))
    if not part.lines:
        return None
    made = block_of(rows(part.lines), vocabulary)
    kind = part.kind if part.kind not in ("text", "table") else made.kind
    if part.headline and made.size < top - 0.5:
        kind = "text"  # authors and subtitles are classed as titles too, and nothing stands under them
    return made.model_copy(update={"kind": kind})


def _cells(lines: Sequence[Line]) -> list[Row]:
    """Cells by baseline, for a table whose grid was not found; empty where that is no table."""
    found = [tuple(Cell(line.text) for line in row) for row in baselines(lines)]
    return found if len(found) >= 2 and width(found) >= 2 else []
