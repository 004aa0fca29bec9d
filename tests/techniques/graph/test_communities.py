from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag_core.llm.engine import KeylessEngine
from rag_core.stores.graph.facts import Edges
from rag_core.techniques.graph.communities import Reporter, communities_of
from tests.fakes import Watch
from tests.model_server import Turn, says
from tests.techniques.graph.worlds import READING, a_graph
from tests.techniques.scripted import a_model

NOTHING = (np.zeros(0, int), np.zeros(0, int), np.zeros(0))


def two_groups(size: int) -> Edges:
    """Two groups in which everything is related, with one thread between them."""
    inside = [(i + at, j + at, 1.0) for at in (0, size) for i in range(size) for j in range(i + 1, size)]
    sources, targets, weights = map(np.array, zip(*inside, (0, size, 0.1), strict=True))
    return Edges(1, tuple(f"e{at:03}" for at in range(2 * size)), (), (sources, targets, weights), NOTHING)


def test_what_belongs_together_is_one_community() -> None:
    found = communities_of(two_groups(3))
    assert [sorted(one.entities) for one in found] == [["e000", "e001", "e002"], ["e003", "e004", "e005"]]


def test_a_large_community_is_taken_apart_into_ones_that_know_it() -> None:
    inside = [(at + i, at + j, 1.0) for at in range(0, 120, 3) for i, j in ((0, 1), (0, 2), (1, 2))]
    ring = [(at, (at + 3) % 120, 1.0) for at in range(0, 120, 3)]
    sources, targets, weights = map(np.array, zip(*inside, *ring, strict=True))
    edges = Edges(1, tuple(f"e{at:03}" for at in range(120)), (), (sources, targets, weights), NOTHING)
    found = communities_of(edges, largest=6)
    ids = {one.id for one in found}
    assert {one.level for one in found} > {0}
    assert all(one.parent in ids for one in found if one.level)


def test_the_same_graph_has_the_same_communities() -> None:
    assert communities_of(two_groups(20)) == communities_of(two_groups(20))


def test_a_graph_without_relations_has_none() -> None:
    assert communities_of(Edges(1, ("a",), (), NOTHING, NOTHING)) == []


def test_reports_say_what_the_passages_say_of_their_entities(tmp_path: Path) -> None:
    graph = a_graph(tmp_path, reports=True)
    reports = [one.report for one in graph.communities() if one.report]
    assert any("InnovateCorp announced an agreement to acquire" in report for report in reports)
    graph.close()


def test_only_what_has_changed_is_reported_anew(tmp_path: Path) -> None:
    graph = a_graph(tmp_path, reports=True)
    with a_model('{"title": "New", "report": "Written anew."}') as (engine, server):
        by_model = [*{one.id: one for one in Reporter(engine, READING, Watch()).communities(graph)}.values()]
        graph.save_communities(by_model)
        asked = len(server.asked)
        assert {one.id for one in Reporter(engine, READING, Watch()).communities(graph)} == {one.id for one in by_model}
        assert len(server.asked) == asked == sum(one.made_by == "scripted" for one in by_model)
    without = list(Reporter(KeylessEngine(), READING, Watch()).communities(graph))
    assert [one.report for one in without] == [one.report for one in by_model]
    graph.forget("press")
    after = list(Reporter(KeylessEngine(), READING, Watch()).communities(graph))
    assert all("Ledgerline" not in one.report for one in after)
    graph.close()


@pytest.mark.parametrize(
    "turn", [says("no JSON"), says('{"title": "", "report": ""}'), Turn(['{"title": "Ne'], cut=True), Turn(status=503)]
)
def test_a_model_that_fails_on_a_report_gives_way_to_central_sentences_and_the_call_says_so(
    tmp_path: Path, turn: Turn
) -> None:
    graph, watch = a_graph(tmp_path), Watch()
    with a_model(turn) as (engine, _):
        told = list(Reporter(engine, READING, watch).communities(graph))
    graph.close()
    assert any("InnovateCorp announced an agreement to acquire" in one.report for one in told)
    assert {call.engine for call in watch.calls} == {"keyless"}
    assert all("nswered without it" in call.note for call in watch.calls)
