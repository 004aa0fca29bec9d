from __future__ import annotations

from decimal import Decimal

import pytest

from rag_core.parsing.tables import Quantity, is_nil, parse_number, scale_in, unit_in


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("30,274", "30274", ""),
        ("$ (1,204.5)", "-1204.5", "$"),
        ("($12)", "-12", "$"),
        ("$(0.55)", "-0.55", "$"),
        ("−3", "-3", ""),
        ("12.5 %", "12.5", "%"),
        ("(3.2)%", "-3.2", "%"),
        ("(3.2%)", "-3.2", "%"),
        ("1,23,456", "123456", ""),
        ("1 234 567", "1234567", ""),
        ("US$ 12", "12", "US$"),
        ("25 bps", "25", "bps"),
        ("0.5x", "0.5", "x"),
        ("+3.1pp", "3.1", "pp"),
        ("92.3 ± 0.4", "92.3", ""),
        ("12.5*", "12.5", ""),
        ("30,274 (1)", "30274", ""),
        ("323,926(2)", "323926", ""),
    ],
)
def test_a_printed_number_is_read_with_its_sign_and_unit(text: str, value: str, unit: str) -> None:
    assert parse_number(text) == Quantity(Decimal(value), unit)


def test_a_scale_printed_with_the_number_belongs_to_it() -> None:
    read = parse_number("$1.2 billion")
    assert read is not None
    assert read.amount == 1_200_000_000


@pytest.mark.parametrize(
    "text", ["", "—", "12/31/2018", "10-20", "12 months", "Level 1", "1.", "F1", "(3", "3)", "1.2.3"]
)
def test_what_is_no_single_number_is_none(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["—", "-", "$ —", "– %", "Nil"])
def test_a_dash_in_the_place_of_a_number_is_told_from_words(text: str) -> None:
    assert is_nil(text)
    assert not is_nil("none")


@pytest.mark.parametrize(
    ("note", "scale", "unit"),
    [
        ("(in millions, except per share data)", 10**6, ""),
        ("(Millions)", 10**6, ""),
        ("(thousands)", 10**3, ""),
        ("$ in millions", 10**6, "$"),
        ("(dollars in millions)", 10**6, "$"),
        ("In thousands of U.S. dollars", 10**3, "$"),
        ("$000", 10**3, "$"),
        ("(US$m)", 10**6, "US$"),
        ("in £ million", 10**6, "£"),
        ("as follows (amounts in millions):", 10**6, ""),
        ("Percent to sales", None, "%"),
        ("There were over a million people in town", None, ""),
    ],
)
def test_a_note_says_what_numbers_are_multiplied_by_and_what_they_count(
    note: str, scale: int | None, unit: str
) -> None:
    assert (scale_in(note), unit_in(note)) == (scale, unit)
