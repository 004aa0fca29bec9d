"""What every store of graphs does, on each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import neo4j
import pytest

from rag_core.errors import GraphError
from rag_core.settings import Settings
from rag_core.stores.graph import drop_graph, graphs_left, open_graph
from rag_core.stores.graph.facts import ChunkFacts, Community, Entity, GraphSize, GraphStore, Mention, entity_id
from tests.stores.graph.worlds import BOARD, NEWS, facts

INNOVATE, WEAVE, LEAP, CHURN = map(entity_id, ("InnovateCorp", "DataWeave", "QuantumLeap Analytics", "Churn"))


def filled(graph: GraphStore) -> GraphStore:
    graph.replace("news", NEWS)
    graph.replace("board", BOARD)
    return graph


def names(entities) -> list[str]:
    return [entity.name for entity in entities]


def test_an_empty_graph_answers_with_nothing(graph: GraphStore) -> None:
    assert graph.size() == GraphSize()
    assert graph.entities() == graph.communities() == graph.paths(INNOVATE, LEAP) == []
    assert graph.neighbours([INNOVATE]).entities == ()
    assert len(graph.edges().related[0]) == len(graph.edges().mentioned[0]) == 0


def test_what_documents_say_is_there(graph: GraphStore) -> None:
    filled(graph)
    assert names(graph.entities()) == ["Churn", "DataWeave", "InnovateCorp", "QuantumLeap Analytics"]
    assert graph.size() == GraphSize(documents=2, chunks=3, entities=4, mentions=7, relations=4)
    assert graph.entities([LEAP, "nobody", INNOVATE])[1] == Entity(INNOVATE, "InnovateCorp", "company")
    assert {mention.entity for mention in graph.mentions(["n2"])} == {WEAVE, LEAP}


def test_facts_that_are_stored_already_change_nothing(graph: GraphStore) -> None:
    before = filled(graph).version
    filled(graph)
    assert graph.version == before


def test_a_changed_chunk_takes_the_place_of_the_old_one(graph: GraphStore) -> None:
    before = filled(graph).version
    graph.replace("news", [NEWS[0], facts("n2", "news", ("DataWeave", "CLOSED", "Rome office"))])
    assert graph.version != before
    assert names(graph.entities()) == ["Churn", "DataWeave", "InnovateCorp", "Rome office"]
    assert names(graph.neighbours([WEAVE]).entities) == ["DataWeave", "InnovateCorp", "Rome office"]


def test_kept_chunks_stay_as_they_are(graph: GraphStore) -> None:
    filled(graph).replace("news", [facts("n3", "news", ("Churn", "ROSE IN", "Rome"))], keep=["n1"])
    assert sorted(graph.chunks("news")) == ["n1", "n3"]
    assert names(graph.entities()) == ["Churn", "DataWeave", "InnovateCorp", "Rome"]


def test_what_was_made_from_what_is_kept_with_it(graph: GraphStore) -> None:
    graph.replace("news", [replace(NEWS[0], made="a1")], name="news.pdf", made="v1")
    before = graph.version
    graph.replace("news", [replace(NEWS[0], made="a1")], name="news.pdf", made="v1")
    assert (graph.version, graph.documents(), graph.chunks("news")) == (before, {"news": "v1"}, {"n1": "a1"})
    graph.replace("news", [], keep=["n1"], name="news.pdf", made="v2")
    assert (graph.documents(), graph.size().chunks) == ({"news": "v2"}, 1)
    graph.forget("news")
    assert graph.documents() == {}


def test_a_forgotten_document_takes_along_what_nothing_else_mentions(graph: GraphStore) -> None:
    filled(graph).forget("news")
    assert names(graph.entities()) == ["Churn", "DataWeave", "InnovateCorp"]
    assert [one.chunk for one in graph.neighbours([INNOVATE]).relations] == ["b1", "b1"]
    graph.forget("board")
    graph.forget("never there")
    assert graph.size() == GraphSize()


def test_an_entity_is_what_most_chunks_say_of_it(graph: GraphStore) -> None:
    def chunk(id_: str, name: str, kind: str, *aliases: str) -> ChunkFacts:
        entity = Entity(entity_id("Acme"), name, kind, f"It is said in {id_}.", aliases)
        return ChunkFacts(id_, "d", (entity,), (Mention(entity.id, id_),))

    graph.replace("d", [chunk("1", "ACME", "firm", "A."), chunk("2", "Acme", "company"), chunk("3", "Acme", "company")])
    (acme,) = graph.entities()
    assert (acme.name, acme.kind, acme.aliases) == ("Acme", "company", ("A.", "ACME"))
    assert acme.description == "It is said in 1. It is said in 2. It is said in 3."
    graph.replace("d", [], keep=["1"])
    assert graph.entities() == [Entity(acme.id, "ACME", "firm", "It is said in 1.", ("A.",))]


def test_facts_about_what_is_not_mentioned_are_left_out(graph: GraphStore) -> None:
    (one, two), chunk = facts("c", "d", ("One", "R", "Two")).entities, facts("c", "d", ("One", "R", "Two"))
    graph.replace("d", [ChunkFacts("c", "d", (one, two), (Mention(one.id, "c"), Mention("x", "c")), chunk.relations)])
    assert graph.size() == GraphSize(documents=1, chunks=1, entities=1, mentions=1)


def test_names_with_quotes_and_signs_of_any_kind_are_kept(graph: GraphStore) -> None:
    strange = 'O\'Hara \\ "x" `y` {z} $a\n(:Entity) Ünïcode 数据'
    graph.replace("d", [facts("c", "d", (strange, strange, "plain"))])
    assert strange in names(graph.entities())
    assert names(graph.search("ünïcode 数")) == [strange]


def test_search_looks_into_aliases_and_puts_the_most_mentioned_first(graph: GraphStore) -> None:
    filled(graph)
    entity = Entity(entity_id("Analytica"), "Analytica", aliases=("Weaver",))
    graph.replace("more", [ChunkFacts("m", "more", (entity,), (Mention(entity.id, "m"),))])
    assert names(graph.search("WEAVE")) == ["DataWeave", "Analytica"]
    assert graph.search("WEAVE", limit=1) == graph.entities([WEAVE])


def test_neighbours_are_nearer_first_and_within_the_limit(graph: GraphStore) -> None:
    filled(graph)
    assert names(graph.neighbours([LEAP]).entities) == ["QuantumLeap Analytics", "DataWeave"]
    assert names(graph.neighbours([LEAP], hops=2).entities)[2:] == ["InnovateCorp"]
    assert names(graph.neighbours([LEAP], hops=4).entities)[3:] == ["Churn"]
    near = graph.neighbours([INNOVATE], limit=2)
    assert names(near.entities) == ["InnovateCorp", "DataWeave"]  # its relation is the heavier one
    assert {(one.source, one.target) for one in near.relations} == {(INNOVATE, WEAVE)}


def test_paths_go_the_shortest_way_with_their_evidence(graph: GraphStore) -> None:
    (way,) = filled(graph).paths(CHURN, LEAP)
    assert names(way.entities) == ["Churn", "InnovateCorp", "DataWeave", "QuantumLeap Analytics"]
    assert [one.chunk for one in way.relations] == ["b1", "b1", "n1", "n2"]
    assert graph.paths(CHURN, LEAP, longest=2) == graph.paths(CHURN, CHURN) == graph.paths(CHURN, "nobody") == []


def test_edges_are_the_whole_graph_with_weights_summed(graph: GraphStore) -> None:
    edges = filled(graph).edges()
    related = {
        frozenset((edges.entities[i], edges.entities[j])): weight for i, j, weight in zip(*edges.related, strict=True)
    }
    assert related == {frozenset((INNOVATE, WEAVE)): 3, frozenset((WEAVE, LEAP)): 1, frozenset((INNOVATE, CHURN)): 2}
    assert all(i < j for i, j in zip(*edges.related[:2], strict=True))
    mentioned = {(edges.entities[i], edges.chunks[k]): weight for i, k, weight in zip(*edges.mentioned, strict=True)}
    assert mentioned[CHURN, "b1"] == 2
    assert len(mentioned) == 7
    assert edges.version == graph.version


def test_communities_are_kept_with_their_members_and_parents(graph: GraphStore) -> None:
    whole = Community("k0", 0, None, (INNOVATE, WEAVE, LEAP, CHURN), "All", "Everything.", 2.0)
    part = Community("k1", 1, "k0", (WEAVE, LEAP), "Products", "What is sold.", 1.0)
    filled(graph).save_communities([part, whole])
    assert [(k.id, k.parent, k.title) for k in graph.communities()] == [("k0", None, "All"), ("k1", "k0", "Products")]
    (stored,) = graph.communities(level=1)
    assert (set(stored.entities), stored.report, stored.rank) == ({WEAVE, LEAP}, "What is sold.", 1.0)
    graph.save_communities([whole])
    assert [k.id for k in graph.communities()] == ["k0"]


def test_reports_that_may_quote_a_document_go_with_it(graph: GraphStore) -> None:
    filled(graph)
    quoting = Community("quoting", 0, None, (INNOVATE, CHURN), "Board", "The board faces churn.")
    apart = Community("apart", 0, None, (WEAVE, LEAP), "Launch", "DataWeave launched it.")
    graph.replace("press", [facts("p1", "press", ("Ada", "MET", "Churn"))])
    graph.save_communities([quoting, apart], made="so")
    graph.forget("press")
    assert [one.id for one in graph.communities()] == ["apart"]


def test_collections_do_not_see_each_other(settings: Settings) -> None:
    first, second = open_graph(settings, "first-1"), open_graph(settings, "second-1")
    filled(first)
    second.replace("board", BOARD)
    assert second.size() == GraphSize(documents=1, chunks=1, entities=3, mentions=3, relations=2)
    first.clear()
    assert second.size().entities == 3
    assert names(second.entities()) == ["Churn", "DataWeave", "InnovateCorp"]
    assert first.size() == GraphSize()
    for graph in (first, second):
        graph.close()
    drop_graph(settings, "second-1")
    again = open_graph(settings, "second-1")
    assert again.size() == GraphSize()
    again.close()


def test_what_was_written_is_there_after_opening_again(settings: Settings) -> None:
    filled(open_graph(settings, "kept-1")).close()
    again = open_graph(settings, "kept-1")
    assert again.size().entities == 4
    again.close()


def test_a_neo4j_that_is_not_there_is_told_in_a_sentence(tmp_path) -> None:
    with pytest.raises(GraphError, match="does not answer: start it"):
        open_graph(Settings(data_dir=tmp_path, graph_uri="bolt://127.0.0.1:9"), "any")


def test_a_dropped_graph_leaves_nothing_in_neo4j(neo4j_uri: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, graph_uri=neo4j_uri)
    with neo4j.GraphDatabase.driver(neo4j_uri) as driver:

        def there() -> tuple[int, int]:
            (nodes,) = driver.execute_query("MATCH (n) RETURN count(n)").records[0]
            indexes = driver.execute_query(
                "SHOW INDEXES YIELD labelsOrTypes AS of WHERE of[0] STARTS WITH 'Ragscope_tests_gone'"
            )
            return nodes, len(indexes.records)

        before = there()
        graph = open_graph(settings, "tests-gone")
        graph.replace("news", NEWS)
        graph.close()
        assert there() > before
        drop_graph(settings, "tests-gone")
        assert there() == before
    assert not graphs_left(settings)


def test_two_data_directories_in_one_neo4j_do_not_see_each_other(neo4j_uri: str, tmp_path: Path) -> None:
    both = [Settings(data_dir=tmp_path / name, graph_uri=neo4j_uri) for name in ("one", "two")]
    first, second = (open_graph(settings, "tests-shared") for settings in both)
    first.replace("news", NEWS)
    assert second.documents() == {}
    second.replace("board", BOARD)
    second.clear()
    first.close()
    again = open_graph(both[0], "tests-shared")
    assert set(again.documents()) == {"news"}
    for graph, settings in ((again, both[0]), (second, both[1])):
        graph.close()
        drop_graph(settings, "tests-shared")


def test_a_graph_that_neo4j_could_not_be_told_to_drop_is_left_to_be_dropped(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, graph_uri="bolt://127.0.0.1:9")
    with pytest.raises(GraphError, match="does not answer"):
        drop_graph(settings, "tests-gone")
    assert graphs_left(settings) == {"tests-gone"}
