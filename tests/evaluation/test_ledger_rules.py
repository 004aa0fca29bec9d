"""The verdicts of the ledger, by its rules; and which techniques are asked without, with which plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.evaluation.difference import difference
from rag_core.evaluation.grading import Grade, Grader
from rag_core.evaluation.ledger import HOLDS, MARGIN, estimate, judged, opened, summary, verdict_on, without
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.run import TechniqueUse
from rag_core.trace import TraceEvent
from rag_core.types import Usage
from tests.evaluation.records import OWL, a_run
from tests.fakes import WordVectors

NONE = Grade(answered=False)
SAME = difference(a_run("One."), a_run("One."))
OTHER = difference(a_run("One."), a_run("Two."))
OPPOSITE = {"pays here": "costs here", "costs here": "pays here", "no difference": "no difference"}


def a_grade(quality: float = 0.8, probability: float = 0.9) -> Grade:
    return Grade(answered=True, sentences=1, supported=1, probability=probability, quality=quality)


@pytest.mark.parametrize(
    ("with_", "without_", "verdict"),
    [
        (a_grade(), NONE, "pays here"),
        (NONE, a_grade(), "costs here"),
        (a_grade(probability=HOLDS - 0.01), NONE, "costs here"),
        (NONE, a_grade(probability=HOLDS - 0.01), "pays here"),
        (NONE, NONE, "no difference"),
        (a_grade(0.8), a_grade(0.7), "pays here"),
        (a_grade(0.7), a_grade(0.8), "costs here"),
        (a_grade(0.8), a_grade(0.8 - MARGIN / 2), "no difference"),
    ],
)
def test_the_verdict_follows_the_rules(with_: Grade, without_: Grade, verdict: str) -> None:
    assert verdict_on(with_, without_, OTHER)[0] == verdict


grades = st.one_of(
    st.just(NONE),
    st.builds(lambda quality, probability: a_grade(round(quality, 3), probability), st.floats(0, 1), st.floats(0, 1)),
)


@given(grades, grades)
def test_seen_from_the_other_side_the_verdict_is_the_opposite(one: Grade, other: Grade) -> None:
    assert verdict_on(one, other, OTHER)[0] == OPPOSITE[verdict_on(other, one, OTHER)[0]]


def test_the_same_answer_and_another_that_is_as_good_are_told_apart() -> None:
    assert "word for word" in verdict_on(a_grade(), a_grade(), SAME)[1]
    assert "words differ" in verdict_on(a_grade(), a_grade(), OTHER)[1]


def test_what_did_not_run_is_not_asked_without_and_says_why() -> None:
    plan = PRESETS["balanced"]
    ledger = opened(a_run("One.", plan=plan, ran=["multi_hop"]), plan)
    states = {entry.technique: entry.state for entry in ledger.entries}
    assert [name for name, state in states.items() if state == "waiting"] == ["multi_hop"]
    assert "hybrid" not in states, "no question is asked without it"
    assert all(entry.why for entry in ledger.entries if entry.state == "not_run")


def test_the_estimate_is_what_the_run_took_as_often_as_it_is_asked_again_some_at_a_time() -> None:
    plan = PRESETS["balanced"]
    run = a_run("One.", plan=plan, ran=["multi_hop", "heal"], seconds=2.0, usage=Usage(model_calls=3, input_tokens=10))
    expected = estimate(run, plan, base_runs=0, at_once=2)
    assert (expected.runs, expected.seconds, expected.model_calls, expected.tokens) == (2, 2.0, 6, 20)
    assert expected.money is None
    assert estimate(run, plan, base_runs=1, at_once=1).runs == 3
    assert estimate(a_run("One.", plan=plan, ran=[]), plan, base_runs=1, at_once=1).runs == 0


def test_one_technique_is_left_out_and_all_others_stay_as_they_were_set() -> None:
    plan = PRESETS["balanced"].set("multi_hop", max_hops=4)
    left = without(plan, "heal", a_run("One."))
    assert left.techniques == {name: one for name, one in plan.techniques.items() if name != "heal"}
    assert left.name == "custom without heal"


def test_without_auto_goes_what_it_chose_and_otherwise_its_choice_stays() -> None:
    plan = PRESETS["auto"].on("multi_hop")
    span = TraceEvent(
        span_id=0, parent_id=None, name="auto", phase="question", start_s=0, duration_s=0,
        attributes={"on": ["multi_hop", "hybrid"]},
    )  # fmt: skip
    run = a_run("One.", plan=plan, spans=(span,))
    assert without(plan, "auto", run).techniques.keys() == plan.techniques.keys() - {"auto", "multi_hop"}
    assert without(plan, "heal", run).techniques.keys() == plan.techniques.keys() - {"auto", "heal"}


def test_a_run_that_failed_gives_no_verdict() -> None:
    run, plan = a_run("One."), PRESETS["balanced"]
    entry = opened(run, plan).entries[0]
    failed = judged(entry, (run, a_grade()), a_run(status="failed", error="The endpoint is down."), NONE)
    assert (failed.state, failed.verdict, failed.why) == ("failed", None, "The endpoint is down.")


def test_the_summary_names_each_technique_once_by_its_verdict() -> None:
    plan = PRESETS["balanced"]
    entries = opened(a_run("One.", plan=plan), plan).entries
    told = summary([entry.model_copy(update={"verdict": "no difference"}) for entry in entries])
    assert told.startswith("no difference: ")
    assert "multi-hop" in told
    assert summary([]) == "No technique of the plan ran."


def test_every_answer_is_held_against_what_it_cites_whatever_its_run_thought_of_it() -> None:
    grader = Grader(Reading(WordVectors()))
    held = grader.grade(a_run(OWL, found="a", cites="a"))
    assert (held.answered, held.sentences, held.supported) == (True, 1, 1)
    bare = grader.grade(a_run(OWL, found="a"))
    assert (bare.supported, bare.quality < held.quality) == (0, True)
    gone = grader.grade(a_run(OWL, found="a", cites=["gone"], status="stopped"))
    assert gone.supported == 0
    assert not grader.grade(a_run()).answered


def test_a_use_that_is_not_in_the_record_is_asked_without() -> None:
    plan = PRESETS["balanced"]
    run = a_run("One.", plan=plan).model_copy(update={"techniques": {"heal": TechniqueUse(ran=False, why="Good.")}})
    states = {entry.technique: entry.state for entry in opened(run, plan).entries}
    assert (states["heal"], states["multi_hop"]) == ("not_run", "waiting")
