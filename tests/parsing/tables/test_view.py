from __future__ import annotations

from decimal import Decimal

from rag_core.parsing.tables import Cell, Quantity, TableView, write_html
from rag_core.types import Box

INCOME = (
    "<table><caption>(in millions, except per share data)</caption>"
    '<tr><th></th><th colspan="2">Year ended December 31</th><th></th></tr>'
    "<tr><th></th><th>2023</th><th>2022</th><th>Change %</th></tr>"
    "<tr><td>Net sales</td><td>$ 1,204</td><td>$ (880)</td><td>12.5</td></tr>"
    "<tr><td>Earnings per share</td><td></td><td></td><td></td></tr>"
    "<tr><td>Basic</td><td>1.25</td><td>—</td><td></td></tr>"
    "<tr><th></th><th>2021</th><th>2020</th><th></th></tr>"
    "<tr><td>Net sales</td><td>700</td><td>650</td><td></td></tr></table>"
)


def test_a_cell_is_named_by_its_row_and_all_headings_of_its_column() -> None:
    view = TableView.from_html(INCOME)
    assert view.column_path(1) == ("Year ended December 31", "2023")
    assert view.row_path(2) == ("Net sales",)
    assert view.row_path(4) == ("Earnings per share", "Basic")
    assert view.body == (2, 4, 6)
    assert list(view.columns) == [1, 2, 3]


def test_headings_further_down_hold_for_the_rows_under_them() -> None:
    assert TableView.from_html(INCOME).column_label(1, 6) == "2021"


def test_a_number_has_the_scale_and_unit_of_its_table_unless_its_column_or_row_has_another() -> None:
    view = TableView.from_html(INCOME)
    assert (view.scale, view.unit) == (10**6, "$")
    assert view.quantity(2, 1) == Quantity(Decimal(1204), "$", 10**6)
    assert view.quantity(2, 2) == Quantity(Decimal(-880), "$", 10**6)
    assert view.quantity(2, 3) == Quantity(Decimal("12.5"), "%", 1)
    assert view.quantity(4, 1) == Quantity(Decimal("1.25"), "$", 1)
    assert view.quantity(4, 2) is None


def test_shares_that_the_note_takes_out_are_not_scaled() -> None:
    rows = "<tr><th></th><th>2023</th></tr><tr><td>Shares issued</td><td>478</td></tr><tr><td>Cost</td><td>9</td></tr>"
    apart = TableView.from_html(f"<table>{rows}</table>", "(in thousands, except share data)")
    assert [apart.quantity(row, 1) for row in (1, 2)] == [Quantity(Decimal(478)), Quantity(Decimal(9), "", 1000)]
    whole = TableView.from_html(f"<table>{rows}</table>", "(in thousands, except per share data)")
    assert whole.quantity(1, 1) == Quantity(Decimal(478), "", 1000)


def test_indents_say_which_labels_head_a_row() -> None:
    labels = [("Assets", 10, ""), ("Current", 20, ""), ("Cash", 30, "1"), ("Total", 20, "2"), ("Debt", 10, "")]
    rows = [(Cell("", header=True), Cell("2023", header=True))]
    rows += [(Cell(text, box=Box(x0=x, y0=0, x1=x + 50, y1=9)), Cell(value)) for text, x, value in labels]
    view = TableView.from_rows(rows)
    assert view.row_path(3) == ("Assets", "Current", "Cash")
    assert view.row_path(4) == ("Assets", "Total")


def test_a_group_named_once_in_a_column_of_its_own_goes_on() -> None:
    rows = [("Domain", "Set", "Size"), ("STEM", "Physics", "151"), ("", "Chemistry", "203"), ("Text", "Time", "9")]
    view = TableView.from_rows([tuple(map(Cell, row)) for row in rows])
    assert (view.stub, view.row_path(2)) == (2, ("STEM", "Chemistry"))


def test_places_come_through_html() -> None:
    box = Box(x0=1, y0=2, x1=3.5, y1=4)
    html = write_html([(Cell("a"), Cell("b")), (Cell("c"), Cell("1", box=box, page=7))])
    cell = TableView.from_html(html).cell(1, 1)
    assert (cell.box, cell.page) == (box, 7)


def test_a_table_of_nothing_is_no_error() -> None:
    view = TableView.from_html("")
    assert (view.n_rows, view.n_columns, view.body, view.unit, view.scale) == (0, 0, (), "", 1)
