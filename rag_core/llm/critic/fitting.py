"""Fitting the critic's heads: softmax regression by Newton's method, cross-validation, and the figures of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rag_core.llm.critic.heads import Head, softmax

_STEPS = 30
_BINS = 10
_LEAST_SPREAD = 1e-3
"""A feature that varies less than this tells nothing."""


def fitted(
    rows: Sequence[Mapping[str, float]],
    labels: np.ndarray,
    weights: np.ndarray,
    classes: Sequence[str],
    *,
    penalty: float,
) -> Head:
    """Fit a head.

    Args:
        rows: The features of each example, all with the same names.
        labels: `(len(rows),)` int: which of the classes.
        weights: `(len(rows),)`: how much each example counts.
        penalty: Of the squared weights, L2; the biases are free.
    """
    names = list(rows[0])
    given = np.array([[row[name] for name in names] for row in rows])
    mean = np.average(given, axis=0, weights=weights)
    spread = np.sqrt(np.average((given - mean) ** 2, axis=0, weights=weights))
    spread[spread < _LEAST_SPREAD] = 1.0
    scaled = np.column_stack([np.clip((given - mean) / spread, -4, 4), np.ones(len(rows))])
    found = _newton(scaled, np.eye(len(classes))[labels], weights, penalty)
    return Head(
        classes=tuple(classes),
        bias=tuple(_short(found[-1])),
        mean=dict(zip(names, _short(mean), strict=True)),
        spread=dict(zip(names, _short(spread), strict=True)),
        weights={name: tuple(_short(row)) for name, row in zip(names, found, strict=False)},
    )


def _newton(given: np.ndarray, wanted: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray:
    """`(features + 1, classes)`: the weights, the biases in the last row."""
    features, classes = given.shape[1], wanted.shape[1]
    found = np.zeros((features, classes))
    # The biases get a trace of penalty: without it all classes could rise together for ever.
    ridge = np.repeat(np.append(np.full(features - 1, penalty), 1e-6), classes)
    for _ in range(_STEPS):
        chances = softmax(given @ found)
        slope = given.T @ (weights[:, None] * (chances - wanted)) + ridge.reshape(found.shape) * found
        bend = np.zeros((features, classes, features, classes))
        for one in range(classes):
            for other in range(classes):
                inner = weights * chances[:, one] * ((one == other) - chances[:, other])
                bend[:, one, :, other] = given.T @ (inner[:, None] * given)
        step = np.linalg.solve(bend.reshape(slope.size, slope.size) + np.diag(ridge), slope.ravel())
        found -= step.reshape(found.shape)
        if np.abs(step).max() < 1e-6:
            break
    return found


def cross_validated(
    rows: Sequence[Mapping[str, float]],
    labels: np.ndarray,
    weights: np.ndarray,
    groups: Sequence[str],
    classes: Sequence[str],
    *,
    penalty: float,
    folds: int = 5,
) -> np.ndarray:
    """`(len(rows), classes)`: what each example is given by a head that saw none of its group."""
    order = {group: number for number, group in enumerate(sorted(set(groups)))}
    fold = np.array([order[group] % folds for group in groups])
    chances = np.zeros((len(rows), len(classes)))
    for held in range(folds):
        seen, unseen = np.flatnonzero(fold != held).tolist(), np.flatnonzero(fold == held).tolist()
        head = fitted([rows[row] for row in seen], labels[seen], weights[seen], classes, penalty=penalty)
        chances[unseen] = head.probabilities([rows[row] for row in unseen])
    return chances


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The chance that a positive example scores above another one; ties count half."""
    ranked, at = np.unique(scores, return_inverse=True)
    of_each = np.bincount(at, minlength=len(ranked))
    ranks = np.cumsum(of_each) - (of_each - 1) / 2
    n = int(positive.sum())
    return float((ranks[at][positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def macro_f1(said: np.ndarray, labels: np.ndarray, classes: int) -> float:
    """The mean over the classes of 2·hits / (said + labelled)."""
    each = [
        2 * np.sum((said == one) & (labels == one)) / max(1, np.sum(said == one) + np.sum(labels == one))
        for one in range(classes)
    ]
    return float(np.mean(each))


def calibration(chances: np.ndarray, positive: np.ndarray) -> list[tuple[float, float, int]]:
    """By tenths of the probability said: its mean, the share that was so, and how many; empty tenths are left out."""
    tenth = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    inside = [tenth == one for one in range(_BINS)]
    return [(float(chances[one].mean()), float(positive[one].mean()), int(one.sum())) for one in inside if one.any()]


def calibration_error(chances: np.ndarray, positive: np.ndarray) -> float:
    """How far what is said lies from what is so, on average over the examples (expected calibration error)."""
    return sum(abs(said - was) * n for said, was, n in calibration(chances, positive)) / len(chances)


def _short(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]
