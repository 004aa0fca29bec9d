"""Tables as rows and as CSV."""

from __future__ import annotations

from pages._parts.blocks import health_list
from pages._parts.tables import as_csv, table_rows
from rag_core.workbench import PartHealth


def test_cells_become_text_and_spans_keep_the_columns() -> None:
    head = '<tr><th colspan="2">Segment</th><th>Q3</th></tr>'
    assert table_rows(f"<table>{head}<tr><td>AI<br>services</td><td></td><td>16.1</td></tr></table>") == [
        ["Segment", "", "Q3"],
        ["AI services", "", "16.1"],
    ]


def test_markup_in_cells_is_dropped_and_rows_are_equally_long() -> None:
    html = "<table><tr><td><b>a</b><script>x</script></td></tr><tr><td>b</td><td>c</td></tr></table>"
    rows = table_rows(html)
    assert [len(row) for row in rows] == [2, 2]
    assert rows[1] == ["b", "c"]


def test_a_span_without_end_is_cut() -> None:
    assert len(table_rows('<table><tr><td colspan="999999999">a</td></tr></table>')[0]) == 100


def test_a_spreadsheet_gets_no_formula_and_numbers_stay() -> None:
    rows = [["=1+1", "@x", "-5.2 %", "+cmd|'/C calc'!A0", "−3"]]
    assert as_csv(rows) == "'=1+1,'@x,-5.2 %,'+cmd|'/C calc'!A0,−3\r\n"


def test_what_a_part_says_of_itself_is_escaped() -> None:
    block = health_list([PartHealth(part="<img src=x>", ok=False, summary="&", advice="<b>", details={"<i>": "<u>"})])
    assert "<img" not in block
    assert "&lt;img src=x&gt;" in block
    assert "<u>" not in block
