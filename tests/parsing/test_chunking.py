from __future__ import annotations

import uuid

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_core.parsing import ChunkSettings, chunk, chunk_passage
from rag_core.parsing.tables import Cell, as_text, read_html, write_html
from rag_core.types import Box, Chunk, Element, ElementKind, Place

SETTINGS = ChunkSettings()
BOX = Box(x0=0, y0=0, x1=10, y1=10)


def element(kind: ElementKind, text: str, page: int = 1, top: float = 0, **rest: object) -> Element:
    place = Place(page=page, boxes=(Box(x0=0, y0=top, x1=10, y1=top + 10),))
    return Element.model_validate(
        {
            "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{page}{top}{kind}")),
            "kind": kind,
            "text": text,
            "place": place,
            **rest,
        }
    )


def chunked(*elements: Element, document: str = "d", **sizes: int) -> list[Chunk]:
    return chunk(elements, document=document, name="report.pdf", settings=ChunkSettings(**sizes))


def grid(rows: int, header: int = 1) -> Element:
    cells = [tuple(Cell(f"r{row}c{column}", header=row < header) for column in range(4)) for row in range(rows)]
    return element("table", as_text(cells), html=write_html(cells), section=("Sales",), top=50)


TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["title", "text", "list", "footnote", "formula"]),
        st.lists(st.from_regex(r"\A[^\W_]{1,15}[.,!?]?\Z"), min_size=1, max_size=120).map(" ".join),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=12,
)


@given(TEXTS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_word_is_lost_no_chunk_is_too_long_and_every_box_is_kept(given: list[tuple[ElementKind, str, int]]) -> None:
    given.sort(key=lambda one: one[2])
    elements = [element(kind, text, page, top) for top, (kind, text, page) in enumerate(given)]
    chunks = chunked(*elements)
    assert " ".join(made.text for made in chunks).split() == " ".join(one.text for one in elements).split()
    assert all(len(made.text) <= SETTINGS.max_chars for made in chunks)
    kept = {(place.page, box) for made in chunks for place in made.places for box in place.boxes}
    assert kept == {(one.place.page, one.place.boxes[0]) for one in elements}
    for made in chunks:
        for one in elements:
            if one.text in made.text and sum(one.text in other.text for other in elements) == 1 and len(one.text) > 20:
                assert any(one.place.boxes[0] in place.boxes for place in made.places if place.page == one.place.page)


@given(TEXTS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ids_are_unique_and_stay_and_order_counts_up(given: list[tuple[ElementKind, str, int]]) -> None:
    elements = [element(kind, text, 1, top) for top, (kind, text, _) in enumerate([*given, *given])]
    first, second = chunked(*elements), chunked(*elements)
    assert [made.id for made in first] == [made.id for made in second]
    assert len({made.id for made in first}) == len(first)
    assert [made.order for made in first] == list(range(len(first)))
    assert {made.id for made in first}.isdisjoint(made.id for made in chunked(*elements, document="e"))


def test_the_id_follows_the_content_and_not_the_page() -> None:
    (here,), (there,) = chunked(element("text", "Tides.", page=1)), chunked(element("text", "Tides.", page=7))
    assert here.id == there.id


def test_a_chunk_begins_with_its_heading_and_has_it_as_section() -> None:
    text = "The harbour is old. " * 30
    chunks = chunked(
        element("title", "1 Harbour", top=0),
        element("text", text, section=("1 Harbour",), top=10),
        element("title", "1.1 Tides", section=("1 Harbour",), top=20),
        element("text", text, section=("1 Harbour", "1.1 Tides"), top=30),
    )
    assert [made.text.split("\n")[0] for made in chunks] == ["1 Harbour", "1.1 Tides"]
    assert [made.section for made in chunks] == [("1 Harbour",), ("1 Harbour", "1.1 Tides")]


def test_a_chunk_stands_on_one_page_so_that_a_citation_can_open_it() -> None:
    first, second = chunked(element("text", "It begins here", page=1), element("text", "and ends there.", page=2))
    assert [(made.page, len(made.places)) for made in (first, second)] == [(1, 1), (2, 1)]


def test_a_long_paragraph_is_cut_at_sentence_ends() -> None:
    chunks = chunked(element("text", "This is one sentence of it. " * 100))
    assert len(chunks) > 2
    assert all(made.text.endswith(".") for made in chunks)


def test_headers_and_footers_are_in_no_chunk() -> None:
    (made,) = chunked(
        element("header", "Volume 3", top=0), element("text", "Tides.", top=1), element("footer", "7", top=2)
    )
    assert made.text == "Tides."


@given(rows=st.integers(3, 150), header=st.integers(1, 2))
@settings(max_examples=30, deadline=None)
def test_every_part_of_a_table_has_its_header_and_no_row_is_lost(rows: int, header: int) -> None:
    table = grid(rows, header)
    parts = [read_html(made.html or "") for made in chunked(table, table_chars=400)]
    whole = read_html(table.html or "")
    assert all(part[:header] == whole[:header] for part in parts)
    assert [row for part in parts for row in part[header:]] == whole[header:]
    assert all(len(as_text(part)) <= 400 for part in parts)


def test_a_table_is_a_chunk_of_its_own_with_caption_section_and_both_boxes() -> None:
    caption = element("caption", "Table 1: Sales", section=("Sales",), top=40)
    texts = element("text", "Before.", top=0), element("text", "After.", page=2)
    before, made, after = chunked(texts[0], caption, grid(3), texts[1])
    assert (before.text, after.text) == ("Before.", "After.")
    assert (made.kind, made.caption, made.section) == ("table", "Table 1: Sales", ("Sales",))
    assert made.text.startswith("r0c0 | r0c1")
    assert [len(place.boxes) for place in made.places] == [2]


def test_a_figure_has_its_crop_its_caption_and_the_text_in_it() -> None:
    caption = element("caption", "Figure 1: Catch", top=1)
    (made,) = chunked(caption, element("figure", "2021 2022", image="ab.png", top=2))
    assert (made.kind, made.image, made.caption, made.text) == ("figure", "ab.png", "Figure 1: Catch", "2021 2022")


def test_a_figure_that_says_nothing_gets_no_chunk() -> None:
    assert chunked(element("figure", "", image="ab.png")) == []


def test_a_caption_of_nothing_is_text() -> None:
    (made,) = chunked(element("caption", "Photographs by the author."))
    assert (made.kind, made.text) == ("text", "Photographs by the author.")


def test_a_passage_is_one_chunk_that_names_its_source() -> None:
    (made,) = chunk_passage("p7", "Tides", "They come twice.", document="d", name="a.jsonl", settings=SETTINGS, order=7)
    assert (made.source, made.section, made.text, made.order) == ("p7", ("Tides",), "They come twice.", 7)
    assert made.places == ()


def test_a_long_passage_is_split_and_the_parts_keep_the_source() -> None:
    text = "They come twice a day. " * 200
    parts = chunk_passage("p7", "", text, document="d", name="a.jsonl", settings=SETTINGS)
    assert " ".join(part.text for part in parts).split() == text.split()
    assert {part.source for part in parts} == {"p7"}
    assert len({part.id for part in parts}) == len(parts) == 3
    assert [part.order for part in parts] == [0, 1, 2]
