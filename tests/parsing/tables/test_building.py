"""Tables set word by word: each line is (y, [(x, text), ...]); a letter is 5 points wide."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rag_core.parsing.lines import Line
from rag_core.parsing.tables import Cell
from rag_core.parsing.tables.building import build_rows
from rag_core.parsing.tables.runs import Rules

NONE = Rules()


def words(*lines: tuple[float, list[tuple[float, str]]]) -> list[Line]:
    found = []
    for y, runs in lines:
        for start, run in runs:
            x = start
            for text in run.split():
                found.append(Line(text, x, y, x + 5 * len(text), y + 10, size=10, bold=False))
                x += 5 * len(text) + 3
    return found


def texts(rows: list[tuple[Cell, ...]]) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows]


def build(*lines: tuple[float, list[tuple[float, str]]], rules: Rules = NONE) -> list[tuple[Cell, ...]]:
    return build_rows(words(*lines), rules, Counter())


def test_currency_signs_and_brackets_join_their_numbers_and_no_column_is_empty() -> None:
    rows = build(
        (100, [(300, "2023"), (400, "2022")]),
        (112, [(50, "Net sales"), (280, "$"), (300, "1,204"), (380, "$"), (400, "880"), (430, "%")]),
        (124, [(50, "Loss"), (300, "(12"), (320, ")"), (400, "—")]),
    )
    assert texts(rows) == [["", "2023", "2022"], ["Net sales", "$ 1,204", "$ 880 %"], ["Loss", "(12 )", "—"]]
    assert [row[0].header for row in rows] == [True, False, False]


def test_cells_know_the_box_of_their_text() -> None:
    rows = build((100, [(300, "2023")]), (112, [(50, "Sales"), (300, "12")]))
    assert rows[1][1].box is not None
    assert rows[1][1].box.model_dump() == {"x0": 300, "y0": 112, "x1": 310, "y1": 122}
    assert rows[0][0].box is None


def test_dots_that_lead_to_a_value_are_no_text() -> None:
    rows = build((100, [(50, "Sales . . . . . ."), (300, "12")]), (112, [(50, "Costs......"), (300, "9")]))
    assert texts(rows) == [["Sales", "12"], ["Costs", "9"]]


def test_a_heading_over_a_rule_spans_the_columns_under_the_rule() -> None:
    rows = build(
        (100, [(250, "Year ended")]),
        (112, [(200, "2023"), (300, "2022"), (400, "Change")]),
        (124, [(50, "Sales"), (200, "12"), (300, "9"), (400, "3")]),
        rules=Rules(across=((111.0, 195.0, 330.0),)),
    )
    assert [(cell.text, cell.colspan) for cell in rows[0]] == [("", 1), ("Year ended", 2), ("", 1)]


def test_wrapped_labels_join_and_a_group_heading_stays_a_row() -> None:
    rows = build(
        (100, [(300, "2023")]),
        (112, [(50, "Adjustments to income:")]),
        (124, [(60, "Increase in payables and")]),
        (136, [(70, "other liabilities"), (300, "12")]),
        (148, [(60, "Other"), (300, "7")]),
    )
    assert texts(rows)[1:] == [
        ["Adjustments to income:", ""],
        ["Increase in payables and other liabilities", "12"],
        ["Other", "7"],
    ]


def test_the_lines_of_a_heading_join_and_those_of_text_cells_too() -> None:
    rows = build(
        (90, [(300, "Possible")]),
        (100, [(50, "Error"), (300, "causes")]),
        (112, [(50, "No signal"), (300, "The strap is loose or")]),
        (124, [(300, "was put on wrongly")]),
        rules=Rules(across=((111.0, 50.0, 500.0),)),
    )
    assert texts(rows) == [["Error", "Possible causes"], ["No signal", "The strap is loose or was put on wrongly"]]


def test_rules_between_rows_keep_the_lines_of_a_cell_together() -> None:
    ruled = Rules(
        across=tuple((y, 50.0, 400.0) for y in (99.0, 111.0, 135.0, 159.0)),
        down=tuple((x, 99.0, 159.0) for x in (50.0, 200.0, 400.0)),
    )
    rows = build(
        (100, [(52, "Name"), (202, "Use")]),
        (112, [(52, "Left"), (202, "Stops")]),
        (124, [(52, "knob"), (202, "it")]),
        (136, [(52, "Right"), (202, "Starts")]),
        (148, [(52, "knob"), (202, "it")]),
        rules=ruled,
    )
    assert texts(rows) == [["Name", "Use"], ["Left knob", "Stops it"], ["Right knob", "Starts it"]]


def test_a_table_without_headings_gets_none() -> None:
    rows = build((100, [(50, "2020"), (300, "$75")]), (112, [(50, "2021"), (300, "11")]))
    assert not any(cell.header for row in rows for cell in row)


def test_years_further_down_are_headings_again() -> None:
    rows = build(
        (100, [(50, "Assets"), (300, "2023"), (400, "2022")]),
        (112, [(50, "Cash"), (300, "12"), (400, "9")]),
        (124, [(50, "Debt"), (300, "2023"), (400, "2022")]),
        (136, [(50, "Bonds"), (300, "7"), (400, "8")]),
    )
    assert [row[1].header for row in rows] == [True, False, True, False]


def test_running_text_is_no_table() -> None:
    assert build((100, [(50, "It rained all day and")]), (112, [(50, "the road was closed.")])) == []


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from([50, 130, 210, 290, 370]), st.sampled_from("Net 1,204 $ (7) — % of 2023".split()))
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_word_is_lost(lines: list[list[tuple[int, str]]]) -> None:
    given_lines = [(100.0 + 12 * number, list(dict(runs).items())) for number, runs in enumerate(lines)]
    rows = build(*given_lines)
    if rows:
        kept = Counter(" ".join(cell.text for row in rows for cell in row).split())
        assert kept == Counter(text for _, runs in given_lines for _, text in runs)
