"""Figures found on 40 pages, each with the caption that belongs to it, against labels made by looking at the pages.

The pages were drawn at random (at most three a document) from those of the evaluation PDFs that show a picture or more
than a few shapes, and labelled before anything was tuned: the box in points, and the words that its caption begins
with. An empty caption among them says that having none is right: a picture has none, or says its headline in pixels.
What a file holds as one picture counts as one figure. Slides that are one picture as a whole are among the pages.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluation import evaluation_set
from benchmarks.table import print_aim, print_table
from rag_core.parsing.figures import repeated_images
from rag_core.parsing.full import read_page
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box, Value

LABELS = Path(__file__).resolve().parents[1] / "labels" / "figures.jsonl"
SAME = 0.5
"""Two boxes are of one figure from this intersection over union."""
AIM = 0.85


class Figure(Value):
    """A figure on a page; any of the captions is right."""

    box: tuple[float, float, float, float]
    captions: tuple[str, ...]


class Page(Value):
    """The figures of one page, which counts from 1, of `set/file.pdf`."""

    document: str
    page: int
    figures: tuple[Figure, ...]


def main() -> None:
    """Measure and print."""
    count: Counter[str] = Counter()
    rows = []
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        labelled = Page.model_validate_json(line)
        name, _, file = labelled.document.partition("/")
        folder = evaluation_set(name)
        if folder is None:
            count["pages that are not here"] += 1
            continue
        seen = _judged(labelled, _found(folder / "pdfs" / file, labelled.page))
        count.update(seen)
        rows.append([f"{file[:40]} {labelled.page}", *(str(seen[key]) for key in ("there", "found", "right", "more"))])
    print_table("Figures by page", ["page", "there", "found", "caption right", "found, not there"], rows)
    there = max(count["there"], 1)
    print_table(
        f"Figures (a box counts as found from {SAME} intersection over union)",
        ["", "of", "share"],
        [
            ["found", str(there), f"{count['found'] / there:.3f}"],
            ["found with the right caption", str(there), f"{count['right'] / there:.3f}"],
            ["precision of what was found", str(count["all"]), f"{count['found'] / max(count['all'], 1):.3f}"],
        ],
    )
    if missing := count["pages that are not here"]:
        print(f"\n{missing} labelled pages are not here: set RAGSCOPE_EVAL_DIR")
    share = count["right"] / there
    print_aim("figures with the right caption", share, f"at least {AIM}", met=share >= AIM)


def _found(path: Path, number: int) -> list[tuple[Box, str]]:
    """The figures that we find on a page, with their captions."""
    with pymupdf.open(path) as document, tempfile.TemporaryDirectory() as crops:
        page = document[number - 1]
        if page.rotation:
            page.remove_rotation()
        blocks = read_page(page, Path(crops), repeated_images(document)).blocks
    return [
        (block.box, before.text if before and before.kind == "caption" else "")
        for before, block in zip([None, *blocks], blocks, strict=False)
        if block.kind == "figure"
    ]


def _judged(labelled: Page, found: Sequence[tuple[Box, str]]) -> Counter[str]:
    left = list(found)
    count = Counter(there=len(labelled.figures), all=len(left))
    for figure in labelled.figures:
        best = max(left, key=lambda pair: _overlap(figure.box, pair[0]), default=None)
        if best is None or _overlap(figure.box, best[0]) < SAME:
            continue
        left.remove(best)
        count["found"] += 1
        count["right"] += any(_begins(best[1], caption) for caption in figure.captions)
    count["more"] = len(left)
    return count


def _begins(text: str, words: str) -> bool:
    if not words:
        return not text
    return "".join(text.split()).casefold().startswith("".join(words.split()).casefold())


def _overlap(one: tuple[float, float, float, float], box: Box) -> float:
    """Intersection over union."""
    first, second = pymupdf.Rect(one), pymupdf.Rect(box.x0, box.y0, box.x1, box.y1)
    shared = first & second
    both = 0.0 if shared.is_empty else abs(shared)
    return both / (abs(first) + abs(second) - both)
