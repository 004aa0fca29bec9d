from __future__ import annotations

from rag_core.parsing.tables import Cell, as_text, write_html
from rag_core.parsing.tables.cells import Row
from rag_core.parsing.tables.whole import cut, places, whole_tables
from rag_core.types import Box, Element, ElementKind, Place

HEAD = (Cell("", header=True), Cell("2023", header=True))


def box(x: float, y: float) -> Box:
    return Box(x0=x, y0=y, x1=x + 40, y1=y + 10)


def row(label: str, value: str, y: float, x: float = 200) -> Row:
    return Cell(label, box=box(50, y)), Cell(value, box=box(x, y))


def element(kind: ElementKind, text: str, page: int, rows: list[Row] | None = None, y1: float = 700) -> Element:
    place = Place(page=page, boxes=(Box(x0=50, y0=40, x1=300, y1=y1),))
    html = write_html(rows) if rows else None
    return Element(id=f"{page}{kind}{text}", kind=kind, text=text, place=place, html=html)


FIRST = element("table", "one", 4, [HEAD, row("Cash", "1", 600), row("Debt", "2", 620)])


def joined(*after: Element) -> list[int]:
    return [len(table.pieces) for table in whole_tables([FIRST, *after], {})]


def test_a_table_goes_on_at_the_top_of_the_next_page_with_its_header_or_without() -> None:
    with_header = element("table", "two", 5, [HEAD, row("Bonds", "3", 50)])
    without = element("table", "two", 5, [row("Bonds", "3", 50), row("Other", "4", 70)])
    for piece in (with_header, without):
        (table,) = whole_tables(
            [FIRST, element("footer", "4", 4), element("title", "Assets (continued)", 5), piece], {}
        )
        assert [cells[0].text for cells in table.rows][:4] == ["", "Cash", "Debt", "Bonds"]
        assert [cells[1].page for cells in table.rows][:4] == [4, 4, 4, 5]


def test_what_is_another_table_is_not_joined() -> None:
    rows = [HEAD, row("Bonds", "3", 50)]
    assert joined(element("table", "two", 6, rows)) == [1, 1]
    assert joined(element("text", "Our plants.", 5), element("table", "two", 5, rows)) == [1, 1]
    assert joined(element("table", "two", 5, [HEAD, row("Bonds", "3", 50, x=400)])) == [1, 1]
    assert joined(element("table", "two", 5, [(Cell("", header=True), Cell("1999", header=True)), rows[1]])) == [1, 1]


def test_a_table_that_ends_high_on_its_page_does_not_go_on() -> None:
    rows = [HEAD, row("Bonds", "3", 50)]
    short, lowest = element("table", "one", 4, rows, y1=300), element("footer", "3", 3)
    assert [len(table.pieces) for table in whole_tables([lowest, short, element("table", "two", 5, rows)], {})] == [
        1,
        1,
    ]


def test_a_caption_of_its_own_begins_a_table() -> None:
    second = element("table", "two", 5, [HEAD, row("Bonds", "3", 50)])
    caption = element("caption", "Table 2: Bonds", 5)
    assert [len(table.pieces) for table in whole_tables([FIRST, caption, second], {second.id: caption})] == [1, 1]


def test_headings_over_a_table_lead_up_to_it_and_so_does_the_sentence_before_it() -> None:
    titles = element("title", "ADI", 4), element("title", "Cash flows", 4)
    (table,) = whole_tables([element("text", "Before.", 4), *titles, FIRST], {})
    assert table.lead == ("ADI", "Cash flows")
    pointing = element("text", "We hold cash. It is as follows (in millions):", 4)
    (table,) = whole_tables([pointing, FIRST], {})
    assert table.lead == ("It is as follows (in millions):",)


def test_every_part_has_the_headings_and_the_group_of_its_first_row() -> None:
    rows = [HEAD, (Cell("Current assets"), Cell("")), *(row(f"Item {n}", str(n), 100 + 12 * n) for n in range(40))]
    parts = cut(rows, 200)
    assert len(parts) > 2
    for part in parts:
        assert part[0] == HEAD
        assert part[1][0].text == "Current assets"
        assert len(as_text(part)) <= 200
    assert [cells for part in parts for cells in part[2:]] == rows[2:]


def test_a_part_stands_where_its_rows_are_on_each_page() -> None:
    second = element("table", "two", 5, [HEAD, row("Bonds", "3", 50), row("Other", "4", 70)])
    (table,) = whole_tables([FIRST, second], {})
    (only,) = places(table, [table.rows[0], *table.rows[3:]])
    assert (only.page, only.boxes) == (5, (Box(x0=50, y0=50, x1=240, y1=80),))
    assert [place.page for place in places(table, table.rows)] == [4, 5]
