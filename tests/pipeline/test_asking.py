"""Before the search: what is rewritten is what all later steps read; what needs no document is not searched for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Choices, Collaborators, Request, run
from rag_core.techniques.base import Turn
from rag_core.techniques.route import Described
from rag_core.types import Chunk, Hit
from tests.fakes import Documents, WordVectors, a_hit

FILM = a_hit("Silent Harbour was directed by Anton Vesely in 1950.", id_="film")
PLAN = PRESETS["simple"].on("rewrite").on("gate")


class Shelf:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def hybrid(self, query: str, vector: object, **_: object) -> list[Hit]:
        self.asked.append(query)
        return [FILM]

    def document(self, document: str) -> Iterator[Chunk]:
        return iter([FILM.chunk])


def ask(
    question: str, turns: Sequence[Turn] = (), plan: Plan = PLAN, collections: Sequence[Described] = ()
) -> tuple[Run, list[str]]:
    shelf = Shelf()
    with_ = Collaborators(shelf, Documents(), WordVectors(), Reading(WordVectors()), KeylessEngine())
    if collections:
        with_ = replace(with_, choices=Choices(collections, lambda chosen: with_))
    request = Request(question=question, plan=plan, collection="Films", turns=tuple(turns))
    return run(request, with_), shelf.asked


def test_what_is_searched_for_is_the_rewritten_question_and_what_was_asked_is_kept() -> None:
    told, searched = ask("Hello! Could you please tell me who directed Silent Harbour?")
    assert told.question.startswith("Hello!")
    assert searched
    assert all("Hello" not in query and "Silent Harbour" in query for query in searched)
    assert told.techniques["rewrite"].ran


def test_a_reference_to_an_earlier_turn_is_resolved_from_it() -> None:
    earlier = Turn(question="Which company did Vesely Film buy?", answer="Vesely Film bought DataWeave Inc. in 1950.")
    _, searched = ask("Who founded it?", [earlier])
    assert searched[0] == "Who founded DataWeave Inc?"


def test_a_greeting_is_answered_without_a_search_and_the_answer_says_where_it_is_from() -> None:
    told, searched = ask("Good morning!")
    assert searched == []
    assert told.final_answer
    assert told.note
    assert not told.refused
    assert told.techniques["hybrid"].why == "The question needed no document."


def test_a_sum_is_worked_out_and_a_question_is_searched_for() -> None:
    told, searched = ask("What is 12 * 12?")
    assert "144" in told.final_answer
    assert searched == []
    told, searched = ask("Who directed Silent Harbour?")
    assert searched
    assert told.techniques["gate"].ran
    assert not told.note


def test_the_kind_of_a_question_switches_on_what_it_needs_and_the_run_says_so() -> None:
    told, _ = ask("Compare the revenue of Vesely Film and DataWeave.", plan=PRESETS["auto"])
    (span,) = [span for span in told.spans if span.name == "auto"]
    assert span.attributes["kind"] == "comparison"
    assert told.plan["name"] == "auto"
    assert told.techniques["sub_queries"].ran
    plain, _ = ask("Who directed Silent Harbour?", plan=PRESETS["auto"])
    assert not plain.techniques["sub_queries"].ran


def test_what_the_user_set_stays_when_the_kind_is_chosen() -> None:
    told, _ = ask("Compare Vesely Film and DataWeave.", plan=PRESETS["auto"].set("hybrid", limit=33))
    assert told.plan["techniques"]["hybrid"]["limit"] == 33


def test_what_chooses_the_plan_and_the_collection_sees_a_follow_up_as_it_stands_alone() -> None:
    earlier = Turn(question="Compare the tax on diesel and on wood in 1949.", answer="Diesel was taxed more.")
    shelves = [Described(name="Films", description="silent harbour"), Described(name="Taxes", description="diesel tax")]
    plan = PRESETS["auto"].on("route")
    told, searched = ask("And in 1950?", [earlier], plan, shelves)
    assert [span.name for span in told.spans if span.parent_id is None][:4] == ["rewrite", "auto", "route", "gate"]
    assert [span.attributes["kind"] for span in told.spans if span.name == "auto"] == ["comparison"]
    assert (told.question, told.collection) == ("And in 1950?", "Taxes")
    assert "Compare the tax on diesel and on wood in 1950." in searched
    unsaid, _ = ask("And in 1950?", [], plan, shelves)
    assert unsaid.collection == "Films"


def test_a_follow_up_is_for_a_whole_document_where_it_stands_for_one_that_is() -> None:
    earlier = Turn(question="How many tables are in the whole report?", answer="It has 3 tables.")
    told, _ = ask("And figures?", [earlier])
    assert told.techniques["scan"].ran
    assert not ask("And figures?")[0].techniques["scan"].ran
