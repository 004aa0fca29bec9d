from __future__ import annotations

from rag_core.parsing.tables import Cell, TableView
from rag_core.parsing.tables.summary import SUMMARY_CHARS, summary

ROWS = [("", "2023", "2022"), ("Net sales", "$ 12", "$ 9"), ("Costs", "7", "8")]


def test_a_summary_says_what_leads_up_to_a_table_its_scale_columns_and_rows() -> None:
    view = TableView.from_rows([tuple(map(Cell, row)) for row in ROWS], "(in thousands)")
    assert summary(view, ["Statements of income"]).splitlines() == [
        "Statements of income",
        "In thousands of $",
        "Columns: 2023; 2022",
        "Years: 2023; 2022",
        "Rows: Net sales; Costs",
    ]


def test_a_long_summary_is_cut_between_words() -> None:
    view = TableView.from_rows([tuple(map(Cell, (f"Region number {n}", "1"))) for n in range(200)])
    said = summary(view)
    assert len(said) <= SUMMARY_CHARS
    assert said.endswith(("Region", "number", ";")) or said.rsplit(maxsplit=1)[-1].rstrip(";").isdigit()
