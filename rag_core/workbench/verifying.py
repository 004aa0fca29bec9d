"""Checks answers from anywhere against the passages that came with them: no index, nothing but reading.

The trained critic judges, or a model where that is asked for; what the model leaves out the critic judges all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.llm.critic import PARTIAL, Critic, Judged, to_support, weakest
from rag_core.llm.engine import Call, Nobody
from rag_core.llm.overrides import Overrides
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.settings import Settings
from rag_core.techniques.self_rag import SelfRag, SelfRagSettings
from rag_core.types import Chunk, Sentence, Support, Value
from rag_core.workbench.engines import Engines

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
    note: str = Field(default="", description="Where a model failed: whether it was asked again, or the critic judged.")


class _Judgements(Value):
    """What was judged of an answer; `each` a row a sentence, a column a passage, `held` by all passages together."""

    relevant: tuple[float, ...]
    each: tuple[tuple[Judged, ...], ...]
    held: tuple[Judged, ...]
    use: int
    note: str = ""


class Verifier:
    """Checks answers, many at once where there are many."""

    def __init__(self, critic: Critic, model: SelfRag | None = None) -> None:
        """Wire a verifier.

        Args:
            model: Who judges in the critic's place.
        """
        self._critic = critic
        self._model = model

    @classmethod
    def open(cls, settings: Settings, say: Callable[[str], None], *, by_model: bool = False) -> Verifier:
        """Load the vectors' model and the critic; nothing else is started.

        Args:
            by_model: Whether the model that was chosen in Settings, or in the environment, judges.

        Raises:
            ArtefactError: The weights cannot be had.
            QuestionError: There is no model.
        """
        model = Engines(settings, Overrides()).get("model") if by_model else None
        reading = Reading(TextEmbedder(find_weights(settings, say), settings.precision, cache_dir=settings.cache_dir))
        critic = Critic(reading)
        return cls(critic, SelfRag(SelfRagSettings(critic="model"), model, reading, critic) if model else None)

    def check(self, answers: Sequence[GivenAnswer]) -> Iterator[Verified]:
        """Yield a verdict an answer, in their order."""
        for start in range(0, len(answers), _AT_ONCE):
            together = answers[start : start + _AT_ONCE]
            self._critic.read([text for given in together for text in _texts(given)])
            yield from map(self._verified, together)

    def _verified(self, given: GivenAnswer) -> Verified:
        asked = (given.question or "").strip()
        claims = sentences(given.answer)
        judge = self._by_model if self._model and claims and given.contexts else self._by_critic
        judged = judge(asked or given.answer, given, claims)
        whole = weakest(judged.held)
        return Verified(
            id=given.id,
            supported=whole.supported >= PARTIAL,
            probability=whole.supported,
            contradicted=whole.contradicted,
            isuse=judged.use if asked else 1 + round(4 * whole.supported),
            contexts=tuple(
                ContextVerdict(isrel="relevant" if chance >= _RELEVANT else "irrelevant", probability=chance)
                for chance in judged.relevant
            ),
            sentences=tuple(
                SentenceVerdict(
                    text=claim,
                    support=to_support(held.supported),
                    probability=held.supported,
                    contradicted=held.contradicted,
                    context=_strongest(row),
                )
                for claim, held, row in zip(claims, judged.held, judged.each, strict=True)
            ),
            note=judged.note,
        )

    def _by_critic(self, asked: str, given: GivenAnswer, claims: Sequence[str]) -> _Judgements:
        contexts = given.contexts
        return _Judgements(
            relevant=tuple(self._critic.relevance(asked, contexts)),
            each=tuple(map(tuple, self._critic.support(claims, contexts))),
            held=tuple(self._critic.answer_support(claim, contexts) for claim in claims),
            use=_nearest(self._critic.usefulness(asked, given.answer)),
        )

    def _by_model(self, asked: str, given: GivenAnswer, claims: Sequence[str]) -> _Judgements:
        assert self._model is not None
        heard = _Notes()
        chunks = [Chunk(id=f"{at}", document="", name="", text=text) for at, text in enumerate(given.contexts)]
        told = self._model.critique(asked, [Sentence(text=claim) for claim in claims], chunks, heard)
        each = [[Judged(supported=one.probability, contradicted=one.contradicted) for one in row] for row in told.issup]
        return _Judgements(
            relevant=tuple(one.probability for one in told.isrel),
            each=tuple(map(tuple, each)),
            held=tuple(
                Judged(supported=sentence.probability or 0.0, contradicted=max(one.contradicted for one in row))
                for sentence, row in zip(told.sentences, each, strict=True)
            ),
            use=told.usefulness,
            note=" ".join(dict.fromkeys(heard.notes)),
        )


class _Notes(Nobody):
    """Keeps why a model was answered for."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def called(self, call: Call) -> None:
        if call.note:
            self.notes.append(call.note)


def _texts(given: GivenAnswer) -> list[str]:
    return [*([given.question] if given.question else []), given.answer, *sentences(given.answer), *given.contexts]


def _strongest(judged: Sequence[Judged]) -> int | None:
    return max(range(len(judged)), key=lambda number: judged[number].supported, default=None)


def _nearest(chances: Sequence[float]) -> int:
    """The label nearest to what is to be expected."""
    return round(sum(label * chance for label, chance in enumerate(chances, start=1)))
