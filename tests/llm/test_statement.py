import pytest

from rag_core.llm.critic.statement import statement


@pytest.mark.parametrize(
    ("claimed", "given", "agrees"),
    [
        ("$1.2 billion", "1,200 million dollars", True),
        ("about 32 percent", "31.7% of them", True),
        ("31.7%", "32%", False),
        ("50 million", "70 million", False),
        ("1,200 people", "1200 people", True),
        ("three trials", "3 trials", True),
        ("5%", "5 of them", False),
    ],
)
def test_numbers_agree_where_they_are_the_same_or_round_to_it(claimed: str, given: str, agrees: bool) -> None:
    (one,), numbers = statement(claimed).numbers, statement(given).numbers
    assert any(one.agrees_with(other) for other in numbers) == agrees


@pytest.mark.parametrize(
    ("text", "ways"),
    [("Sales increased.", [1]), ("Sales did not increase.", [-1]), ("It inhibits growth.", [-1, 1]), ("The fox.", [])],
)
def test_directions_turn_round_after_a_negation(text: str, ways: list[int]) -> None:
    assert [way for _, way in statement(text).directions] == ways


def test_negations_are_seen() -> None:
    assert statement("It doesn't work.").negated
    assert statement("It cannot be.").negated
    assert not statement("It works.").negated
