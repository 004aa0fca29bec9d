"""What tells whether a passage has to do with a claim and holds it: a few dozen numbers, each of which can be read.

Closeness (vectors of sentences, the best match of every word) says whether the passage speaks of the same; coverage
and word order, whether it says the same; numbers, names, negations and directions, whether it says the opposite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.llm.critic.statement import Number, Statement

_LOOKED_AT = 3
"""Sentences that a claim is held against word by word; few claims rest on more."""
_FAR = 0.6
"""Below this cosine a word of the evidence hardly stands for one of the claim."""
_MANY = 10
"""Missing words from which on it makes no difference how many."""

_DECISIVE = ("numbers_absent", "numbers_conflict", "negated_either", "other_way", "turned_word")

Rarity = Callable[[str], float]


@dataclass(frozen=True)
class Words:
    """The content words of a sentence, each in its context."""

    stems: tuple[str, ...]
    vectors: np.ndarray
    """`(len(stems), dimensions)`, rows of unit length."""


@dataclass(frozen=True)
class Evidence:
    """The sentences of one passage, or of several together, as a claim is held against them."""

    sentences: tuple[Statement, ...]
    closeness: np.ndarray
    """`(len(sentences),)`: cosine of the claim and each."""
    pairs: np.ndarray
    """The same of each two sentences that follow one another."""
    passage: float
    """The same of the whole passage, the nearest where there are several."""
    coverage: np.ndarray
    """`(len(sentences),)`: share of the claim's words, weighted by rarity, that each holds."""

    @property
    def nearest(self) -> list[int]:
        """The sentences to look at, by closeness and coverage, the best first."""
        return [int(row) for row in np.argsort(-(self.closeness + self.coverage), kind="stable")[:_LOOKED_AT]]


def coverage(claim: frozenset[str], held: frozenset[str], rarity: Rarity) -> float:
    """The share of the claim's stems, weighted by rarity, among those held: 0..1."""
    # Sums in a fixed order: the last bit of a sum over a set would change from one process to the next.
    whole = sum(rarity(stem) for stem in sorted(claim))
    return sum(rarity(stem) for stem in sorted(claim & held)) / whole if whole else 0.0


def features_of(
    claim: Statement, words: Words, evidence: Evidence, nearest: Sequence[Words], rarity: Rarity
) -> dict[str, float]:
    """Describe a claim beside its evidence.

    Args:
        nearest: The words of `evidence.nearest`, in that order.
    """
    top = [evidence.sentences[row] for row in evidence.nearest]
    found = {
        **_closeness(evidence),
        **_wording(claim, evidence, top, rarity),
        **_alignment(words, nearest, rarity),
        **_numbers(claim.numbers, [s.numbers for s in top], [s.numbers for s in evidence.sentences]),
        **_sense(claim, top[0]),
        "length": math.log1p(len(claim.words)),
        "sentences": math.log1p(len(evidence.sentences)),
    }
    # A claim in the passage's own words but for one is a claim about that word.
    return {**found, **{f"{name}_alone": found[name] * found["bigrams"] for name in _DECISIVE}}


def _closeness(evidence: Evidence) -> dict[str, float]:
    nearest = float(evidence.closeness.max())
    return {
        "cosine": nearest,
        "cosine_pair": float(evidence.pairs.max(initial=-1.0)) if len(evidence.pairs) else nearest,
        "cosine_passage": evidence.passage,
    }


def _wording(claim: Statement, evidence: Evidence, top: Sequence[Statement], rarity: Rarity) -> dict[str, float]:
    near = frozenset[str]().union(*(sentence.stems for sentence in top))
    anywhere = frozenset[str]().union(*(sentence.stems for sentence in evidence.sentences))
    bigrams = frozenset[tuple[str, str]]().union(*(sentence.bigrams for sentence in evidence.sentences))
    written = frozenset[str]().union(*(sentence.words for sentence in evidence.sentences))
    return {
        "coverage": float(evidence.coverage.max()),
        "coverage_nearest": coverage(claim.stems, near, rarity),
        "coverage_passage": coverage(claim.stems, anywhere, rarity),
        "missing": min(len(claim.stems - anywhere), _MANY) / _MANY,
        "bigrams": _share(claim.bigrams, bigrams),
        "names_missing": 1 - _share(claim.names, written) if claim.names else 0.0,
    }


def _alignment(words: Words, nearest: Sequence[Words], rarity: Rarity) -> dict[str, float]:
    """How each word of the claim is met by the nearest in the evidence (MaxSim), and how the worst met are.

    Source: Khattab and Zaharia 2020, "ColBERT", https://arxiv.org/abs/2004.12832
    """
    given = np.concatenate([sentence.vectors for sentence in nearest])
    if not len(words.stems) or not len(given):
        return {"met": 0.0, "met_worst": 0.0, "unmet": 1.0}
    met = (words.vectors @ given.T).max(axis=1)
    weights = np.array([rarity(stem) for stem in words.stems])
    return {
        "met": float(weights @ met / weights.sum()),
        "met_worst": float(np.sort(met)[:2].mean()),
        "unmet": float((met < _FAR).mean()),
    }


def _numbers(
    claimed: Sequence[Number], near: Sequence[Sequence[Number]], anywhere: Sequence[Sequence[Number]]
) -> dict[str, float]:
    given, others = [n for one in near for n in one], [n for one in anywhere for n in one]
    return {
        "numbers": float(bool(claimed)),
        "numbers_absent": float(any(not _given(number, others) for number in claimed)),
        "numbers_conflict": float(bool(given) and any(not _given(number, given) for number in claimed)),
    }


def _sense(claim: Statement, nearest: Statement) -> dict[str, float]:
    """Whether claim and evidence point the same way."""
    said, there = dict(claim.directions), dict(nearest.directions)
    ways, others = set(said.values()), set(there.values())
    return {
        "negated": float(claim.negated),
        "negated_there": float(nearest.negated),
        "negated_either": float(claim.negated != nearest.negated),
        "hedged_there": float(nearest.hedged),
        "directed": float(bool(said)),
        "same_way": float(bool(ways & others)),
        "other_way": float(bool(ways and others) and not ways & others),
        "turned_word": float(any(there.get(stem, way) != way for stem, way in said.items())),
    }


def _given(number: Number, numbers: Iterable[Number]) -> bool:
    return any(number.agrees_with(given) for given in numbers)


def _share(wanted: frozenset, held: frozenset) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0
