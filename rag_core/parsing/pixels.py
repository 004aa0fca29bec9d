"""Where the pictures are on a page that is all pixels: what differs from its background and is no text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rag_core.parsing.boxes import area, around, shared
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box

CELL = 6
"""Points: the page is looked at in cells of this size, four pixels a side."""
_PIXELS = 4
CONTRAST = 40
INK_SHARE = 0.1
REACH = 3
"""Cells no further apart than this belong together."""
MIN_SIDE = 48
MIN_SHARE, MAX_SHARE = 0.02, 0.9


def find_pictures(page: pymupdf.Page, words: Iterable[Box]) -> list[Box]:
    """Give the boxes of the pictures on a scanned page, from the top.

    Args:
        words: Where there is text.
    """
    ink = _ink(page)
    for box in words:
        rows, columns = _cells(box.y0, box.y1), _cells(box.x0, box.x1)
        ink[rows, columns] = False
    whole = page.rect.width * page.rect.height
    found = _joined([_box(cells) for cells in _together(ink)])
    kept = [
        box
        for box in found
        if min(box.x1 - box.x0, box.y1 - box.y0) >= MIN_SIDE and MIN_SHARE * whole <= area(box) <= MAX_SHARE * whole
    ]
    return sorted(kept, key=lambda box: (box.y0, box.x0))


def _ink(page: pymupdf.Page) -> np.ndarray:
    """Which cells of the page, (rows, columns) bool, show more than its background."""
    zoom = _PIXELS / CELL
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csRGB, alpha=False)
    image = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).astype(np.int16)
    coarse = image // 16
    shades, counts = np.unique(coarse.reshape(-1, 3), axis=0, return_counts=True)
    background = shades[counts.argmax()] * 16 + 8
    differs = np.abs(image - background).max(axis=2) > CONTRAST
    rows, columns = differs.shape[0] // _PIXELS, differs.shape[1] // _PIXELS
    cells = differs[: rows * _PIXELS, : columns * _PIXELS].reshape(rows, _PIXELS, columns, _PIXELS)
    return cells.mean(axis=(1, 3)) >= INK_SHARE


def _cells(start: float, end: float) -> slice:
    return slice(max(int(start / CELL), 0), int(end / CELL) + 1)


def _together(ink: np.ndarray) -> Iterator[np.ndarray]:
    """The cells (row, column) of each group that hangs together."""
    left = {(int(row), int(column)) for row, column in np.argwhere(ink)}
    nearby = [(down, across) for down in range(-REACH, REACH + 1) for across in range(-REACH, REACH + 1)]
    while left:
        group, edge = [], [left.pop()]
        while edge:
            row, column = edge.pop()
            group.append((row, column))
            near = {(row + down, column + across) for down, across in nearby} & left
            left -= near
            edge += near
        yield np.array(group)


def _joined(boxes: list[Box]) -> list[Box]:
    """Join what overlaps, until nothing does."""
    found: list[Box] = []
    for box in boxes:
        while touching := [other for other in found if shared(box, other) > 0]:
            box = around([box, *touching])
            found = [other for other in found if other not in touching]
        found.append(box)
    return found


def _box(cells: np.ndarray) -> Box:
    (y0, x0), (y1, x1) = cells.min(axis=0) * CELL, (cells.max(axis=0) + 1) * CELL
    return Box(x0=float(x0), y0=float(y0), x1=float(x1), y1=float(y1))
