import pytest

from benchmarks.answers import CHECKS, Given, Question, changes, holds, token_f1, with_checks


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It was won by the Norway team.", "Norway"),
        ("It opened on 3 May, 2020.", "3 May 2020"),
        ("Revenue: $ 50.0 million.", "$50 million"),
        ("Total assets: $ 41,190 million.", "41190"),
        ("A change of 15.88% was seen.", "15.9%"),
        ("In all 4,127 thousand.", "4.127"),
        (
            "The EU act puts high-risk functions under duties of logging and oversight.",
            "The EU act will put high-risk functions under duties of documentation, logging and human oversight",
        ),
    ],
    ids=["words", "punctuation", "unit", "thousands", "rounded", "scale", "most of a long one"],
)
def test_an_answer_is_held_whatever_its_form(text: str, answer: str) -> None:
    assert holds(text, [answer])


@pytest.mark.parametrize(
    ("text", "answer"),
    [("He won 13 of them.", "3"), ("It is 47.", "46.5"), ("Southern Norwegians", "Norway"), ("", "Norway")],
)
def test_what_only_looks_alike_holds_no_answer(text: str, answer: str) -> None:
    assert not holds(text, [answer])


def test_token_f1_is_the_best_over_the_answers() -> None:
    assert token_f1("the red fox", ["a fox", "badger"]) == pytest.approx(2 / 3)
    assert token_f1("the red fox", ["badger"]) == 0


def test_each_check_is_tried_alone_and_all_together() -> None:
    on = {way: [check for check in CHECKS if plan.has(check)] for way, plan in with_checks().items()}
    assert on == {"none": [], **{check: [check] for check in CHECKS}, "all": [*CHECKS]}


def test_what_a_check_changed_is_counted_for_better_and_for_worse() -> None:
    answered = [Question(id=f"{at}", question="Who?", answers=["fox"], kind="lookup") for at in range(3)]
    absent = Question(id="absent", question="Who?", answers=[], kind="unanswerable")
    plain = [Given("the fox"), Given("the owl"), Given("the fox"), Given("the owl")]
    given = [Given("the fox"), Given("a fox"), Given("the pike"), Given("", refused=True)]
    assert changes([*answered, absent], plain, given) == ["3", "2", "1"]
