import json

import pytest

from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.sub_queries import SubQueries, SubQueriesSettings
from tests.fakes import Watch, WordVectors, a_hit
from tests.model_server import Turn
from tests.techniques.scripted import a_model

READING = Reading(WordVectors())
KEYLESS = SubQueries(SubQueriesSettings(), KeylessEngine(), READING)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Which was founded first, Acme Corp or Bolt Industries?",
            ["Acme Corp founded first", "Bolt Industries founded first"],
        ),
        ("Are Random House and Kettle Moraine both in Wisconsin?", None),
        (
            "What is the revenue of 2023, and how many people work there?",
            ["What is the revenue of 2023", "how many people work there"],
        ),
        (
            "When was Acme Corp founded? Who runs Bolt Industries today?",
            ["When was Acme Corp founded", "Who runs Bolt Industries today"],
        ),
        (
            "What was the capex of 3M in 2018? Give a response in the form of the cash flow statement.",
            ["What was the capex of 3M in 2018? Give a response in the form of the cash flow statement."],
        ),
        (
            "Which is older, Acme Corp or Bolt Industries? Older is defined as founded earlier.",
            ["Acme Corp older", "Bolt Industries older"],
        ),
        ("Who was the father of Ada, Duchess of York?", ["Who was the father of Ada, Duchess of York?"]),
        ("Who founded Acme Corp?", ["Who founded Acme Corp?"]),
        (
            "Who was the mother of the king of Norway in Bergen?",
            ["Who was the mother of the king of Norway in Bergen?"],
        ),
    ],
)
def test_a_question_is_taken_apart_at_its_joints(question: str, parts: list[str] | None) -> None:
    found = KEYLESS.decompose(question, Watch()).sub_questions
    if parts is None:
        assert [part.split()[0] for part in found][:2] == ["Random", "Kettle"]
    else:
        assert found == parts


def test_no_more_parts_than_allowed() -> None:
    question = "Are Ada, Bob, Cid, Dora and Egon the same age?"
    assert (
        len(
            SubQueries(SubQueriesSettings(max_queries=3), KeylessEngine(), READING)
            .decompose(question, Watch())
            .sub_questions
        )
        <= 3
    )


def test_the_evidence_of_all_parts_is_put_together_in_their_order_and_is_enough() -> None:
    gathered = KEYLESS.take_in(
        "Which was founded first?",
        [
            ("Acme founded", [a_hit("Acme makes anvils. Acme was founded in 1901.")]),
            ("Bolt founded", [a_hit("Bolt was founded in 1950.")]),
        ],
        Watch(),
    )
    assert gathered.synthesis.splitlines() == ["Acme was founded in 1901.", "Bolt was founded in 1950."]
    assert (gathered.gaps, gathered.queries) == ((), ())


def test_a_part_without_evidence_is_a_gap_and_gets_a_query_of_what_is_missing() -> None:
    gathered = KEYLESS.take_in(
        "Which was founded first?",
        [("Acme founded", [a_hit("Acme was founded in 1901.")]), ("Bolt Industries founded", [])],
        Watch(),
    )
    assert gathered.gaps == ("Bolt Industries founded",)
    assert gathered.queries == ("bolt industries",)


def test_a_model_takes_apart_puts_together_and_finds_gaps() -> None:
    replies = [
        {"sub_questions": ["When was Acme founded?", "When was Acme founded?", "When was Bolt founded?", "x", "y"]},
        {"synthesis": "Acme: 1901.", "evidence_gaps": ["Bolt's founding"]},
        {"needs_more": True, "focused_queries": ["Bolt founded year"]},
    ]
    watch = Watch()
    with a_model(*map(json.dumps, replies)) as (engine, server):
        sub = SubQueries(SubQueriesSettings(max_queries=2), engine, READING)
        parts = sub.decompose("Which was founded first?", watch).sub_questions
        gathered = sub.take_in("Which was founded first?", [(part, [a_hit("Acme: 1901.")]) for part in parts], watch)
    assert parts == ["When was Acme founded?", "When was Bolt founded?"]
    assert gathered.queries == ("Bolt founded year",)
    assert len(server.asked) == 3


def test_a_model_that_needs_no_more_is_not_searched_for() -> None:
    replies = ['{"synthesis": "Acme: 1901.", "evidence_gaps": []}', '{"needs_more": false, "focused_queries": ["x"]}']
    with a_model(*replies) as (engine, _):
        gathered = SubQueries(SubQueriesSettings(), engine, READING).take_in("When?", [("When?", [])], Watch())
    assert gathered.queries == ()


@pytest.mark.parametrize("reply", ["I cannot help with that.", '{"sub_questions": []}', Turn(status=401)])
def test_a_model_that_fails_is_answered_for_by_grammar(reply: str | Turn) -> None:
    question = "Which was founded first, Acme Corp or Bolt Industries?"
    with a_model(reply) as (engine, _):
        parts = SubQueries(SubQueriesSettings(), engine, READING).decompose(question, Watch()).sub_questions
    assert parts == ["Acme Corp founded first", "Bolt Industries founded first"]
