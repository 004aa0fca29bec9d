"""Elements to chunks, through unstructured's `chunk_by_title`.

Text is cut at headings and at about 150 words, which is what the embedder reads of a chunk (256 tokens). A table or a
figure is a chunk of its own. A chunk keeps all the places that its text comes from.

Source: https://docs.unstructured.io/open-source/core-functionality/chunking
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rag_core.parsing.nearby import Nearby
from rag_core.parsing.tables import TableView, as_text, write_html
from rag_core.parsing.tables.summary import summary
from rag_core.parsing.tables.whole import WholeTable, cut, places, whole_tables
from rag_core.types import Box, Chunk, ChunkKind, Element, Place

NAMESPACE = uuid.UUID("0b6d3f0a-1c7e-5d58-8f5d-6d7f5f3c9a42")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


class ChunkSettings(BaseModel):
    """How large chunks are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_chars: int = Field(default=1_000, ge=200, le=8_000, description="No chunk of text is longer, in characters.")
    new_after_chars: int = Field(
        default=800, ge=100, le=8_000, description="A chunk this long takes no further paragraph."
    )
    combine_under_chars: int = Field(
        default=300, ge=0, le=8_000, description="A section shorter than this is joined with the next."
    )
    table_chars: int = Field(
        default=1_200, ge=200, le=8_000, description="A longer table is split between rows; each part has its header."
    )
    passage_chars: int = Field(
        default=2_000, ge=200, le=20_000, description="A longer passage of a passages file is split."
    )


def chunk(elements: Sequence[Element], *, document: str, name: str, settings: ChunkSettings) -> list[Chunk]:
    """Cut a document into chunks.

    Args:
        elements: In reading order; a caption directly before a table or figure on its page belongs to it.
        document: Id of the document; part of the chunks' ids.
        name: The document's name as the user knows it.

    Returns:
        In reading order. Headers and footers are in none; headings are in the text that they begin and in `section`
        of what follows.
    """
    captions = {
        after.id: before
        for before, after in pairwise(elements)
        if before.kind == "caption" and after.kind in ("table", "figure") and before.place.page == after.place.page
    }
    used = {caption.id for caption in captions.values()}
    position = {element.id: number for number, element in enumerate(elements)}
    running = [
        element
        for element in elements
        if element.kind not in ("table", "figure", "header", "footer") and element.id not in used and element.text
    ]
    found = list(_text_chunks(running, document, name, settings))
    nearby = Nearby(elements)
    for table in whole_tables(elements, captions):
        found += _table_chunks(table, document, name, settings)
    for element in elements:
        if element.kind == "figure":
            found += _figure_chunks(element, captions.get(element.id), nearby.of(element), document, name)
    found.sort(key=lambda pair: position[pair[0]])
    return _numbered([made for _, made in found], document)


def chunk_passage(
    passage: str, title: str, text: str, *, document: str, name: str, settings: ChunkSettings, order: int = 0
) -> list[Chunk]:
    """Make the chunk of one passage of a passages file; several only where it is too long.

    Args:
        passage: Id of the passage, which its chunks have as `source`.
        order: Position of the first chunk in the document.
    """
    section = (title,) if title else ()
    return [
        Chunk(
            id=str(uuid.uuid5(NAMESPACE, f"{document}|passage|{passage}|{number}|{part}")),
            document=document,
            name=name,
            text=part,
            section=section,
            source=passage,
            order=order + number,
        )
        for number, part in enumerate(_pieces(text, settings.passage_chars))
    ]


def _text_chunks(
    elements: Sequence[Element], document: str, name: str, settings: ChunkSettings
) -> Iterator[tuple[str, Chunk]]:
    """Chunks of running text, each with the id of the element that it begins with."""
    known = {element.id: element for element in elements}
    # Page by page: a chunk over two pages could not say on which one of them a sentence stands.
    by_page = groupby(elements, key=lambda element: element.place.page)
    for composite in chain.from_iterable(_chunked_by_title(page, settings) for _, page in by_page):
        sources = dict.fromkeys(original.id.partition("/")[0] for original in composite.metadata.orig_elements)
        of = [known[source] for source in sources]
        yield (
            of[0].id,
            Chunk(
                id="",
                document=document,
                name=name,
                text=composite.text,
                section=_common(_path(element) for element in of),
                places=_places(of),
            ),
        )


