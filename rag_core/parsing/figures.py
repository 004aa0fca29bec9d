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
MIN_SIDE = 28
MIN_SHARE = 0.004
MIN_DRAWING_SIDE = 24
MIN_DRAWING_SHARE = 0.006
MIN_PATHS = 4
BACKGROUND_SHARE = 0.9
MERGED_SHARE = 0.4
PROSE_SHARE = 0.3
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
    repeated: frozenset[int],
    drawings: bool,
) -> list[Rect]:
    """Give the boxes of the figures on a page, from the top.

    Args:
        pictures: What the layout model calls a picture.
        tables: Nothing that lies in one of these is a figure.
        prose: Running text and captions: a drawing behind much of it is a shaded box, a picture is background there.
        repeated: Pictures that count only where they are large.
        drawings: Whether to look at drawings; clustering many thousand paths takes minutes.
    """
    found = _merged([*pictures, *_images(page, repeated), *(_drawings(page, prose) if drawings else ())], page.rect)
    kept = [
        rect
        for rect in (_beside_prose(rect, prose) for rect in found)
        if min(rect.width, rect.height) >= MIN_SIDE
        and MIN_SHARE <= _share(rect, page.rect) <= BACKGROUND_SHARE
        and not any(_share(rect & table, rect) > 0.6 for table in tables)
    ]
    return sorted(kept, key=lambda rect: (rect.y0, rect.x0))


def join_panels(figures: Sequence[Rect], captions: Sequence[Rect]) -> list[Rect]:
    """Join figures that stand side by side over or under one caption: they are its panels."""
    joined = list(figures)
    for caption in captions:
        panels = [
            rect
            for rect in joined
            if min(rect.x1, caption.x1) - max(rect.x0, caption.x0) > 0.5 * rect.width
            and -1 <= max(caption.y0 - rect.y1, rect.y0 - caption.y1) <= PANEL_GAP
        ]
        above = [rect for rect in panels if rect.y1 <= caption.y0 + 1]
        panels = above or panels
        if len(panels) > 1:
            whole = pymupdf.Rect(panels[0])
            for rect in panels:
                whole |= rect
                joined.remove(rect)
            joined.append(whole)
    return sorted(joined, key=lambda rect: (rect.y0, rect.x0))


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


def _beside_prose(rect: Rect, prose: Sequence[Rect]) -> Rect:
    """Cut off what lies under running text: it is background there, or clipped away on the page."""
    for text in prose:
        if _share(text & rect, text) > 0.1:
            sides = (
                pymupdf.Rect(rect.x0, rect.y0, text.x0, rect.y1),
                pymupdf.Rect(text.x1, rect.y0, rect.x1, rect.y1),
                pymupdf.Rect(rect.x0, rect.y0, rect.x1, text.y0),
                pymupdf.Rect(rect.x0, text.y1, rect.x1, rect.y1),
            )
            rect = max(sides, key=lambda side: 0 if side.is_empty else side.width * side.height)
    return rect


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
    across = max(one.x0, other.x0) - min(one.x1, other.x1)
    down = max(one.y0, other.y0) - min(one.y1, other.y1)
    return max(across, down) < MERGE_GAP


def _share(part: Rect, whole: Rect) -> float:
    """The part of `whole`'s area that `part` has."""
    return abs(part.width * part.height) / max(whole.width * whole.height, 1) if not part.is_empty else 0.0
