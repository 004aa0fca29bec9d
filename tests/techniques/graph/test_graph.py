from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.stores.graph.embedded import EmbeddedGraph
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques.graph.technique import NO_GRAPH
from rag_core.types import Hit, SearchFilter
from tests.fakes import a_hit
from tests.stores.graph.worlds import facts
from tests.techniques.graph.worlds import DEAL, LAUNCH, LEDGER, NEWS, QUESTION, a_graph, found
from tests.techniques.scripted import a_model


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[GraphStore]:
    made = a_graph(tmp_path, NEWS, reports=True)
    yield made
    made.close()


def ids(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.chunk.id for hit in hits]


@pytest.mark.parametrize("mode", ["spread", "local", "cypher"])
def test_both_chunks_of_two_hops_are_found_where_the_search_found_neither(graph: GraphStore, mode: str) -> None:
    told = found(graph, mode=mode, hits=[Hit(chunk=LEDGER, score=0.2)])
    assert {"deal", "launch"} <= set(ids(told.hits))
    assert {"InnovateCorp", "DataWeave", "QuantumLeap Analytics"} <= {one["name"] for one in told.entities}


def test_each_chunk_has_its_share_of_the_walk_and_says_why_it_is_there(graph: GraphStore) -> None:
    told = found(graph)
    assert max(hit.scores["graph"] for hit in told.hits) == 1
    assert "DataWeave" in told.because["launch"]
    assert {chunk for _, chunk in told.mentions} <= set(ids(told.hits))


def test_a_hit_of_the_search_stays_where_the_graph_does_not_lead_to_it(graph: GraphStore) -> None:
    told = found(graph, hits=[a_hit("The weather was fine.", id_="weather")])
    scores = {hit.chunk.id: hit.scores for hit in told.hits}
    assert "graph" not in scores["weather"]
    assert "graph" in scores["deal"]


def test_chunks_outside_of_what_is_searched_are_left_out(graph: GraphStore) -> None:
    told = found(graph, where=SearchFilter(documents=("press",)))
    assert set(ids(told.hits)) == {"launch"}


def test_without_a_graph_the_hits_come_back_and_it_says_how_to_build_one() -> None:
    told = found(None, hits=[Hit(chunk=DEAL, score=0.5)])
    assert (ids(told.hits), told.why) == (["deal"], NO_GRAPH)


def test_an_empty_graph_is_none(tmp_path: Path) -> None:
    empty = a_graph(tmp_path, [])
    assert found(empty).why == NO_GRAPH
    empty.close()


def test_a_question_that_names_nothing_walks_from_the_first_hits_and_says_so(graph: GraphStore) -> None:
    told = found(graph, "what was launched?", hits=[Hit(chunk=DEAL, score=0.9)])
    assert ids(told.hits)[0] == "deal"
    assert "launch" in ids(told.hits)
    assert told.why.startswith("The question names nothing")


def test_local_tells_the_relations_that_it_went_over(graph: GraphStore) -> None:
    told = found(graph, "What was launched by DataWeave?", mode="local")
    called = {one["id"]: one["name"] for one in told.entities}
    said = {(called[one["source"]], one["name"], called[one["target"]], one["chunk"]) for one in told.relations}
    assert ("DataWeave", "today launched", "QuantumLeap Analytics", "launch") in said


def test_reports_lead_to_the_chunks_that_say_their_points(graph: GraphStore) -> None:
    told = found(graph, "What did InnovateCorp announce to acquire, and what was launched?", mode="global")
    assert {"deal", "launch"} <= set(ids(told.hits))
    assert told.said["communities"]
    assert "DataWeave" in told.said["summary"]


def test_without_reports_global_says_that_there_are_none(tmp_path: Path) -> None:
    graph = a_graph(tmp_path)
    assert "no reports" in found(graph, mode="global").why
    graph.close()


def test_a_model_writes_the_query_and_mends_it_once_where_it_is_refused(graph: GraphStore) -> None:
    good = "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE b.name = 'QuantumLeap Analytics' RETURN b.name, r.chunk"
    with a_model('{"queries": ["CREATE (n:Entity)"]}', f'{{"queries": ["{good}"]}}') as (engine, server):
        told = found(graph, mode="cypher", engine=engine)
    assert ids(told.hits) == ["launch"]
    assert (told.said["query"], told.said["tried"]) == (good, ["CREATE (n:Entity)"])
    assert "Refused, because" in str(server.asked[1])


