from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_core.parsing.lines import clean
from rag_core.parsing.tables import Cell, as_text, header_rows, read_html, write_html

CELLS = st.builds(
    Cell,
    st.text(max_size=20).map(clean),
    header=st.booleans(),
    colspan=st.integers(1, 5),
    rowspan=st.integers(1, 5),
)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5).map(tuple), max_size=5))
def test_what_is_written_reads_back_as_it_was(rows: list[tuple[Cell, ...]]) -> None:
    assert read_html(write_html(rows)) == rows


def test_only_cells_spans_and_text_are_left_of_html() -> None:
    hostile = (
        "<table onclick=x><tr style='a'><td colspan=\"2\" rowspan='9999' onmouseover=\"go()\">"
        "<b>Net</b><br/>sales<img src='//x'></td><td colspan=-3>&lt;script&gt;</td></tr></table><script>go()</script>"
    )
    assert write_html(read_html(hostile)) == (
        '<table><tr><td colspan="2" rowspan="100">Net sales</td><td>&lt;script&gt;</td></tr></table>'
    )


def test_text_has_a_line_a_row_without_its_empty_cells() -> None:
    rows = [(Cell(""), Cell("2022"), Cell("2023")), (Cell(""), Cell("")), (Cell("Sales"), Cell("1"), Cell("2"))]
    assert as_text(rows) == "2022 | 2023\nSales | 1 | 2"


def test_the_header_is_the_rows_of_header_cells_at_the_top_else_the_first_row() -> None:
    head, body = (Cell("a", header=True),), (Cell("b"),)
    assert header_rows([head, head, body]) == 2
    assert header_rows([body, body]) == 1
    assert header_rows([head, head]) == 1
