"""Checks answers from anywhere against the passages that came with them: no index, no model, nothing but reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.llm.critic import PARTIAL, Critic, Judged, to_support, weakest
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.settings import Settings
from rag_core.types import Support, Value

_AT_ONCE = 32
"""Answers whose texts are embedded together: batches of one length fill up, and a kill loses little."""

_RELEVANT = 0.5


class GivenAnswer(BaseModel):
    """An answer from anywhere, with what it was made from. Fields beside these are left alone."""

    id: str | int
    question: str | None = None
    answer: str
    contexts: list[str]


class ContextVerdict(Value):
    """Whether a passage has to do with the question."""

    isrel: Literal["relevant", "irrelevant"]
    probability: float = Field(ge=0, le=1, description="That it is relevant.")


class SentenceVerdict(Value):
    """How far the passages together hold one sentence."""

    text: str
    support: Support
    probability: float = Field(ge=0, le=1, description="That it is supported.")
    contradicted: float = Field(ge=0, le=1, description="The probability that the passages say otherwise.")
    context: int | None = Field(description="The passage that supports it most, counted from 0; None without any.")


class Verified(Value):
    """What is to be thought of an answer."""

    id: str | int
    supported: bool = Field(description="`probability` is at least 0.5.")
    probability: float = Field(ge=0, le=1, description="That the whole answer is supported.")
    contradicted: float = Field(ge=0, le=1, description="The probability that the passages gainsay a part of it.")
    isuse: int = Field(
        ge=1, le=5, description="How useful it is to the question; without one, how far it is supported."
    )
    contexts: tuple[ContextVerdict, ...]
    sentences: tuple[SentenceVerdict, ...]


class Verifier:
    """Checks answers, many at once where there are many."""

    def __init__(self, critic: Critic) -> None:
        self._critic = critic

    @classmethod
    def open(cls, settings: Settings, say: Callable[[str], None]) -> Verifier:
        """Load the vectors' model and the critic; nothing else is started.

        Raises:
            ArtefactError: The weights cannot be had.
        """
        embedder = TextEmbedder(find_weights(settings, say), settings.precision, cache_dir=settings.cache_dir)
        return cls(Critic(Reading(embedder)))

    def check(self, answers: Sequence[GivenAnswer]) -> Iterator[Verified]:
        """Yield a verdict an answer, in their order."""
        for start in range(0, len(answers), _AT_ONCE):
            together = answers[start : start + _AT_ONCE]
            self._critic.read([text for given in together for text in _texts(given)])
            yield from map(self._verified, together)

    def _verified(self, given: GivenAnswer) -> Verified:
        asked = (given.question or "").strip()
        relevant = self._critic.relevance(asked or given.answer, given.contexts)
        claims = sentences(given.answer)
        each = self._critic.support(claims, given.contexts, asked)
        held = [self._critic.answer_support(claim, given.contexts, asked) for claim in claims]
        whole = weakest(held)
        return Verified(
            id=given.id,
            supported=whole.supported >= PARTIAL,
            probability=whole.supported,
            contradicted=whole.contradicted,
            isuse=_nearest(self._critic.usefulness(asked, given.answer)) if asked else 1 + round(4 * whole.supported),
            contexts=tuple(
                ContextVerdict(isrel="relevant" if chance >= _RELEVANT else "irrelevant", probability=chance)
                for chance in relevant
            ),
            sentences=tuple(
                SentenceVerdict(
                    text=claim,
                    support=to_support(judged.supported),
                    probability=judged.supported,
                    contradicted=judged.contradicted,
                    context=_strongest(row),
                )
                for claim, judged, row in zip(claims, held, each, strict=True)
            ),
        )


def _texts(given: GivenAnswer) -> list[str]:
    return [*([given.question] if given.question else []), given.answer, *sentences(given.answer), *given.contexts]


def _strongest(judged: Sequence[Judged]) -> int | None:
    return max(range(len(judged)), key=lambda number: judged[number].supported, default=None)


def _nearest(chances: Sequence[float]) -> int:
    """The label nearest to what is to be expected."""
    return round(sum(label * chance for label, chance in enumerate(chances, start=1)))