def test_a_model_whose_queries_are_all_refused_gives_way_to_the_templates(graph: GraphStore) -> None:
    with a_model('{"queries": ["CREATE (n:Entity)"]}') as (engine, _):
        told = found(graph, mode="cypher", engine=engine)
    assert {"deal", "launch"} <= set(ids(told.hits))


def test_a_query_that_collects_the_whole_graph_leaves_a_short_record(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "large.lbug")
    names = [f"Harbour{at}" for at in range(300)]
    graph.replace("d", [facts(DEAL.id, "d", *((names[0], "joins", name) for name in names[1:]))])
    query = "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity) RETURN c.id, collect(e.name) AS names, collect(e) AS all"
    with a_model(json.dumps({"queries": [query]})) as (engine, _):
        told = found(graph, "What of Harbour7?", mode="cypher", engine=engine)
    graph.close()
    assert ids(told.hits) == ["deal"]
    assert len(json.dumps(told.model_dump(mode="json", exclude={"hits"}))) < 10_000


@pytest.mark.parametrize(
    ("question", "chunks"),
    [
        (QUESTION, {"deal", "launch"}),
        ("What did InnovateCorp acquire?", {"deal"}),
        ("How are InnovateCorp and QuantumLeap Analytics connected?", {"deal", "launch"}),
        ("Who is related to Halcyon Bank?", {"ledger"}),
    ],
)
def test_templates_follow_the_shape_of_a_question(graph: GraphStore, question: str, chunks: set[str]) -> None:
    assert chunks <= set(ids(found(graph, question, mode="cypher").hits))


def test_what_a_query_finds_is_told_with_its_rows(graph: GraphStore) -> None:
    told = found(graph, mode="cypher")
    assert told.said["rows"][0][:5] == [
        "InnovateCorp",
        "announced agreement acquire shares",
        "DataWeave",
        "today launched",
        "QuantumLeap Analytics",
    ]
    assert "today launched" in told.because["launch"]


def test_a_question_about_a_name_that_is_nowhere_asks_for_what_is_mentioned_most(graph: GraphStore) -> None:
    told = found(graph, "what is this about?", mode="cypher")
    assert told.hits
    assert LAUNCH.id in ids(told.hits)


@pytest.mark.parametrize("mode", ["spread", "local", "cypher"])
def test_what_is_drawn_hangs_together(graph: GraphStore, mode: str) -> None:
    told = found(graph, mode=mode)
    drawn = {one["id"] for one in told.entities}
    assert set(told.asked) <= drawn
    assert {entity for entity, _ in told.mentions} <= drawn
    assert {end for one in told.relations for end in (one["source"], one["target"])} <= drawn
    assert set(told.because) <= set(ids(told.hits))


def test_a_passage_says_what_the_question_names_in_it_and_what_led_to_it(graph: GraphStore) -> None:
    because = found(graph, "What does InnovateCorp own?").because
    assert because["deal"] == "It is there because the question names InnovateCorp and the walk came by DataWeave."


@pytest.mark.parametrize(
    ("headings", "first"),
    [(["Ledgerline"], "ledger"), (["History"], "weather"), (["Ledgerline"] * 4, "weather")],
    ids=["a passage is about it", "no passage is about it", "all are about it"],
)
def test_the_walk_goes_before_the_search_only_from_names_that_a_few_passages_are_about(
    tmp_path: Path, headings: list[str], first: str
) -> None:
    chunks = [LEDGER.model_copy(update={"id": f"ledger-{at}", "section": (one,)}) for at, one in enumerate(headings)]
    chunks[0] = chunks[0].model_copy(update={"id": "ledger"})
    graph = a_graph(tmp_path, chunks)
    hits = [a_hit("The weather was fine.", id_="weather"), Hit(chunk=chunks[0], score=0.3)]
    told = found(graph, "Who wrote Ledgerline?", chunks=chunks, hits=hits)
    graph.close()
    assert ids(told.hits)[0] == first
    assert ("in passing" in told.why) == (first == "weather")


def test_the_walk_goes_before_the_search_where_the_graph_has_the_chain_that_the_question_tells(
    graph: GraphStore,
) -> None:
    hits = [a_hit("The weather was fine.", id_="weather"), Hit(chunk=DEAL, score=0.3), Hit(chunk=LAUNCH, score=0.2)]
    assert set(ids(found(graph, hits=hits).hits)[:2]) == {"deal", "launch"}
    assert ids(found(graph, "What is the headcount of InnovateCorp?", hits=hits).hits)[0] == "weather"
