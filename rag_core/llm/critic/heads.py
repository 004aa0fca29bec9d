"""The critic's heads: softmax regressions over named features, kept as a file that can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import Field

from rag_core.types import Value

WEIGHTS = Path(__file__).with_name("weights.json")
"""What `python -m rag_core.llm.train_critic` wrote."""

SUPPORT = ("neither", "supported", "contradicted")
RELEVANCE = ("irrelevant", "relevant")


class Head(Value):
    """One softmax regression: each class has a bias and a weight a feature, on features of mean 0 and spread 1."""

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    mean: dict[str, float]
    spread: dict[str, float]
    weights: dict[str, tuple[float, ...]] = Field(description="For each feature its weight in each class.")

    def probabilities(self, rows: Sequence[Mapping[str, float]]) -> np.ndarray:
        """`(len(rows), len(classes))`, rows that sum to 1."""
        if not rows:
            return np.zeros((0, len(self.classes)))
        names = list(self.weights)
        given = np.array([[row[name] for name in names] for row in rows])
        mean, spread = (np.array([one[name] for name in names]) for one in (self.mean, self.spread))
        weights = np.array([self.weights[name] for name in names])
        # A text unlike all that was trained on is taken for the nearest that was: 4 spreads off.
        return softmax(np.clip((given - mean) / spread, -4, 4) @ weights + np.array(self.bias))


class Trained(Value):
    """The weights file: both heads, how common words are, and how all that came about."""

    data: dict[str, int] = Field(description="What it was trained on: pairs by kind.")
    seed: int
    figures: dict[str, float] = Field(description="By name; on folds that were not trained on.")
    calibration: dict[str, tuple[tuple[float, float, int], ...]] = Field(
        description="For each head, by tenths of the probability said: its mean, the share that was so, how many."
    )
    relevance: Head
    support: Head
    common: str = Field(description="Stems of general English, the commonest first.")


@cache
def trained() -> Trained:
    """The heads that come with the app."""
    return Trained.model_validate_json(WEIGHTS.read_bytes())


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
