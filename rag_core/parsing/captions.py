"""Captions: which text names a table or a figure, and what it is called, so that a question can name it too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_core.parsing.boxes import around, gap, overlap_x, overlap_y
from rag_core.parsing.parts import LABEL_CHARS, Part

CAPTION_GAP = 40
CAPTION_SLACK = 12
CAPTION_CHARS = 900
CENTRED = 0.12

_TABLE = r"table|tab\.|exhibit|schedule"
_FIGURE = r"figure|fig\.?|chart|graph|plate|diagram|image|photo|scheme"
_NUMBER = r"(?:\d+|[IVX]+)(?:[.-]\d+)*"
TABLE_CAPTION = re.compile(rf"({_TABLE})\s*[\dIVX]", re.IGNORECASE)
FIGURE_CAPTION = re.compile(rf"({_FIGURE})\s*[\dIVX]", re.IGNORECASE)
CAPTION_START = re.compile(rf"(?i:{_TABLE}|{_FIGURE})\s*{_NUMBER}[a-z]?\s*([:.|–—]|$|[A-Z(])")
"""Tells "Figure 5: Recall" from the running text "Figure 5 compares"."""

SOURCE = re.compile(r"(source|note)s?\s*:", re.IGNORECASE)
_NAMED = re.compile(
    r"(?i:\b(tables?|tabs?\.|figures?|figs?\.?|charts?|exhibits?|schedules?|plates?|diagrams?|schemes?))\s*"
    rf"({_NUMBER}(?:[a-z]\b)?(?:\s*(?:,|and|&|to|–|-)+\s*(?:and\s+)?{_NUMBER}(?:[a-z]\b)?)*)"
)
_SHORT = {"tab.": "table", "tab": "table", "fig.": "figure", "fig": "figure"}


def labels_in(text: str) -> Iterator[str]:
    """What a text calls by number, in its order: 'see Figs. 3 and 4' gives 'figure 3' and 'figure 4'."""
    for noun, numbers in _NAMED.findall(text):
        kind = noun.lower().removesuffix(".").removesuffix("s")
        for number in re.findall(_NUMBER, numbers):
            yield f"{_SHORT.get(kind, kind)} {number.lower()}"


def label_of(caption: str) -> str | None:
    """What a caption calls its table or figure: 'Fig. 3: Recall' gives 'figure 3'; None where it does not say."""
    return next(labels_in(caption), None) if CAPTION_START.match(caption) else None


def may_caption(part: Part) -> bool:
    if part.kind == "caption":
        return bool(part.lines)
    named = part.lines and CAPTION_START.match(part.lines[0].text)
    return bool(named) and part.kind in ("text", "title", "list") and part.chars < CAPTION_CHARS


def pair_captions(parts: list[Part]) -> None:
    """Put each caption directly before the table or figure that it stands nearest to; others become text.

    A chart without a number has its headline for a caption, with what names its source.
    """
    captions = _nearest(parts)
    for owner, caption in captions.items():
        caption.kind = "caption"
        parts.remove(caption)
        parts.insert(parts.index(owner), caption)
    for part in parts:
        if part.kind == "caption" and part not in captions.values():
            part.kind = "text"
    for owner in [part for part in parts if part.kind in ("table", "figure")]:
        caption = captions.get(owner)
        if caption is None or not CAPTION_START.match(caption.lines[0].text):
            _head_as_caption(owner, caption, parts)
        else:
            owner.lines += [line for head in owner.heads for line in head.lines]


def _nearest(parts: Sequence[Part]) -> dict[Part, Part]:
    """The caption of each table and figure that has one."""
    pairs = sorted(
        (
            (apart + _unusual(caption, owner), number, owner, caption)
            for number, caption in enumerate(parts)
            if may_caption(caption)
            for owner in parts
            if owner.kind in ("table", "figure") and _fits(caption, owner)
            if (apart := gap(caption.box, owner.box)) <= CAPTION_GAP
        ),
        key=lambda pair: pair[:2],
    )
    captions: dict[Part, Part] = {}
    for _, _, owner, caption in pairs:
        if owner not in captions and caption not in captions.values():
            captions[owner] = caption
    return captions


def _fits(caption: Part, owner: Part) -> bool:
    text = caption.lines[0].text
    if owner.kind == "table":
        return not FIGURE_CAPTION.match(text)
    return not TABLE_CAPTION.match(text)


def _unusual(caption: Part, owner: Part) -> float:
    """What a caption over a figure counts as further away than one under it."""
    return CAPTION_GAP / 2 if owner.kind == "figure" and caption.box.y0 < owner.box.y0 else 0.0


def _head_as_caption(owner: Part, source: Part | None, parts: list[Part]) -> None:
    """Make the heading of a chart, with its subtitle, the caption: it heads no text.

    What stood as caption under the chart, which names its source, comes after it.
    """
    over = [part for part in parts if _heads(part, owner)]
    beside = any(
        part.kind in ("text", "list") and overlap_x(part.box, owner.box) <= 0 and overlap_y(part.box, owner.box) > 0
        for part in parts
    )
    headed = any(part.kind == "title" and (beside or _centred(part, owner)) for part in over)
    headed = headed and not any(_goes_on(part, over) for part in parts)
    joined = [*(over if headed else ()), *owner.heads]
    if not joined:
        return
    joined += [source] if source else [part for part in parts if _names_source(part, owner)][:1]
    for part in joined:
        if part in parts:
            parts.remove(part)
    lines = [line for part in joined for line in part.lines]
    parts.insert(parts.index(owner), Part("caption", around(part.box for part in joined), lines))


def _heads(part: Part, owner: Part) -> bool:
    """Whether a short text stands directly over a figure, no wider than it."""
    return (
        part.kind in ("title", "text")
        and 0 < part.chars <= 2 * LABEL_CHARS
        and part.box.x0 > owner.box.x0 - CAPTION_SLACK
        and part.box.x1 < owner.box.x1 + CAPTION_SLACK
        and -CAPTION_SLACK < owner.box.y0 - part.box.y1 < CAPTION_GAP
    )


def _centred(part: Part, owner: Part) -> bool:
    middle = (owner.box.x0 + owner.box.x1) / 2
    return abs((part.box.x0 + part.box.x1) / 2 - middle) < CENTRED * (owner.box.x1 - owner.box.x0)


def _goes_on(part: Part, over: Sequence[Part]) -> bool:
    """Whether a heading that is too wide goes on in these lines: they are its end."""
    top = min(lower.box.y0 for lower in over)
    return part.kind == "title" and part not in over and -1 < top - part.box.y1 < CAPTION_SLACK + 1


def _names_source(part: Part, owner: Part) -> bool:
    below = -CAPTION_SLACK < part.box.y0 - owner.box.y1 < CAPTION_GAP and overlap_x(part.box, owner.box) > 0
    return below and part.kind in ("text", "footnote") and bool(part.lines and SOURCE.match(part.lines[0].text))
