"""Who judges: what a reply says by its reflection tokens, and the trained critic for all that it leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.techniques.base import Critic, Judged
from rag_core.techniques.self_rag.reflection import CriticName, Isrel, Issup
from rag_core.techniques.self_rag.settings import SelfRagSettings
from rag_core.techniques.self_rag.tokens import Shares
from rag_core.types import Chunk, Support

_LABELS: dict[str, Support] = {
    "fully": "fully_supported",
    "partially": "partially_supported",
    "none": "no_support",
    "against": "no_support",
}
_NATIVE_MODEL = re.compile(r"self[-_ ]?rag", re.IGNORECASE)


class Judge:
    """Gives chunks, sentences and answers what was judged of them."""

    def __init__(self, settings: SelfRagSettings, engine: Engine, critic: Critic) -> None:
        self._settings = settings
        self.critic = critic
        """The trained one."""
        self.name: CriticName = _critic(settings, engine)
        """Who judges where a reply says something."""

    def relevance(self, question: str, chunks: Sequence[Chunk]) -> dict[str, Isrel]:
        """The trained critic's judgement of chunks, by id."""
        if not chunks:
            return {}
        judged = self.critic.relevance(question, [chunk.searchable_text for chunk in chunks])
        return {
            chunk.id: self._at(chunk.id, float(probability), "trained")
            for chunk, probability in zip(chunks, judged, strict=True)
        }

    def isrel(self, chunk: Chunk, shares: Shares) -> Isrel | None:
        """Whether a chunk helps, as a reply says; None where it does not say."""
        both = shares.get("relevant", 0.0) + shares.get("irrelevant", 0.0)
        return self._at(chunk.id, shares["relevant"] / both, self.name) if both else None

    def issup(self, chunk: str, shares: Shares) -> Issup | None:
        """How far a chunk holds a sentence, as a reply says; None where it does not say."""
        if not shares:
            return None
        return Issup(
            chunk=chunk,
            support=_LABELS[max(shares, key=shares.__getitem__)],
            probability=shares["fully"] + 0.5 * shares["partially"],
            contradicted=shares["against"],
            by=self.name,
        )

    def support(self, question: str, texts: Sequence[str], chunks: Sequence[Chunk]) -> list[list[Issup]]:
        """The trained critic's judgement of sentences, row by row, against chunks."""
        judged = self.critic.support(texts, [chunk.searchable_text for chunk in chunks], question)
        return [
            [_by_critic(chunk.id, one, self.critic) for chunk, one in zip(chunks, row, strict=True)] for row in judged
        ]

    def isuse(self, question: str, answer: str, shares: Shares) -> tuple[float, ...]:
        """The probabilities of 1 to 5, as a reply says, else as the trained critic does."""
        if shares:
            return tuple(shares[str(use)] for use in range(1, 6))
        return tuple(self.critic.usefulness(question, answer))

    def _at(self, chunk: str, probability: float, by: CriticName) -> Isrel:
        relevant = probability >= self._settings.isrel_threshold
        return Isrel(chunk=chunk, probability=probability, relevant=relevant, by=by)


def _critic(settings: SelfRagSettings, engine: Engine) -> CriticName:
    if engine.name == KeylessEngine.name:
        return "trained"
    if settings.critic != "auto":
        return settings.critic
    return "native" if _NATIVE_MODEL.search(engine.name) else "model"


def _by_critic(chunk: str, judged: Judged, critic: Critic) -> Issup:
    return Issup(
        chunk=chunk,
        support=critic.to_support(judged.supported),
        probability=judged.supported,
        contradicted=judged.contradicted,
        by="trained",
    )
