from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from rag_core.errors import StoreError
from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.fork import edit_from, fork, offers
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.points import Packing, Point, unpacked
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Collaborators, Request, run
from rag_core.stores.graph.embedded import EmbeddedGraph
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques.graph.extraction import Extractor
from rag_core.types import Hit
from rag_core.workbench import DEMO_FOLDER, Workbench
from tests.fakes import Documents, Watch, WordVectors, a_hit
from tests.model_server import Turn, model_server, says
from tests.pipeline.library import BARE, FILM, QUESTION, TOWN, Library, ask, spans

AGENT = BARE.on("agent")
READING = Reading(WordVectors())
FILMS = {"Anton": [TOWN], "Silent Harbour": [FILM]}
CYPHER = "MATCH (a:Entity)-[r:RELATES]-(b:Entity) WHERE a.name = 'Anton Vesely' RETURN a.name, b.name, r.chunk"
HEADLINE = (
    "What new product was launched by the company that InnovateCorp acquired, "
    "and what was the rationale for the acquisition?"
)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[GraphStore]:
    """What FILM and TOWN say, as a graph."""
    made = EmbeddedGraph(tmp_path / "graph.lbug")
    made.replace("doc", [Extractor(KeylessEngine(), READING, Watch()).extract(hit.chunk) for hit in (FILM, TOWN)])
    yield made
    made.close()


def call(tool: str, query: str, **more: Any) -> dict[str, Any]:
    return {"thought": f"I try {tool}.", "sub_question": QUESTION, "tool": tool, "query": query, **more}


def modelled(
    decisions: Sequence[dict[str, Any]], library: Library, graphs: Sequence[GraphStore] = (), plan: Any = AGENT
) -> tuple[Run, list[str]]:
    """`(run, prompts of its decisions)` with a model that decides so, the last for ever."""
    left, prompts = list(decisions), []

    def reply(prompt: str) -> Turn:
        if '"sub_questions"' in prompt:
            return says(json.dumps({"sub_questions": [QUESTION]}))
        if '"thought"' not in prompt:
            return says("It is so [1].\nCONFIDENCE: 0.5")
        prompts.append(prompt)
        return says(json.dumps(left.pop(0) if len(left) > 1 else left[0]))

    with model_server() as server:
        server.then = reply
        engine = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        there = {hit.chunk.id: hit.chunk for hit in (FILM, TOWN)}
        return ask(QUESTION, plan, library, engine, graphs=graphs, there=there), prompts


def ids(told: Run) -> set[str]:
    return {hit.chunk.id for hit in told.evidence}


def test_without_a_model_it_searches_takes_the_name_that_it_found_and_asks_on() -> None:
    library = Library(FILMS)
    told = ask(QUESTION, AGENT, library)
    assert library.asked[0] == QUESTION
    assert library.asked[1].startswith("Anton Vesely")
    assert {"film", "town"} <= ids(told)
    assert told.techniques["agent"].ran
    assert told.status == "done"


def test_without_a_graph_only_search_is_offered_and_the_span_says_so() -> None:
    told, prompts = modelled([call("vector_search", "Silent Harbour"), {"done": True}], Library(FILMS))
    assert "graph build" in spans(told, "agent")[0]["no_graph"]
    assert "no_graph" not in spans(told, "agent")[1]
    assert not any("graph_traversal" in prompt for prompt in prompts)


def test_what_the_graph_relates_is_asked_of_it_first_and_its_chunks_are_evidence(graph: GraphStore) -> None:
    there = {hit.chunk.id: hit.chunk for hit in (FILM, TOWN)}
    told = ask("Where was Anton Vesely born?", AGENT, Library({}), graphs=[graph], there=there)
    first = spans(told, "agent")[0]
    assert first["tool"] == "graph_traversal"
    assert first["query"].startswith("MATCH")
    (asked,) = spans(told, "graph")
    assert asked["chunks"] == ["town"]
    assert "Kolin" in asked["because"]["town"]
    assert "town" in ids(told)
    assert told.techniques["graph"].why == "The agent used it."


def test_a_model_goes_back_and_forth_between_its_tools_and_reads_what_they_gave(graph: GraphStore) -> None:
    decisions = [call("vector_search", "Silent Harbour"), call("graph_traversal", CYPHER), {"done": True}]
    told, prompts = modelled(decisions, Library({"Silent Harbour": [FILM]}), [graph])
    assert [one["tool"] for one in spans(told, "agent")] == ["vector_search", "graph_traversal", ""]
    assert "It was directed by Anton Vesely." in prompts[1]
    assert "Anton Vesely · Kolin" in prompts[2]
    assert ids(told) == {"film", "town"}
    assert [span.name for span in told.spans if span.parent_id is None] == ["agent"] * 3 + ["answer"]
    # The texts of passages stand in the evidence alone.
    assert not any("1950 drama" in json.dumps(span.attributes) for span in told.spans)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (call("web_search", "Silent Harbour"), "There is no tool 'web_search'"),
        (call("graph_traversal", "MATCH (a) DELETE a"), "Result: "),
        (call("graph_traversal", "MATCH (a RETURN"), "Result: "),
        (call("vector_search", ""), "There is no query"),
    ],
)
def test_what_cannot_be_done_is_told_back_once_and_then_searched_for(
    graph: GraphStore, wrong: dict[str, Any], said: str
) -> None:
    library = Library(FILMS)
    told, prompts = modelled([wrong, wrong, {"done": True}], library, [graph])
    assert said in prompts[1]
    turns = spans(told, "agent")
    assert [one["refused"] for one in turns] == [True, False, False]
    assert turns[1]["tool"] == "vector_search"
    assert turns[1]["result"].startswith(turns[0]["result"])
    assert len(library.asked) == 1
    assert "film" in ids(told)
    assert graph.size().entities > 0


