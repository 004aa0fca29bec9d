import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.techniques.raptor.clustering import soft_clusters


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def themes(sizes: list[int], seed: int = 0, spread: float = 0.1) -> np.ndarray:
    """So many vectors around each of some directions, (n, 32)."""
    random = np.random.default_rng(seed)
    return unit(
        np.concatenate([np.eye(32)[theme] + spread * random.normal(size=(n, 32)) for theme, n in enumerate(sizes)])
    )


def test_vectors_that_stand_apart_are_clusters_of_their_own() -> None:
    clusters = soft_clusters(themes([8, 9, 10]), threshold=0.1, largest=12)
    assert [cluster.tolist() for cluster in clusters] == [[*range(8)], [*range(8, 17)], [*range(17, 27)]]


def test_a_vector_between_two_clusters_is_in_both() -> None:
    two = themes([10, 10], spread=0.2)
    between = unit((two[:10].mean(axis=0) + two[10:].mean(axis=0))[None])
    clusters = soft_clusters(np.concatenate([two, between]), threshold=0.02, largest=12)
    assert sum(20 in cluster for cluster in clusters) > 1


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 25), min_size=1, max_size=5),
    spread=st.sampled_from([0.0, 0.05, 0.5, 3.0]),
    largest=st.integers(4, 12),
    seed=st.integers(0, 3),
)
def test_every_row_is_in_a_cluster_and_none_is_larger_than_allowed(
    sizes: list[int], spread: float, largest: int, seed: int
) -> None:
    vectors = themes([*sizes, 1], seed, spread)
    clusters = soft_clusters(vectors, threshold=0.1, largest=largest)
    assert {row for cluster in clusters for row in cluster.tolist()} == set(range(len(vectors)))
    assert max(map(len, clusters)) <= largest
    assert len({tuple(cluster) for cluster in clusters}) == len(clusters)
    assert all(sorted(set(cluster.tolist())) == cluster.tolist() for cluster in clusters)
    if len(vectors) > 3:
        assert len(clusters) < len(vectors), "a level must be smaller than the one below"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_vectors_are_one_cluster(n: int) -> None:
    assert [cluster.tolist() for cluster in soft_clusters(themes([n]), threshold=0.1, largest=12)] == [[*range(n)]]


def test_the_same_vectors_give_the_same_clusters() -> None:
    vectors = themes([30, 20, 25], seed=2, spread=0.4)
    first, again = (soft_clusters(vectors, threshold=0.1, largest=8) for _ in range(2))
    assert [one.tolist() for one in first] == [one.tolist() for one in again]
