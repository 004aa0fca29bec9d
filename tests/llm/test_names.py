import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.llm.reading.names import names_of, periods_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What was InnovateCorp's revenue in the third quarter of 2023?", ["InnovateCorp"]),
        ("DataWeave was founded by Dr. Amara Okafor in 2015.", ["DataWeave", "Dr. Amara Okafor"]),
        (
            "the sum of Cloud Platform and Enterprise Software revenue in Q3 2023",
            ["Cloud Platform", "Enterprise Software"],
        ),
        ("The trophy of the University of Idaho Vandals.", ["University of Idaho Vandals"]),
        ('"Revenge" is a single. The iPhone 15 sold.', ["Revenge", "iPhone 15"]),
        ("Who met Anika Sørensen and Ștefan Nenițescu?", ["Anika Sørensen", "Ștefan Nenițescu"]),
        ("Who wrote The Old Man and the Sea?", ["Old Man and the Sea"]),
        ("Who is the CFO of AMD, and what are 3M's assets?", ["CFO", "AMD", "3M"]),
        ("Apple grew. Apple fell.", ["Apple"]),
        ("who founded it?", []),
        ("", []),
    ],
)
def test_names_are_what_has_capitals_or_is_quoted(text: str, names: list[str]) -> None:
    assert names_of(text) == names


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("in the third quarter of 2023 and in 2022", ["the third quarter of 2023", "2022"]),
        ("Q3 2023, FY18, H1 and 13 October 2023", ["Q3 2023", "FY18", "H1", "13 October 2023"]),
        ("last year or 2019-20", ["last year", "2019-20"]),
        ("page 12 of 300, room 2050A", []),
    ],
)
def test_periods_are_years_quarters_and_dates_as_written(text: str, periods: list[str]) -> None:
    assert periods_of(text) == periods


@given(st.text(max_size=200))
def test_every_name_and_period_stands_in_the_text(text: str) -> None:
    assert all(name in text for name in [*names_of(text), *periods_of(text)])
