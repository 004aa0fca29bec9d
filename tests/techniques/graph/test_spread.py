from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag_core.stores.graph.facts import Edges, Entity
from rag_core.techniques.graph.spread import GraphIndex, index_of
from tests.techniques.graph.worlds import a_graph


def an_index(related: np.ndarray, mentioned: np.ndarray) -> GraphIndex:
    """A graph of weights: `related` (entities, entities), upper triangle, and `mentioned` (entities, chunks)."""
    i, j = np.nonzero(related)
    e, c = np.nonzero(mentioned)
    edges = Edges(
        version=1,
        entities=tuple(f"e{at}" for at in range(mentioned.shape[0])),
        chunks=tuple(f"c{at}" for at in range(mentioned.shape[1])),
        related=(i, j, related[i, j]),
        mentioned=(e, c, mentioned[e, c]),
    )
    return GraphIndex(edges, [Entity(id_, f"Name {id_}") for id_ in edges.entities])


def solved(related: np.ndarray, mentioned: np.ndarray, start: np.ndarray, damping: float) -> np.ndarray:
    """Where the walk is in the long run, by solving for it."""
    between = 0.3 * np.minimum(related + related.T, 1)
    whole = np.block([[between, mentioned], [mentioned.T, np.zeros((mentioned.shape[1],) * 2)]])
    steps = whole / np.maximum(whole.sum(axis=0), 1e-12)
    return np.linalg.solve(np.eye(len(whole)) - damping * steps, (1 - damping) * start)


@pytest.mark.parametrize("seed", range(3))
def test_the_walk_is_where_the_solved_equation_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    related = np.triu((random.random((12, 12)) < 0.3) * 1.0, 1)
    mentioned = (random.random((12, 8)) < 0.4) * random.integers(1, 10, (12, 8)).astype(float)
    mentioned[:, 0] = 1  # every entity stands somewhere
    walked = an_index(related, mentioned).spread([3], {"c2": 2.0}, passage_weight=0.5, damping=0.3)
    start = np.zeros(20)
    start[3], start[12 + 2] = 1 / 1.5, 0.5 / 1.5
    expected = solved(related, mentioned, start, 0.3)
    assert np.allclose(np.concatenate([walked.entities, walked.chunks]), expected, atol=1e-5)


def test_a_rare_entity_begins_with_more_than_one_that_stands_everywhere() -> None:
    mentioned = np.array([[1.0, 0, 0, 0], [0, 1, 1, 1]])
    walked = an_index(np.zeros((2, 2)), mentioned).spread([0, 1], {}, passage_weight=0.1, damping=0.5)
    assert walked.chunks[0] > walked.chunks[1:].sum()


def test_a_walk_from_nothing_is_nowhere() -> None:
    walked = an_index(np.zeros((2, 2)), np.eye(2)).spread([], {"unknown": 1.0}, passage_weight=0.1, damping=0.9)
    assert not walked.chunks.any()


def test_two_spellings_of_a_name_are_one_step_apart() -> None:
    nothing = (np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    edges = Edges(1, ("a", "b"), ("one", "two"), nothing, (np.array([0, 1]), np.array([0, 1]), np.ones(2)))
    index = GraphIndex(edges, [Entity("a", "Émile Zola"), Entity("b", "Emile Zola")])
    assert index.spread([0], {}, passage_weight=0, damping=0.9).chunks[1] > 0


def test_a_graph_is_made_ready_once_for_each_version(tmp_path: Path) -> None:
    graph = a_graph(tmp_path)
    first = index_of(graph)
    assert index_of(graph) is first
    graph.forget("press")
    assert "launch" in first.chunks
    assert "launch" not in index_of(graph).chunks
    graph.close()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who made QuantumLeap Analytics?", ["quantumleap analytics"]),
        ("who made quantumleap analytics?", ["quantumleap analytics"]),
        ("Who wrote the cambridge report for DataWeave?", ["dataweave"]),
        ("Where was the maker of QuantumLeap Analytics (DataWeave) born?", ["quantumleap analytics"]),
        ("Did Tomas Herrera know InnovateCorp’s president?", ["tomas herrera", "innovatecorp"]),
    ],
)
def test_names_of_a_question_are_found_however_they_are_written(
    tmp_path: Path, question: str, names: list[str]
) -> None:
    graph = a_graph(tmp_path)
    assert [name for name, _ in index_of(graph).lexicon.named_in(question)] == names
    graph.close()
