"""Soft clusters of vectors: Gaussian mixtures, their number by BIC, a vector in every cluster that may have made it.

The paper reduces with UMAP. PCA takes its place here: it needs no compiler, gives the same axes for the same vectors,
and a mixture on it splits a document's chunks as well for our purpose. As in the paper a large set is clustered as a
whole first and then anew, on axes of its own, within each cluster. Candidates for the number of clusters are spaced
evenly on a logarithm, the mixture is fitted on a sample, and what a fit costs does not hang on the number of vectors:
so time grows as n log n.

Source: Sarthi et al. 2024, "RAPTOR", section 3, https://arxiv.org/abs/2401.18059
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

DIMENSIONS = 10
"""The paper's number of reduced dimensions."""
MOST_COMPONENTS = 50
"""The paper's limit for one mixture."""
SAMPLE = 1_000
_STEP = 1.4
_ROUNDS = 50
_FEWEST = 4
"""Vectors that a component has on average, at least: a summary of fewer hardly shortens them."""
_SMALLEST = 4
"""Fewer vectors than this are one cluster: a mixture of them says nothing."""


def soft_clusters(vectors: np.ndarray, *, threshold: float, largest: int) -> list[np.ndarray]:
    """Group vectors by nearness.

    Args:
        vectors: (n, dim) float32, in an order that means something: what no mixture tells apart is cut by it.
        threshold: The probability from which a vector belongs to a cluster.
        largest: The most vectors of a cluster, 4 at least.

    Returns:
        Ascending row numbers, a cluster each, ordered by their first. Every row is in one at least; a cluster has
        2 to `largest` rows, but for a single row that is all there is.
    """
    rows = np.arange(len(vectors))
    with _few_threads():
        found = [cluster for cluster in _split(vectors, rows, threshold, largest) if len(cluster)]
    together = _without_lone(vectors, found, largest)
    once = {tuple(cluster.tolist()): cluster for cluster in together}
    return [once[key] for key in sorted(once)]


def _split(vectors: np.ndarray, rows: np.ndarray, threshold: float, largest: int) -> Iterator[np.ndarray]:
    """The clusters of these rows, each of at most `largest`."""
    if len(rows) < _SMALLEST:
        yield from _in_order(rows, largest)
        return
    # So many that they need not be split again; one mixture over thousands is the paper's global step.
    least = min(-(-len(rows) // largest), MOST_COMPONENTS)
    member = _memberships(vectors[rows], least, threshold)
    for column in member.T:
        inside = rows[column]
        if len(inside) <= largest:
            yield inside
        elif len(inside) > 0.9 * len(rows):  # nothing tells them apart: it would go on for ever
            yield from _in_order(inside, largest)
        else:
            yield from _split(vectors, inside, threshold, largest)


@contextmanager
def _few_threads() -> Iterator[None]:
    """Let thousands of small mixtures be fitted: what is set here takes as long as a fit, and is set once for all."""
    # scikit-learn takes seconds to import, and only building needs it.
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # Threads that wait for each other cost ten times what they save on vectors this few.
    with (
        threadpool_limits(1),
        config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(),
    ):
        # What it warns of are vectors that are all alike, and fits that might still be a little better.
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _memberships(vectors: np.ndarray, least: int, threshold: float) -> np.ndarray:
    """Which vectors belong to which component of the best mixture: (n, components) of bool; each to one at least."""
    from sklearn.mixture import GaussianMixture  # as above

    reduced = _reduced(vectors)
    sample = _sample(reduced)
    most = max(least, min(MOST_COMPONENTS, len(sample) // _FEWEST))
    mixtures = [
        GaussianMixture(n, covariance_type="spherical", init_params="k-means++", random_state=0, max_iter=_ROUNDS)
        for n in _candidates(least, most)
    ]
    best = min(mixtures, key=lambda mixture: mixture.fit(sample).bic(sample))
    likely = best.predict_proba(reduced)
    member = likely > threshold
    member[np.arange(len(member)), likely.argmax(axis=1)] = True
    return member


def _candidates(least: int, most: int) -> list[int]:
    """Numbers of components, each some 40% above the one before: BIC is flat between them."""
    found = [least]
    while (following := max(found[-1] + 1, round(found[-1] * _STEP))) <= most:
        found.append(following)
    return found


def _reduced(vectors: np.ndarray) -> np.ndarray:
    """The vectors on their principal axes: (n, up to `DIMENSIONS`) float64."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(_sample(centred), full_matrices=False)
    return centred @ axes[:DIMENSIONS].T


def _sample(rows: np.ndarray) -> np.ndarray:
    """Some of the rows, at even distances."""
    return rows[:: max(1, -(-len(rows) // SAMPLE))]


def _in_order(rows: np.ndarray, largest: int) -> Sequence[np.ndarray]:
    """Runs of neighbours, of about the same length."""
    return np.array_split(rows, -(-len(rows) // largest)) if len(rows) else []


def _without_lone(vectors: np.ndarray, clusters: Sequence[np.ndarray], largest: int) -> list[np.ndarray]:
    """The clusters with each lone row in the nearest of the others: a summary of one chunk would say it again."""
    kept = [cluster for cluster in clusters if len(cluster) > 1]
    covered = {int(row) for cluster in kept for row in cluster}
    lone = sorted({int(cluster[0]) for cluster in clusters if len(cluster) == 1} - covered)
    if not kept:
        return [np.array([row]) for row in lone]
    centres = np.stack([vectors[cluster].mean(axis=0) for cluster in kept])
    for row in lone:
        nearest = int((centres @ vectors[row]).argmax())
        kept[nearest], *others = _in_order(np.sort(np.append(kept[nearest], row)), largest)
        centres[nearest] = vectors[kept[nearest]].mean(axis=0)
        if others:
            kept += others
            centres = np.concatenate([centres, [vectors[cluster].mean(axis=0) for cluster in others]])
    return kept
