import pytest

from rag_core.llm.reading.asked import kind_asked
from rag_core.llm.reading.conflicts import conflict_among, holders
from rag_core.llm.reading.statements import Statement, statements


def said(*passages: str, heading: str = "") -> list[Statement]:
    return [one for number, text in enumerate(passages) for one in statements(text, number, heading)]


def values_in_conflict(question: str, *passages: str) -> tuple[str, str] | None:
    conflict = conflict_among(said(*passages), question, kind_asked(question))
    return (conflict.value, conflict.other_value) if conflict else None


def test_the_same_said_with_another_value_is_a_conflict() -> None:
    question = "When was the den of the fox opened?"
    assert values_in_conflict(
        question,
        "The den of the fox was opened on July 21, 2017 in Oslo.",
        "The den of the fox was opened on July 1, 2007 in Oslo.",
    ) == ("July 21, 2017", "July 1, 2007")


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("Who won in 2019?", "Anna Berg won the long race in Oslo.", "Anna Berg has won the long race in Oslo."),
        ("Who won the race in Oslo?", "Anna Berg won the race in Oslo.", "Anna Berg won the race in Rome."),
        ("Who won the race?", "Anna Berg won the race in Oslo.", "Anna won the race in Oslo."),
        (
            "Who won the race in 2019?",
            "Anna Berg won the race in Oslo in 2018.",
            "Eva Lund won the race in Oslo in 2018.",
        ),
        ("How long is it?", "The tunnel is a long one and very dark.", "The bridge is a long one and very dark."),
    ],
    ids=["the same", "what is asked differs", "one is shorter", "another year", "no number differs"],
)
def test_what_differs_in_no_value_that_was_asked_for_is_none(question: str, one: str, other: str) -> None:
    assert values_in_conflict(question, one, other) is None


def test_rows_of_tables_are_alike_by_their_form_and_no_conflict() -> None:
    rows = [one for n in (0, 1) for one in statements(f"Item | 2023 | 2022\nTotal paid | {n + 5} | 4", n, table=True)]
    assert conflict_among(rows, "How much was paid in total?", "number") is None


def test_things_under_headings_of_their_own_are_two() -> None:
    one = next(statements("Phylo is a science novel by Dean Foster.", 0, heading="Phylo"))
    other = next(statements("Krang is a science novel by Dean Foster.", 1, heading="Krang"))
    assert conflict_among([one, other], "Which science novel is by Dean Foster?", None) is None


def test_holders_have_all_words_of_a_value() -> None:
    one, two = said("Anna Berg won.", "Here Anna Lund won.")
    assert holders("Anna Berg", [one, two]) == [one]
