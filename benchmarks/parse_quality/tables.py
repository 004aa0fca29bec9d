"""Tables found and cells right, beside PyMuPDF's own `find_tables`.

The labels name pages drawn at random (seeded) from the pages with numbers in rows or a "Table n" on them, a document
after the other, and were made by looking at the pages: the box of each table, some of its cells, and boxes of what may
be called a table or not. A table is found where a box covers it. A cell is right where its value alone stands in a
slot that has its row's label to the left and its column's heading above; it is right by name where the labels
that the product itself gives to rows and columns find it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evaluation import evaluation_set
from benchmarks.table import print_aim, print_table
from rag_core.parsing.full import read_page
from rag_core.parsing.tables import Cell, TableView
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box

LABELS = Path(__file__).resolve().parents[1] / "labels" / "tables.jsonl"
COVERS = 0.6
"""Overlap over union from which a found table is the labelled one: a header row more or less is let pass."""

TABLES_AIM = CELLS_AIM = 0.95
CUT = "…"


@dataclass(frozen=True)
class Found:
    """A table that a reader gives."""

    box: Box
    view: TableView


@dataclass
class Score:
    """What a reader has got right so far."""

    labelled: int = 0
    found: int = 0
    false: int = 0
    cells: int = 0
    right: int = 0
    named: int = 0
    shapes: int = 0
    shaped: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.found / max(self.labelled, 1)

    @property
    def precision(self) -> float:
        return self.found / max(self.found + self.false, 1)


def main() -> None:
    """Print the figures, and what is missed."""
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    scores = {"Ragscope": Score(), "PyMuPDF find_tables()": Score()}
    with tempfile.TemporaryDirectory() as folder:
        for label in labels:
            collection, _, name = label["pdf"].partition("/")
            base = evaluation_set(collection)
            if base is None:
                print(f"skipped: the set {collection!r} is not here (RAGSCOPE_EVAL_DIR)")
                continue
            with pymupdf.open(base / "pdfs" / name) as document:
                # A page each: the layout that the one reader has found would serve the other.
                readers = (_ours(document[label["page"] - 1], Path(folder)), _theirs(document[label["page"] - 1]))
                for score, found in zip(scores.values(), readers, strict=True):
                    _count(score, label, found)
    ours = scores["Ragscope"]
    for line in ours.missed:
        print(line)
    print_table(
        f"Tables of {len(labels)} pages ({ours.labelled} tables, {ours.cells} cells)",
        ["reader", "recall", "precision", "cells right", "right by name", "columns right"],
        [
            [name, *(f"{value:.3f}" for value in (score.recall, score.precision, *_shares(score)))]
            for name, score in scores.items()
        ],
    )
    print_aim("tables found", ours.recall, f"at least {TABLES_AIM}", met=ours.recall >= TABLES_AIM)
    cells = ours.right / max(ours.cells, 1)
    print_aim("cells right", cells, f"at least {CELLS_AIM}", met=cells >= CELLS_AIM)


def _shares(score: Score) -> tuple[float, float, float]:
    return score.right / max(score.cells, 1), score.named / max(score.cells, 1), score.shaped / max(score.shapes, 1)


def _ours(page: pymupdf.Page, folder: Path) -> Iterator[Found]:
    for block in read_page(page, folder, frozenset()).blocks:
        if block.kind == "table" and block.html:
            yield Found(block.box, TableView.from_html(block.html))


def _theirs(page: pymupdf.Page) -> Iterator[Found]:
    finder = page.find_tables()
    for table in finder.tables if finder else ():
        x0, y0, x1, y1 = table.bbox
        rows = [tuple(Cell(text or "") for text in row) for row in table.extract()]
        yield Found(Box(x0=x0, y0=y0, x1=x1, y1=y1), TableView.from_rows(rows))


def _count(score: Score, label: dict[str, Any], found: Iterator[Found]) -> None:
    given = list(found)
    for number, table in enumerate(label["tables"]):
        box = _box(table["box"])
        here = max(given, key=lambda one: _overlap(one.box, box), default=None)
        where = f"{label['pdf']} page {label['page']} table {number + 1}"
        score.labelled += 1
        score.cells += len(table["cells"])
        score.shapes += "columns" in table
        if here is None or _overlap(here.box, box) < COVERS:
            score.missed.append(f"{where}: not found")
            continue
        score.found += 1
        given.remove(here)
        score.shaped += here.view.n_columns == table.get("columns", 0)
        for row, column, value in table["cells"]:
            stands, named = _stands(here.view, row, column, value), _is_named(here.view, row, column, value)
            score.right += stands
            score.named += named
            if not (stands and named):
                score.missed.append(f"{where}: {row} | {column} | {value}: {'by name' if stands else 'not right'}")
    either = [_box(sides) for sides in label.get("either", ())]
    for one in given:
        if not any(_share(one.box, box) > 0.5 for box in either):
            score.false += 1
            score.missed.append(f"{label['pdf']} page {label['page']}: no table at {one.box}")


def _stands(view: TableView, row: str, column: str, value: str) -> bool:
    """Whether a slot with the value has the row's label to its left and the column's headings above it."""
    label = _key(row.rsplit(" > ", maxsplit=1)[-1])
    headings = [_key(part) for part in column.split(" > ")]
    for at, cells in enumerate(view.cells):
        for across, cell in enumerate(cells):
            if _same(cell.text, value):
                left = [_key(other.text) for other in cells[:across]]
                above = list(dict.fromkeys(view.cells[over][across].text for over in range(at)))
                if (not label or label in left or label == "".join(left)) and _heads(above, headings):
                    return True
    return False


def _is_named(view: TableView, row: str, column: str, value: str) -> bool:
    labels = [_key(part) for part in row.split(" > ")]
    headings = [_key(part) for part in column.split(" > ")]
    return any(
        _same(view.cell(at, across).text, value)
        and _ends(view.row_path(at), labels)
        and _heads(view.column_path(across, at), headings)
        for at in view.body
        for across in range(view.n_columns)
    )


def _heads(path: Sequence[str], headings: Sequence[str]) -> bool:
    """Whether all headings stand in the path, over one or several of its cells."""
    whole, parts = _key("".join(path)), list(map(_key, path))
    return all(heading in whole or heading in parts for heading in headings)


def _ends(path: Sequence[str], labels: Sequence[str]) -> bool:
    keys = [_key(part) for part in path]
    last = bool(keys) and (not labels[-1] or keys[-1].endswith(labels[-1]))
    return (last or not labels[-1]) and all(label in keys for label in labels[:-1])


def _same(text: str, value: str) -> bool:
    """Signs of currency and of per cents may be there or not; a long value is labelled by how it begins and ends."""
    begin, cut, end = _figure(value).partition(CUT)
    return _figure(text).startswith(begin) and text.endswith(value[-3:]) if cut and end else _figure(text) == begin


def _figure(text: str) -> str:
    return re.sub(r"[\s$%]", "", re.sub("[-–—−]+", "-", text))


def _key(text: str) -> str:
    """Letters and digits; a heading of signs alone stays as it is."""
    return re.sub(r"[\W_]", "", text.casefold()) or text.strip()


def _box(sides: Sequence[float]) -> Box:
    x0, y0, x1, y1 = sides
    return Box(x0=x0, y0=y0, x1=x1, y1=y1)


def _overlap(one: Box, other: Box) -> float:
    both = _both(one, other)
    return both / max(_area(one) + _area(other) - both, 1)


def _share(part: Box, whole: Box) -> float:
    return _both(part, whole) / max(_area(part), 1)


def _both(one: Box, other: Box) -> float:
    across, down = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(across, 0) * max(down, 0)


def _area(box: Box) -> float:
    return (box.x1 - box.x0) * (box.y1 - box.y0)
