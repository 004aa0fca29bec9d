"""The critic over the vectors that it was trained with: what it says of plain cases, and that it never fails."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.llm.critic import Critic, Judged, to_support, weakest
from rag_core.llm.critic.heads import WEIGHTS, Trained
from rag_core.llm.reading.reading import Reading
from rag_core.settings import Settings
from tests.fakes import WordVectors

REPORT = (
    "InnovateCorp's revenue was $50 million in the third quarter of 2023, 22 percent more than a year ago. "
    "The company acquired DataWeave Inc. for $1.2 billion. The new drug reduced blood pressure in most patients."
)


@pytest.fixture(scope="module")
def critic() -> Critic:
    return Critic(Reading(TextEmbedder(find_weights(Settings.from_env()))))


@pytest.mark.parametrize(
    ("holds", "not_so"),
    [
        (
            "Revenue was $50 million in the third quarter of 2023.",
            "Revenue was $70 million in the third quarter of 2023.",
        ),
        ("The company acquired DataWeave.", "The company did not acquire DataWeave."),
        ("DataWeave was acquired for $1.2 billion.", "The forecast for tomorrow is rain in the north."),
    ],
)
def test_what_the_passage_says_is_better_supported_than_what_it_does_not(
    critic: Critic, holds: str, not_so: str
) -> None:
    (right,), (wrong,) = critic.support([holds, not_so], [REPORT])
    assert right.supported > 0.5 > wrong.supported
    assert right.contradicted < 0.5


def test_the_opposite_direction_is_contradicted_more(critic: Critic) -> None:
    (down,), (up,) = critic.support(
        ["The drug reduced blood pressure.", "The drug increased blood pressure."], [REPORT]
    )
    assert up.contradicted > down.contradicted
    assert up.supported < down.supported


def test_a_quotation_is_supported(critic: Critic) -> None:
    quoted = REPORT.partition(". ")[0] + "."
    assert critic.answer_support(quoted, [REPORT]).supported > 0.9


def test_a_claim_may_rest_on_two_passages(critic: Critic) -> None:
    claim = "The pike lives in the lake and eats perch."
    halves = ["The pike lives in the lake.", "The pike eats perch."]
    together = critic.answer_support(claim, halves).supported
    (apart,) = critic.support([claim], halves)
    assert together > max(one.supported for one in apart)


def test_rows_are_claims_and_columns_are_passages(critic: Critic) -> None:
    rows = critic.support(
        ["The fox runs fast.", "The owl eats voles at night."], ["The owl eats voles.", REPORT, "Foxes run."]
    )
    assert [len(row) for row in rows] == [3, 3]
    assert max(rows[1], key=lambda one: one.supported) == rows[1][0]


def test_what_is_asked_about_is_more_relevant_than_what_is_not(critic: Critic) -> None:
    near, far = critic.relevance("What was InnovateCorp's revenue in 2023?", [REPORT, "Penguins cannot fly but swim."])
    assert near > 0.5 > far


def test_without_words_there_is_neither_support_nor_relevance(critic: Critic) -> None:
    assert critic.answer_support("The fox runs.", []) == Judged(supported=0, contradicted=0)
    assert critic.support(["", "?!"], ["The fox runs.", "…"]) == [[Judged(supported=0, contradicted=0)] * 2] * 2
    assert critic.relevance("Where?", ["", " \n"]) == [0.0, 0.0]
    assert critic.support([], ["a"]) == []
    assert critic.relevance("a", []) == []


def test_usefulness_is_a_distribution_that_leans_to_the_answer_that_has_to_do_with_the_question(critic: Critic) -> None:
    question = "What was InnovateCorp's revenue in the third quarter of 2023?"
    good = critic.usefulness(question, "InnovateCorp's revenue was $50 million in the third quarter of 2023.")
    bad = critic.usefulness(question, "Penguins swim.")
    assert sum(good) == pytest.approx(1)
    assert sum(label * chance for label, chance in enumerate(good)) > sum(
        label * chance for label, chance in enumerate(bad)
    )


def test_reading_ahead_changes_nothing(critic: Critic) -> None:
    claim = "A fox that nobody has read of yet runs."
    before = Critic(critic._comparing._reading).support([claim], [REPORT])
    critic.read([claim, REPORT])
    assert critic.support([claim], [REPORT]) == before


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=3), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_gets_probabilities(claims: list[str], passages: list[str]) -> None:
    critic = Critic(Reading(WordVectors()))
    rows = [*critic.support(claims, passages), [critic.answer_support(claim, passages) for claim in claims]]
    assert all(0 <= one.supported + one.contradicted <= 1.001 for row in rows for one in row)
    assert all(0 <= chance <= 1 for claim in claims for chance in critic.relevance(claim, passages))


@pytest.mark.parametrize(
    ("probability", "label"),
    [(1.0, "fully_supported"), (0.8, "fully_supported"), (0.5, "partially_supported"), (0.49, "no_support")],
)
def test_labels_begin_at_their_thresholds(probability: float, label: str) -> None:
    assert to_support(probability) == label == Critic.to_support(probability)


def test_an_answer_stands_with_its_weakest_sentence() -> None:
    judged = [Judged(supported=0.9, contradicted=0.0), Judged(supported=0.2, contradicted=0.6)]
    assert weakest(judged) == Judged(supported=0.2, contradicted=0.6)
    assert weakest([]) == Judged(supported=0, contradicted=0)


def test_the_weights_are_small_load_at_once_and_say_where_they_come_from() -> None:
    assert WEIGHTS.stat().st_size < 100_000
    began = time.process_time()
    made = Trained.model_validate_json(WEIGHTS.read_bytes())
    assert time.process_time() - began < 0.1
    assert made.data
    assert made.figures
    assert {"relevance", "support"} <= set(made.calibration)
    assert set(made.support.weights) == set(made.support.mean) == set(made.support.spread)


def test_the_weights_can_be_read_a_line_a_feature() -> None:
    lines = WEIGHTS.read_text(encoding="utf-8").splitlines()
    assert max(len(line) for line in lines if '"common"' not in line) < 200
    assert json.loads("\n".join(lines))["seed"] is not None
