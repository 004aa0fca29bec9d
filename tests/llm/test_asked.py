import pytest

from rag_core.llm.reading.asked import kind_asked, points_at, subject_of, values, without_orders


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was it founded?", "date"),
        ("In what year did it end?", "date"),
        ("How many people answered?", "number"),
        ("What percentage was paid?", "number"),
        ("Who leads it?", "person"),
        ("In which city is it?", "place"),
        ("Why did it fail?", None),
    ],
)
def test_the_kind_of_the_answer_is_told_by_the_question(question: str, kind: str | None) -> None:
    assert kind_asked(question) == kind


def test_values_of_a_kind_come_as_they_are_written() -> None:
    assert values("date", "From 3 May 2020 to June 2021, and July 4, 1999.") == [
        "3 May 2020",
        "June 2021",
        "July 4, 1999",
    ]
    assert values("number", "It cost 1,200.50 and two more.") == ["1,200.50", "two"]
    assert values("person", "There Ada Lovelace met Babbage.") == ["Ada Lovelace", "Babbage"]


def test_what_is_said_on_the_form_of_the_answer_is_no_part_of_the_question() -> None:
    asked = "How many foxes are there? Write the answer in integer format."
    assert without_orders(asked) == "How many foxes are there?"
    assert subject_of("According to the report, how many foxes live there?") == ["fox", "live"]


def test_a_question_of_nothing_but_the_document_keeps_its_words() -> None:
    assert subject_of("What is this document?") == ["document"]


def test_a_question_for_a_place_on_a_page_points_at_it() -> None:
    assert points_at("What is in the red box on page 5?")
    assert not points_at("Who leads the company?")
