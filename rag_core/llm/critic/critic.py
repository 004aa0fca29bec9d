"""The trained critic: whether a passage has to do with a question, and whether it holds or gainsays a claim.

It stands in where no model judges. Two small regressions weigh what reading can see (`features.py`); what they were
trained on and how well they do is written beside their weights. A claim costs a few milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pydantic import Field

from rag_core.llm.critic.comparing import Comparing, Pair
from rag_core.llm.critic.heads import Trained, trained
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import words
from rag_core.types import Support, Value

FULL, PARTIAL = 0.8, 0.5
"""From these probabilities on a claim is fully and partially supported; below the second it has no support."""


class Judged(Value):
    """How passages stand to a claim; what is left to 1 is that they do neither."""

    supported: float = Field(ge=0, le=1, description="The probability that they support it.")
    contradicted: float = Field(ge=0, le=1, description="The probability that they say otherwise.")


def to_support(probability: float) -> Support:
    """The label of a probability."""
    if probability >= FULL:
        return "fully_supported"
    return "partially_supported" if probability >= PARTIAL else "no_support"


_QUOTED = Judged(supported=0.97, contradicted=0.0)
"""What stands there word for word is supported, unless the words around it say that it is not so."""
_LEAST_QUOTED = 3


def weakest(judged: Sequence[Judged]) -> Judged:
    """What is to be thought of an answer by its sentences: it stands with the least supported of them.

    Without sentences nothing is supported.
    """
    return Judged(
        supported=min((one.supported for one in judged), default=0.0),
        contradicted=max((one.contradicted for one in judged), default=0.0),
    )


class Critic:
    """Judges by calibrated probabilities. Safe for threads."""

    to_support = staticmethod(to_support)

    def __init__(self, reading: Reading, weights: Trained | None = None) -> None:
        """Wire a critic; its weights load in milliseconds, the first time.

        Args:
            weights: Those that come with the app, unless others are given.
        """
        self._trained = weights or trained()
        self._comparing = Comparing(reading, self._trained.common)

    def read(self, texts: Iterable[str]) -> None:
        """Embed texts and their sentences ahead, all at once: faster, where many are to be judged."""
        self._comparing.read(texts)

    def relevance(self, question: str, passages: Sequence[str]) -> list[float]:
        """The probability of each passage that it helps with the question, or with the claim."""
        found = self._comparing.features([(question, (passage,)) for passage in passages])
        chances = iter(self._trained.relevance.probabilities([one for one in found if one]))
        return [_rounded(next(chances)[1]) if one else 0.0 for one in found]

    def support(self, claims: Sequence[str], passages: Sequence[str], question: str = "") -> list[list[Judged]]:
        """Each claim, row by row, held against each passage.

        Args:
            question: What the claims answer. Not looked at: a claim stands or falls by what it says itself.
        """
        judged = iter(self._judged([(claim, (passage,)) for claim in claims for passage in passages]))
        return [[next(judged) for _ in passages] for _ in claims]

    def answer_support(self, claim: str, passages: Sequence[str], question: str = "") -> Judged:
        """A claim held against all passages together, as if they were one: it may rest on two of them."""
        return self._judged([(claim, tuple(passages))])[0]

    def usefulness(self, question: str, answer: str) -> tuple[float, ...]:
        """The probabilities that an answer is of use 1, 2, 3, 4 and 5, by how much it has to do with the question.

        Nobody labelled answers by their use: the labels are spread binomially around what relevance says.
        """
        chance = self.relevance(question, [answer])[0]
        return tuple(math.comb(4, label) * chance**label * (1 - chance) ** (4 - label) for label in range(5))

    def _judged(self, pairs: Sequence[Pair]) -> list[Judged]:
        # What is quoted needs no weighing, which takes a forward pass of its passages.
        weighed = [pair for pair in pairs if not any(_quotes(pair[0], passage) for passage in pair[1])]
        found = self._comparing.features(weighed)
        chances = iter(self._trained.support.probabilities([one for one in found if one]))
        judged = dict.fromkeys(pairs, _QUOTED)
        for pair, one in zip(weighed, found, strict=True):
            _, supported, contradicted = next(chances) if one else (1.0, 0.0, 0.0)
            judged[pair] = Judged(supported=_rounded(supported), contradicted=_rounded(contradicted))
        return [judged[pair] for pair in pairs]


def _quotes(claim: str, passage: str) -> bool:
    """Whether the claim stands in the passage word for word."""
    said = words(claim)
    return len(said) >= _LEAST_QUOTED and f" {' '.join(said)} " in f" {' '.join(words(passage))} "


def _rounded(chance: float) -> float:
    """To what can be read; sums in another order, as machines differ in, do not show."""
    return round(float(chance), 4)