def test_a_search_is_not_repeated_and_who_insists_is_done() -> None:
    library = Library(FILMS)
    told, prompts = modelled([call("vector_search", QUESTION)], library)
    assert library.asked == [QUESTION]
    assert "looked for already" in prompts[2]
    assert len(spans(told, "agent")) == 3
    assert told.status == "done"
    assert told.final_answer


def test_the_turns_are_bounded_and_so_are_the_calls() -> None:
    class New(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            self.asked.append(query)
            return [a_hit(f"Found for {query}.", id_=f"hit {len(self.asked)}")]

    decisions = [call("vector_search", f"query {number}") for number in range(20)]
    told, _ = modelled(decisions, New({}), plan=AGENT.set("agent", max_steps=4))
    assert len(spans(told, "agent")) == told.searches == 4
    assert told.usage.model_calls == 1 + 4 + 1  # the parts, the turns, the answer


def test_where_no_turn_searched_the_question_itself_is_searched_for() -> None:
    library = Library(FILMS)
    told, _ = modelled([{"done": True}], library)
    assert library.asked == [QUESTION]
    assert told.final_answer


def test_the_seconds_of_a_run_end_it_between_two_turns() -> None:
    told = ask(QUESTION, AGENT, Library(FILMS), budget_s=0)
    assert "seconds were spent before 'agent'" in (told.note or "")


def test_a_search_that_fails_ends_the_run_with_what_it_has() -> None:
    told = ask(QUESTION, AGENT, Library({"Anton": StoreError("It is down: start it."), "Silent": [FILM]}))
    assert (told.status, told.error) == ("failed", "It is down: start it.")
    assert ids(told) == {"film"}


def test_a_graph_that_is_out_is_not_offered(graph: GraphStore) -> None:
    graph.close()
    told = ask(QUESTION, AGENT, Library(FILMS), graphs=[graph])
    assert spans(told, "agent")[0]["no_graph"]
    assert told.status == "done"


def test_hops_and_sub_questions_stand_back_for_it() -> None:
    told = ask(QUESTION, PRESETS["balanced"].on("agent"), Library(FILMS))
    assert not spans(told, "multi_hop")
    assert not spans(told, "sub_queries")
    for name in ("multi_hop", "sub_queries"):
        assert (told.techniques[name].ran, told.techniques[name].why) == (
            False,
            "The agent decides what to search for.",
        )


def test_it_is_in_no_preset() -> None:
    assert not any(plan.has("agent") for plan in PRESETS.values())


def kept(**how: Any) -> tuple[Run, list[Point]]:
    points: list[Point] = []
    with_ = Collaborators(Library(FILMS), Documents(), WordVectors(), READING, KeylessEngine())
    request = Request(question=QUESTION, plan=AGENT, collection="Films", branch=how.pop("branch", None))
    told = run(request, with_, passed=lambda point, until_then: points.append(point), **how)
    return told, points


def test_the_scratchpad_is_kept_with_the_steps_and_every_text_once() -> None:
    told, points = kept()
    assert [point.step for point in points].count("agent") == len(spans(told, "agent"))
    pad = points[-1].state.scratchpad
    assert [[hit.chunk.id for hit in act.hits] for act in pad[:2]] == [["film"], ["town"]]
    packing = Packing()
    packed = [packing.packed(point.state) for point in points]
    assert unpacked(packed) == [point.state for point in points]


def test_a_branch_searches_for_what_the_user_says_and_goes_on_from_there() -> None:
    told, points = kept()
    queries = {"kind": "queries", "queries": [QUESTION]}
    assert queries in offers(told, points)[0].edits
    made = fork(told, points, edit_from({"kind": "queries", "queries": ["Anton Vesely"]}))
    branched, _ = kept(beginning=made.beginning, branch=made.branch)
    first = spans(branched, "agent")[0]
    assert (first["thought"], first["query"]) == ("You said what to look for.", "Anton Vesely")
    assert branched.evidence[0].chunk.id == "town"


def test_a_branch_at_every_turn_gives_the_same_answer() -> None:
    told, points = kept()
    for point in points[:-1]:
        made = fork(told, points, edit_from({"kind": "again"}), point.n)
        again, _ = kept(beginning=made.beginning, branch=made.branch)
        assert again.evidence == told.evidence
        assert again.final_answer == told.final_answer


def test_the_demo_leads_to_the_acquired_company_and_its_product_with_and_without_a_graph(
    workbench: Workbench, tmp_path: Path
) -> None:
    files = [DEMO_FOLDER / "dataweave-press-release.pdf", tmp_path / "innovatecorp-q3-2023-report.pdf"]
    with pymupdf.open(DEMO_FOLDER / files[1].name) as report:
        report.select([1, 7])  # those of the acquisition: all are read in full, and that takes a while
        report.save(files[1])
    workbench.ingest(*files, collection="for the agent")
    simple = PRESETS["simple"]

    def asked(plan: Plan) -> Run:
        told = workbench.ask(HEADLINE, plan=plan, collection="for the agent", engine="keyless")
        assert "QuantumLeap Analytics" in told.final_answer
        cited = {citation for sentence in told.sentences for citation in sentence.citations}
        assert {hit.chunk.name for hit in told.evidence if hit.chunk.id in cited} == {file.name for file in files}
        return told

    assert any(one["query"].startswith("DataWeave") for one in spans(asked(simple.on("agent")), "agent"))
    workbench.graphs.build_graph("for the agent", engine="keyless")
    first, *_ = spans(asked(simple.on("agent")), "agent")
    assert first["tool"] == "graph_traversal"
    for mode in ("spread", "cypher"):
        assert any("graph" in hit.scores for hit in asked(simple.set("graph", mode=mode)).evidence)