def _chunked_by_title(elements: Iterable[Element], settings: ChunkSettings) -> list[Any]:
    os.environ.update(DO_NOT_TRACK="1", UNSTRUCTURED_DISABLE_NOTICE="1")  # it would report its use at import
    # Deferred: a page that only shows documents does not wait for it.
    from unstructured.chunking.title import chunk_by_title
    from unstructured.documents.elements import ListItem, NarrativeText, Title

    classes = {"title": Title, "list": ListItem}
    pieces = [
        # Pieces leave room for a heading: a paragraph as long as a chunk would stand apart from its own.
        classes.get(element.kind, NarrativeText)(text=piece, element_id=f"{element.id}/{number}")
        for element in elements
        for number, piece in enumerate(_pieces(element.text, settings.max_chars * 4 // 5))
    ]
    return chunk_by_title(
        pieces,
        max_characters=settings.max_chars,
        new_after_n_chars=min(settings.new_after_chars, settings.max_chars),
        combine_text_under_n_chars=min(settings.combine_under_chars, settings.max_chars),
        multipage_sections=True,
        overlap=0,
        include_orig_elements=True,
    )


def _table_chunks(table: WholeTable, document: str, name: str, settings: ChunkSettings) -> Iterator[tuple[str, Chunk]]:
    first, caption = table.pieces[0], table.caption
    made = _own_chunk("table", first, caption, document, name)
    titled = " ".join(filter(None, (made.caption, *table.lead)))
    lead = [line for line in table.lead if line not in first.section]
    parts = cut(table.rows, settings.table_chars)
    for number, part in enumerate(parts):
        on = places(table, part)
        made = made.model_copy(
            update={
                "text": as_text(part),
                "html": write_html(part, titled),
                "nearby": summary(TableView.from_rows(part, titled), lead),
                "places": _joined([*([caption.place] if caption and not number else []), *on]),
            }
        )
        if made.text or made.caption:
            yield first.id, made
    if not parts and (made.text or made.caption):
        yield first.id, made


def _figure_chunks(
    figure: Element, caption: Element | None, nearby: str, document: str, name: str
) -> Iterator[tuple[str, Chunk]]:
    made = _own_chunk("figure", figure, caption, document, name).model_copy(update={"nearby": nearby})
    if made.text or made.caption or made.nearby:
        yield figure.id, made


def _own_chunk(kind: ChunkKind, element: Element, caption: Element | None, document: str, name: str) -> Chunk:
    return Chunk(
        id="",
        document=document,
        name=name,
        kind=kind,
        text=element.text,
        section=element.section,
        caption=caption.text if caption else "",
        places=_places([caption, element] if caption else [element]),
        html=element.html,
        image=element.image,
    )


def _numbered(chunks: Sequence[Chunk], document: str) -> list[Chunk]:
    """Give ids by content; where the same content comes again, by which time it is."""
    seen: Counter[str] = Counter()
    numbered = []
    for order, made in enumerate(chunks):
        content = f"{document}|{made.kind}|{made.caption}|{made.text}|{made.image or ''}"
        content += f"|{made.nearby}" if made.nearby else ""
        numbered.append(
            made.model_copy(update={"id": str(uuid.uuid5(NAMESPACE, f"{content}|{seen[content]}")), "order": order})
        )
        seen[content] += 1
    return numbered


def _path(element: Element) -> tuple[str, ...]:
    return (*element.section, element.text) if element.kind == "title" else element.section


def _common(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all have in common, outermost first."""
    common: list[str] = []
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        common.append(level[0])
    return tuple(common)


def _places(elements: Iterable[Element]) -> tuple[Place, ...]:
    return _joined(element.place for element in elements)


def _joined(places: Iterable[Place]) -> tuple[Place, ...]:
    """All boxes, a place a page, in page order."""
    boxes: dict[int, dict[Box, None]] = {}
    for place in places:
        boxes.setdefault(place.page, {}).update(dict.fromkeys(place.boxes))
    return tuple(Place(page=page, boxes=tuple(boxes[page])) for page in sorted(boxes))


def _pieces(text: str, limit: int) -> list[str]:
    """Cut a text at sentence ends, else between words, else anywhere, in pieces of at most `limit` characters."""
    if len(text) <= limit:
        return [text] if text.strip() else []
    pieces = [""]
    for sentence in SENTENCE.split(text):
        for part in _cut(sentence, limit):
            if pieces[-1] and len(pieces[-1]) + 1 + len(part) > limit:
                pieces.append("")
            pieces[-1] = f"{pieces[-1]} {part}".strip()
    return [piece for piece in pieces if piece]


def _cut(sentence: str, limit: int) -> Iterator[str]:
    while len(sentence) > limit:
        end = sentence.rfind(" ", 1, limit + 1)
        end = end if end > 0 else limit
        yield sentence[:end].strip()
        sentence = sentence[end:].strip()
    yield sentence
