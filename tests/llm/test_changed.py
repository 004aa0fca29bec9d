from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rag_core.llm.critic.changed import miscounted, negated, shortened, turned


def test_a_negation_is_put_in_or_taken_out() -> None:
    assert negated("Sales were higher.") == "Sales were not higher."
    assert negated("No owl sings, never so.") == "No owl sings, so."
    assert negated("Owls sing.") is None


def test_one_word_becomes_its_opposite() -> None:
    assert turned("Sales increased.", Random(1)) == "Sales decreased."
    assert turned("Sales decreased.", Random(1)) == "Sales increased."
    assert turned("The fox sleeps.", Random(1)) is None


def test_a_sentence_is_cut_to_its_first_part() -> None:
    assert shortened("However, the red fox sleeps well (n = 3), which was new.") == "the red fox sleeps well"


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_a_number_becomes_another_one(number: int, seed: int) -> None:
    changed = miscounted(f"It took {number:,} days.", Random(seed))
    assert changed != f"It took {number:,} days."
    assert changed == miscounted(f"It took {number:,} days.", Random(seed))


def test_without_a_number_none_is_changed() -> None:
    assert miscounted("The B12 fox.", Random(1)) is None
