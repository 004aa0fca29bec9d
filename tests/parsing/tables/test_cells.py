from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_core.parsing.lines import clean
from rag_core.parsing.tables import Cell, as_text, header_rows, read_caption, read_html, write_html
from rag_core.parsing.tables.cells import SLOT_LIMIT, slots
from rag_core.types import Box

TENTHS = st.integers(-9_999, 99_999).map(lambda tenths: tenths / 10)
CELLS = st.builds(
    Cell,
    st.text(max_size=20).map(clean),
    header=st.booleans(),
    colspan=st.integers(1, 5),
    rowspan=st.integers(1, 5),
    box=st.none() | st.builds(Box, x0=TENTHS, y0=TENTHS, x1=TENTHS, y1=TENTHS),
    page=st.none() | st.integers(1, 9_999),
)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5).map(tuple), max_size=5), st.text(max_size=20).map(clean))
def test_what_is_written_reads_back_as_it_was(rows: list[tuple[Cell, ...]], caption: str) -> None:
    html = write_html(rows, caption)
    assert read_html(html) == rows
    assert read_caption(html) == caption


def test_only_cells_spans_places_and_text_are_left_of_html() -> None:
    hostile = (
        "<table onclick=x><tr style='a'><td colspan=\"2\" rowspan='9999' onmouseover=\"go()\" data-box='1 2 3 x\"'>"
        "<b>Net</b><br/>sales<img src='//x'></td><td colspan=-3 data-page='0'>&lt;script&gt;</td></tr></table>"
        "<script>go()</script>"
    )
    assert write_html(read_html(hostile)) == (
        '<table><tr><td colspan="2" rowspan="100">Net sales</td><td>&lt;script&gt;</td></tr></table>'
    )


def test_text_has_a_line_a_row_without_its_empty_cells() -> None:
    rows = [(Cell(""), Cell("2022"), Cell("2023")), (Cell(""), Cell("")), (Cell("Sales"), Cell("1"), Cell("2"))]
    assert as_text(rows) == "2022 | 2023\nSales | 1 | 2"


def test_the_header_is_the_rows_of_header_cells_at_the_top() -> None:
    head, body = (Cell("a", header=True),), (Cell("b"),)
    assert header_rows([head, head, body]) == 2
    assert header_rows([head, head]) == 1


def test_where_no_heading_is_marked_it_is_the_first_row_unless_that_has_a_value_or_is_long() -> None:
    body = (Cell("Total"), Cell("98"))
    assert header_rows([(Cell("Item"), Cell("2021")), body]) == 1
    assert header_rows([(Cell("2020"), Cell("$ 75")), body]) == 0
    assert header_rows([(Cell("10.1"), Cell("word " * 40)), body]) == 0


def test_a_cell_stands_in_every_slot_that_it_spans() -> None:
    wide, high = Cell("wide", colspan=2), Cell("high", rowspan=2)
    grid = slots([(high, wide), (Cell("b"), Cell("c")), (Cell("d"),)])
    assert [[cell.text for cell in line] for line in grid] == [
        ["high", "wide", "wide"],
        ["high", "b", "c"],
        ["d", "", ""],
    ]


def test_spans_cannot_fill_the_memory() -> None:
    row = tuple(Cell("x", colspan=100, rowspan=100) for _ in range(100))
    assert sum(map(len, slots([row] * 3_000))) <= SLOT_LIMIT
