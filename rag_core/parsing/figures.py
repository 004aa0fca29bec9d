"""Where the figures of a page are: pictures, drawings, and what the layout model takes for one.

The filters and their numbers come from looking at figures in papers, reports, manuals and brochures with boxes drawn.
All sizes are points.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_core.parsing.vendor import MupdfError, pymupdf

MERGE_GAP = 6
PANEL_GAP = 40
STACK_GAP = 20
MIN_SIDE = 28
MIN_SHARE = 0.004
MIN_DRAWING_SIDE = 24
MIN_DRAWING_SHARE = 0.006
MIN_PATHS = 4
BACKGROUND_SHARE = 0.9
MERGED_SHARE = 0.4
PROSE_SHARE = 0.3
HEADING_GAP = 20
CROP_DPI = 150
CROP_PIXELS = 2_000
REPEAT_PAGES = 500

Rect = Any
"""`pymupdf.Rect`, which has no types."""


def repeated_images(document: pymupdf.Document) -> frozenset[int]:
    """The xrefs of pictures on more than a tenth of the pages: logos and ornaments."""
    pages = min(document.page_count, REPEAT_PAGES)
    seen: Counter[int] = Counter()
    for number in range(pages):
        with suppress(MupdfError, RuntimeError, ValueError):  # a damaged page is named when it is read
            seen.update({image[0] for image in document.get_page_images(number)})
    return frozenset(xref for xref, count in seen.items() if count > max(3, pages / 10))


def find_figures(
    page: pymupdf.Page,
    *,
    pictures: Sequence[Rect],
    tables: Sequence[Rect],
    prose: Sequence[Rect],
    lines: Sequence[Rect],
    repeated: frozenset[int],
    drawings: bool,
) -> list[Rect]:
    """Give the boxes of the figures on a page, from the top.

    Args:
        pictures: What the layout model calls a picture.
        tables: Nothing that lies in one of these is a figure.
        prose: Running text and captions: a drawing behind much of it is a shaded box, a picture is background there.
        lines: All lines of text.
        repeated: Pictures that count only where they are large.
        drawings: Whether to look at drawings; clustering many thousand paths takes minutes.
    """
    images = _images(page, repeated)
    apart = _distinct([rect for rect in images if _is_headed(rect, images, lines)])
    seen = [rect for rect in (*pictures, *images) if rect not in apart and not _holds(rect, apart)]
    found = [*_merged([*seen, *(_drawings(page, prose) if drawings else ())], page.rect), *apart]
    kept = [
        rect
        for whole in found
        for rect in _beside_prose(whole, prose)
        if min(rect.width, rect.height) >= MIN_SIDE
        and MIN_SHARE <= _share(rect, page.rect) <= BACKGROUND_SHARE
        and not any(_share(rect & table, rect) > 0.6 for table in tables)
    ]
    return sorted(kept, key=lambda rect: (rect.y0, rect.x0))


def join_panels(figures: Sequence[Rect], captions: Sequence[Rect]) -> list[Rect]:
    """Join figures that stand over or under one caption, in a row or a grid: they are its panels."""
    joined = list(figures)
    for caption in captions:
        panels = [
            rect
            for rect in joined
            if _across(rect, caption) > 0.5 * rect.width and -1 <= _down(rect, caption) <= PANEL_GAP
        ]
        above = [rect for rect in panels if rect.y1 <= caption.y0 + 1]
        others = [other for other in captions if other is not caption]
        panels = _with_neighbours(above, joined, others) or panels
        if len(panels) > 1:
            whole = pymupdf.Rect(panels[0])
            for rect in panels:
                whole |= rect
                joined.remove(rect)
            joined.append(whole)
    return sorted(joined, key=lambda rect: (rect.y0, rect.x0))


def find_frames(page: pymupdf.Page, captions: Sequence[Rect], prose: Sequence[Rect]) -> list[Rect]:
    """Give the boxes drawn around text (a dialogue, code) over the caption of a figure: their text is the figure.

    Args:
        captions: Those of figures alone.
        prose: Running text. A box that it crosses is a background.
    """
    drawn = [rect & page.rect for rect in page.cluster_drawings()]
    boxes = [
        rect
        for rect in drawn
        if min(rect.width, rect.height) >= MIN_DRAWING_SIDE
        and _share(rect, page.rect) <= MERGED_SHARE
        and sum(_share(text & rect, rect) for text in prose) > PROSE_SHARE
        and not any(0.1 < _share(text & rect, text) < 0.9 for text in prose)
    ]
    frames = []
    for caption in captions:
        over = [
            rect
            for rect in boxes
            if -1 <= caption.y0 - rect.y1 <= PANEL_GAP and _across(rect, caption) > 0.5 * min(rect.width, caption.width)
        ]
        whole = pymupdf.Rect()
        for rect in _with_neighbours(over, boxes, [other for other in captions if other is not caption]):
            whole |= rect
        if over:
            frames.append(whole)
    return frames


def _with_neighbours(panels: Sequence[Rect], figures: Sequence[Rect], captions: Sequence[Rect]) -> list[Rect]:
    """Add the figures that stand directly above or beside the panels, none with a caption of its own."""
    grid = list(panels)
    while True:
        more = [
            rect
            for rect in figures
            if rect not in grid
            and any(_is_over(rect, panel) or _is_beside(rect, panel) for panel in grid)
            and not any(_across(rect, caption) > 0 and _down(rect, caption) <= PANEL_GAP for caption in captions)
        ]
        if not more:
            return grid
        grid += more


def _is_over(rect: Rect, panel: Rect) -> bool:
    return -1 <= panel.y0 - rect.y1 < STACK_GAP and _across(rect, panel) > 0.5 * rect.width


def _is_beside(rect: Rect, panel: Rect) -> bool:
    shared = min(rect.y1, panel.y1) - max(rect.y0, panel.y0)
    return shared > 0.7 * max(rect.height, panel.height) and -1 <= -_across(rect, panel) < PANEL_GAP


def _across(one: Rect, other: Rect) -> float:
    """The width that two have in common; below 0, how far they are apart."""
    return min(one.x1, other.x1) - max(one.x0, other.x0)


def _down(one: Rect, other: Rect) -> float:
    """How far one is above or below the other."""
    return max(other.y0 - one.y1, one.y0 - other.y1)


def save_crop(page: pymupdf.Page, rect: Rect, folder: Path) -> str | None:
    """Draw a part of a page to a PNG named by its content; None where it shows nothing."""
    dpi = max(36, min(CROP_DPI, int(CROP_PIXELS * 72 / max(rect.width, rect.height))))
    pixmap = page.get_pixmap(clip=rect, dpi=dpi)
    if pixmap.is_unicolor:
        return None
    png = pixmap.tobytes("png")
    name = f"{hashlib.sha256(png).hexdigest()[:32]}.png"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.part"
    partial.write_bytes(png)
    partial.replace(folder / name)
    return name


def _images(page: pymupdf.Page, repeated: frozenset[int]) -> list[Rect]:
    found = []
    # Finding xrefs decodes every picture of the page, and one that is damaged raises.
    for image in page.get_image_info(xrefs=bool(repeated)):
        rect = pymupdf.Rect(image["bbox"]) & page.rect
        ornament = image.get("xref") in repeated and _share(rect, page.rect) < 0.25
        if not ornament and min(rect.width, rect.height) >= 8 and _share(rect, page.rect) <= BACKGROUND_SHARE:
            found.append(rect)
    return found


def _drawings(page: pymupdf.Page, prose: Sequence[Rect]) -> list[Rect]:
    paths = page.get_drawings()
    return [
        rect & page.rect for rect in page.cluster_drawings(drawings=paths) if _is_drawing(rect, paths, page.rect, prose)
    ]


def _is_drawing(rect: Rect, paths: Sequence[dict[str, Any]], page: Rect, prose: Sequence[Rect]) -> bool:
    if min(rect.width, rect.height) < MIN_DRAWING_SIDE or _share(rect, page) < MIN_DRAWING_SHARE:
        return False
    if sum(_share(text & rect, rect) for text in prose) > PROSE_SHARE:
        return False
    inside = [path for path in paths if path["rect"] in rect]
    curves = any(item[0] == "c" for path in inside for item in path["items"])
    solid = sum(min(path["rect"].width, path["rect"].height) > 2 for path in inside)
    return curves or (len(inside) >= MIN_PATHS and solid >= 1)


def _beside_prose(rect: Rect, prose: Sequence[Rect]) -> list[Rect]:
    """Cut off what lies under running text: it is background there, or clipped away on the page.

    Text across the whole width stands between two figures; from other text the largest side is left.
    """
    for text in prose:
        if _share(text & rect, text) > 0.1:
            left = pymupdf.Rect(rect.x0, rect.y0, text.x0, rect.y1)
            right = pymupdf.Rect(text.x1, rect.y0, rect.x1, rect.y1)
            above = pymupdf.Rect(rect.x0, rect.y0, rect.x1, text.y0)
            below = pymupdf.Rect(rect.x0, text.y1, rect.x1, rect.y1)
            if (text & rect).width > 0.9 * rect.width:
                return [part for side in (above, below) if not side.is_empty for part in _beside_prose(side, prose)]
            rect = max((left, right, above, below), key=lambda side: 0 if side.is_empty else side.width * side.height)
    return [rect]


def _is_headed(rect: Rect, images: Sequence[Rect], lines: Sequence[Rect]) -> bool:
    """Whether a picture that touches others has a heading of its own, and so is no tile of one picture."""
    beside = any(_near(rect, other) and _share(rect & other, rect) < 0.1 for other in images)
    if not beside or min(rect.width, rect.height) < MIN_SIDE:
        return False
    return any(
        line.x0 >= rect.x0 and line.x1 <= rect.x1 and -1 <= rect.y0 - line.y1 < HEADING_GAP and line.width > line.height
        for line in lines
    )


def _distinct(rects: Sequence[Rect]) -> list[Rect]:
    """Leave out what lies in a rectangle before it."""
    kept: list[Rect] = []
    for rect in rects:
        if not any(_share(rect & other, rect) > 0.9 for other in kept):
            kept.append(rect)
    return kept


def _holds(rect: Rect, apart: Sequence[Rect]) -> bool:
    """Whether a box holds the better part of several pictures that are to stay apart."""
    return sum(_share(rect & other, other) > 0.3 for other in apart) > 1


def _merged(rects: Sequence[Rect], page: Rect) -> list[Rect]:
    """Join neighbours, but for unions that would cover much of the page more than their larger part does."""
    found: list[Rect] = []
    for rect in rects:
        if rect.is_empty:
            continue
        joined = True
        while joined:
            joined = False
            for other in found:
                union = rect | other
                grown = _share(union, page) > max(MERGED_SHARE, _share(rect, page), _share(other, page)) + 0.01
                if _near(rect, other) and not grown:
                    found.remove(other)
                    rect, joined = union, True
                    break
        found.append(rect)
    return found


def _near(one: Rect, other: Rect) -> bool:
    return max(-_across(one, other), _down(one, other)) < MERGE_GAP


def _share(part: Rect, whole: Rect) -> float:
    """The part of `whole`'s area that `part` has."""
    return abs(part.width * part.height) / max(whole.width * whole.height, 1) if not part.is_empty else 0.0
