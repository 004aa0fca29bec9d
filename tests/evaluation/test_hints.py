"""From the signs of a run to the switch that is off: as a table, and what never leads anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from rag_core.evaluation.hints import ALL_DOCUMENTS, MOST, RULES, hints, switched_on
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Refusal, Run
from rag_core.techniques import TECHNIQUES
from rag_core.trace import TraceEvent
from rag_core.types import Hit
from tests.evaluation.records import OWL, a_run
from tests.fakes import a_chunk

BARE = Plan(name="bare", techniques={name: PRESETS["simple"].techniques[name] for name in ("hybrid", "answer")})
ALL = Plan(name="all", techniques={name: technique.settings() for name, technique in TECHNIQUES.items()})
CHECKED = BARE.on("validate")


def found(run: Run, **relevance: float) -> dict[str, str]:
    """Technique -> sign of the hints on a run; what is not named is relevant."""
    known = {hit.chunk.id: 0.9 for hit in run.evidence}
    return {hint.technique: hint.sign for hint in hints(run, known | relevance)}


def asked(question: str, plan: Plan = CHECKED, **fields: Any) -> Run:
    known = {"found": ["a", "b"], "cites": ["a"], "plan": plan, "searches": 1, "quality_achieved": 0.9}
    return a_run(OWL, **{**known, "question": question, **fields})


TABLE = Hit(chunk=a_chunk("Owls | 3", id_="t", kind="table"), score=1.0)


@pytest.mark.parametrize(
    ("run", "relevance", "technique", "word"),
    [
        (asked("What does figure 3 show?"), {}, "references", "figure 3"),
        (asked("How many owls are mentioned in the whole document?"), {}, "scan", "whole"),
        (asked("Where does the barn owl sleep, and what does the red fox eat?"), {}, "sub_queries", "several"),
        (asked("Who leads the church that the barn owl sleeps in?"), {}, "multi_hop", "first search"),
        (asked("What was the revenue in 2023?", evidence=(TABLE,), cites=["t"]), {}, "multimodal", "tables"),
        (asked("Where does it sleep?"), {"a": 0.3, "b": 0.41}, "expand", "0.41"),
        (asked("Where does it sleep?"), {"a": 0.3, "b": 0.8}, "rerank", "Chunk 2 (report.pdf, page 1)"),
        (asked("Where does it sleep?", BARE), {}, "validate", "No sentence"),
        (asked("Where does it sleep?", quality_achieved=0.4), {}, "self_correct", "0.40"),
        (asked("Where does it sleep?", documents=("owls.pdf",)), {}, ALL_DOCUMENTS, "owls.pdf"),
    ],
)
def test_a_sign_leads_to_the_technique_that_addresses_it(
    run: Run, relevance: dict[str, float], technique: str, word: str
) -> None:
    told = found(run, **relevance)
    assert [*told] == [technique]
    assert word in told[technique]


def test_a_refusal_leads_to_other_words_for_what_was_looked_for() -> None:
    refused = a_run(found=["a"], plan=BARE, searches=1, refusal=Refusal(looked_for=("salary",), searched=2))
    assert "salary" in found(refused)["expand"]


def test_what_is_on_is_not_what_to_try_and_the_next_of_its_rule_is() -> None:
    question, weak = "Where does it sleep?", {"a": 0.3, "b": 0.8}
    assert [*found(asked(question, CHECKED.on("rerank")), **weak)] == ["crag"]
    assert found(asked("Where does the owl sleep, and what does the fox eat?", ALL, quality_achieved=0.1), **weak) == {}
    assert "sub_queries" not in found(asked("Where does the owl sleep, and what does the fox eat?", BARE.on("agent")))


def test_a_good_run_one_that_did_not_search_and_one_that_was_stopped_have_none() -> None:
    assert found(asked("Where does it sleep?")) == {}
    assert found(asked("Where does it sleep?", BARE, searches=0)) == {}
    assert found(asked("Where does it sleep?", BARE, status="stopped")) == {}


@pytest.mark.parametrize("plan", [{}, {"techniques": None}])
def test_a_plan_of_another_form_is_no_sign_of_anything(plan: dict[str, Any]) -> None:
    assert found(asked("Where does it sleep?", BARE).model_copy(update={"plan": plan})) == {}


def test_there_are_few_and_each_names_a_technique_once() -> None:
    many = asked("What does figure 3 show, and what was the revenue that the owl made?", BARE, documents=("owls.pdf",))
    told = hints(many, {})
    assert len({hint.technique for hint in told}) == len(told) == MOST
    assert all(hint.sign.endswith(".") and hint.does.endswith(".") for hint in told)
    assert {technique for _, techniques in RULES for technique in techniques} <= {*TECHNIQUES}


def test_a_question_of_a_chat_is_looked_at_as_it_was_understood() -> None:
    attributes = {"query": "What does figure 3 show?", "changes": ["it: figure 3"]}
    rewrite = TraceEvent(
        span_id=0, parent_id=None, name="rewrite", phase="question", start_s=0, duration_s=0, attributes=attributes
    )
    assert "references" in found(asked("And what does it show?", spans=(rewrite,)))


def test_one_switch_more_is_all_that_changes() -> None:
    before = PRESETS["auto"].on("rerank")
    after = switched_on(before, "expand", {"terms": 2})
    assert {*after.techniques} - {*before.techniques} == {"expand"}
    assert {*before.techniques} - {*after.techniques} == {"auto"}, "else it would choose anew"
    assert after.techniques["expand"].model_dump()["terms"] == 2
    assert after.name == "custom with expand"
