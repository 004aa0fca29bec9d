from rag_core.llm.reading.statements import statements
from rag_core.llm.reading.words import stems


def texts(text: str, *, table: bool = False) -> list[str]:
    return [one.text for one in statements(text, 0, table=table)]


def test_of_a_table_each_row_is_a_statement_with_the_names_of_its_cells() -> None:
    assert texts("Segment | 2023 | 2022\nCloud | 30 | 25", table=True) == ["Cloud — 2023: 30; 2022: 25"]


def test_a_heading_is_no_statement_but_what_follows_stands_under_it() -> None:
    (risk,) = statements("What could go wrong\n\nThe hall may be late.", 0)
    assert risk.text == "The hall may be late."
    assert set(stems("go wrong")) <= risk.around


def test_the_items_of_a_list_are_statements() -> None:
    assert texts("- a pair of helmets\n- a pair of boots") == ["a pair of helmets", "a pair of boots"]


def test_what_trails_off_goes_together_with_what_follows() -> None:
    assert texts("Oct 20, 2022 ... The film came out in May. It was long and loud.") == [
        "Oct 20, 2022 ... The film came out in May.",
        "It was long and loud.",
    ]


def test_a_statement_that_points_back_knows_its_subject() -> None:
    den, depth, other = statements("The den is old. It is nine metres deep. Foxes sleep there.", 3)
    assert den.subject is None
    assert other.subject is None
    assert depth.subject is not None
    assert (depth.subject.text, depth.subject.place, depth.subject.passage) == ("The den is old.", 0, 3)
