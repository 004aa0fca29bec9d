"""From the blocks of single pages to the elements of one document: running heads, headings, section paths, ids."""

from __future__ import annotations

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rag_core.parsing.records import Block, PageBlocks
from rag_core.types import Element, Place

NAMESPACE = uuid.UUID("6b9f2f0e-5a39-5b0c-9a52-0c1d8f6d7b11")
EDGE = 0.1
NUMBER_EDGE = 0.15
LARGER = {"fonts": 1.15, "scan": 1.5}
"""How much larger than the body a heading is, by what sizes come from; those of a scan vary with the letters."""

HEADING_CHARS = 160
SECTION_DEPTH = 6
PAGE_NUMBER = re.compile(r"[-–—| ]*(page )?([0-9]{1,4}|[ivxlc]{1,6})( ?(of|/) ?[0-9]{1,4})?[-–—| ]*", re.IGNORECASE)
NUMBERED = re.compile(r"(?:section |chapter )?(\d{1,2}(?:\.\d{1,2})*)\.?\s+[^\W\d]", re.IGNORECASE)
LETTERS = re.compile(r"[^\W\d_]{3}")


def assemble(pages: Sequence[PageBlocks]) -> tuple[Element, ...]:
    """Make the elements of a document from its pages, which come in page order.

    A title's own heading is not in its section path, only those above it.
    """
    pages = _with_headings(_with_running_heads(pages))
    above: list[Block] = []
    elements = []
    for page in pages:
        for order, block in enumerate(page.blocks):
            if block.kind == "title":
                while above and not _is_above(above[-1], block):
                    above.pop()
            elements.append(_element(page.page, order, block, [heading.text for heading in above]))
            if block.kind == "title" and len(above) < SECTION_DEPTH:
                above.append(block)
    return tuple(elements)


def _element(page: int, order: int, block: Block, section: list[str]) -> Element:
    return Element(
        id=str(uuid.uuid5(NAMESPACE, f"{page}|{order}|{block.kind}|{block.text}")),
        kind=block.kind,
        text=block.text,
        place=Place(page=page, boxes=(block.box,)),
        section=tuple(section),
        html=block.html,
        image=block.image,
    )


def _is_above(upper: Block, lower: Block) -> bool:
    """Whether a heading holds another: by their numbers where both have one, else by size and weight."""
    numbers = NUMBERED.match(upper.text), NUMBERED.match(lower.text)
    if numbers[0] and numbers[1]:
        return lower.text.startswith(numbers[0].group(1) + ".") and numbers[0].group(1) != numbers[1].group(1)
    if abs(upper.size - lower.size) > 0.4:
        return upper.size > lower.size
    return upper.bold and not lower.bold


def _with_running_heads(pages: Sequence[PageBlocks]) -> list[PageBlocks]:
    """Mark what comes again at the edge of many pages, and page numbers there, as header or footer."""
    seen: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for page in pages:
        for key in {_edge_key(block, page) for block in page.blocks}:
            if key and page.source != "file":
                seen[key].append(page.page)
    running = {key for key, on in seen.items() if _recurs(on, len(pages))}
    return [
        page
        if page.source == "file"  # which says itself what its running heads are
        else _replaced(page, (_as_running_head(block, page, running) for block in page.blocks))
        for page in pages
    ]


def _as_running_head(block: Block, page: PageBlocks, running: set[tuple[str, str]]) -> Block:
    numbered = _edge_key(block, page, NUMBER_EDGE) if PAGE_NUMBER.fullmatch(block.text) else None
    key = numbered or _edge_key(block, page)
    if key is not None and (numbered or key in running):
        return block.model_copy(update={"kind": key[0]})
    # The layout model also calls a lone paragraph a header: what comes but once is text, and none is lost.
    return block.model_copy(update={"kind": "text"}) if block.kind in ("header", "footer") else block


def _edge_key(block: Block, page: PageBlocks, edge: float = EDGE) -> tuple[str, str] | None:
    """Which edge of the page a block stands at, or was said to, with its text but for the numbers."""
    if block.kind in ("table", "figure", "caption") or len(block.text) > 2 * HEADING_CHARS:
        return None
    text = re.sub(r"\d+", "#", block.text.casefold())
    if block.kind in ("header", "footer"):
        return block.kind, text
    sideways = block.box.y1 - block.box.y0 > 3 * (block.box.x1 - block.box.x0)
    if block.box.y1 < edge * page.height or (sideways and len(text) > 20):
        return "header", text
    if block.box.y0 > (1 - edge) * page.height:
        return "footer", text
    return None


def _recurs(on: list[int], pages: int) -> bool:
    """Chapters have their own heads, left and right pages too: dense where it is, not over the whole document."""
    return len(on) >= min(3, max(2, pages)) and len(on) >= 0.4 * (on[-1] - on[0] + 1)


def _with_headings(pages: Sequence[PageBlocks]) -> list[PageBlocks]:
    """Find the headings of pages that no layout model has read: larger or bolder than the body, and short."""
    body = _body_size(pages)
    return [
        page
        if page.source in ("layout", "file")
        else _replaced(page, (_as_heading(block, body * LARGER[page.source]) for block in page.blocks))
        for page in pages
    ]


def _as_heading(block: Block, large: float) -> Block:
    stands_out = block.size > large or (block.bold and block.size > 0.8 * large)
    text = block.text
    worded = len(text) <= HEADING_CHARS and LETTERS.search(text) and sum(map(str.isdigit, text)) < 0.3 * len(text)
    if block.kind not in ("text", "list") or not stands_out or not worded or text.endswith((".", ",", ";")):
        return block
    return block.model_copy(update={"kind": "title"})


def _body_size(pages: Iterable[PageBlocks]) -> float:
    sizes: Counter[float] = Counter()
    for page in pages:
        for block in page.blocks:
            sizes[block.size] += len(block.text)
    return max(sizes, key=lambda size: sizes[size], default=10.0)


def _replaced(page: PageBlocks, blocks: Iterable[Block]) -> PageBlocks:
    return page.model_copy(update={"blocks": tuple(blocks)})
