"""Tables as columns, as files."""

from __future__ import annotations

import csv
import io

import pytest
from openpyxl import load_workbook

from pages._parts.blocks import health_list, upload_report, word_diff
from pages._parts.tables import as_csv, as_html, as_xlsx, columns, grid, measured_in, number, numeric
from rag_core.parsing.tables import TableView
from rag_core.workbench import PartHealth

HEAD = '<tr><th></th><th colspan="2">Revenue</th></tr><tr><th>Segment</th><th>2023</th><th>2022</th></tr>'
SEGMENTS = TableView.from_html(
    f"<table>{HEAD}<tr><td>AI</td><td>16.1</td><td>12.0</td></tr><tr><td>Cloud</td><td>30.5</td><td>(2.4)</td></tr></table>",
    "Segments, in millions of US dollars",
)


def a_row(*cells: str) -> TableView:
    return TableView.from_html(f"<table><tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr></table>")


def test_a_cell_that_spans_columns_stands_in_the_first_alone() -> None:
    assert grid(SEGMENTS)[0] == ["", "Revenue", ""]


def test_a_column_is_called_by_all_its_headings() -> None:
    assert columns(SEGMENTS) == {
        "Segment": ["AI", "Cloud"],
        "Revenue 2023": ["16.1", "30.5"],
        "Revenue 2022": ["12.0", "(2.4)"],
    }
    assert numeric(SEGMENTS) == [1, 2]
    assert measured_in(SEGMENTS) == "$, in millions"


def test_columns_of_the_same_name_are_all_kept() -> None:
    twice = TableView.from_html("<table><tr><th>a</th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>")
    assert list(columns(twice).values()) == [["1"], ["2"]]


def test_a_spreadsheet_gets_no_formula_and_numbers_stay() -> None:
    cells = ["=1+1", "@x", "-5.2 %", "+cmd|'/C calc'!A0", "−3"]
    (written,) = csv.reader(as_csv(a_row(*cells)).splitlines())
    assert written == ["'=1+1", "'@x", "-5.2 %", "'+cmd|'/C calc'!A0", "−3"]


def test_a_workbook_has_numbers_as_numbers_and_no_formula() -> None:
    cells = ["1,200", "=1+1", "007", "12 %", "a\x00b"]
    sheet = load_workbook(io.BytesIO(as_xlsx(a_row(*cells), "Table 1")))["Table 1"]
    (row,) = sheet.iter_rows()
    assert [cell.value for cell in row] == [1200, "=1+1", "007", "12 %", "ab"]
    assert {cell.data_type for cell in row} == {"n", "s"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("-2.5", -2.5), ("1,234,567.8", 1_234_567.8), ("0.753", 0.753), ("12345678901234567890", None)]
    + [(text, None) for text in ("", "007", "1.200", "1,5", "12,34", "(2.4)", "5 %", "1e3", "−3")],
)
def test_only_what_can_be_read_one_way_is_a_number(text: str, value: float | None) -> None:
    assert number(text) == value


def test_a_diff_marks_words_and_keeps_markup_as_text() -> None:
    drawn = word_diff("Find <b> the answer.\nNow.", "Find <b> one answer.\nNow & then.")
    assert drawn == (
        '<div class="diff">Find &lt;b&gt; <del>the</del><ins>one</ins> answer.\n'
        "<del>Now.</del><ins>Now &amp; then.</ins></div>"
    )


def test_the_title_of_a_page_of_its_own_is_text() -> None:
    assert "<title>&lt;b&gt;</title>" in as_html("<table></table>", "<b>")


def test_names_in_an_upload_report_are_text() -> None:
    told = upload_report("1 refused.", [("<script>x</script>.pdf", "It has <b>9</b> MB.")])
    assert "<script>" not in told
    assert "&lt;b&gt;9&lt;/b&gt;" in told


def test_what_a_part_says_of_itself_is_escaped() -> None:
    block = health_list([PartHealth(part="<img src=x>", ok=False, summary="&", advice="<b>", details={"<i>": "<u>"})])
    assert "<img" not in block
    assert "&lt;img src=x&gt;" in block
    assert "<u>" not in block
