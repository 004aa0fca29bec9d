"""Rerank: look at the first hits again, closer than a search can afford, and put them in a better order.

Where a cross-encoder is configured it judges. Else a model judges all candidates in one call, each with a score from 0
to 10. Without either each candidate's first score, in which BM25 and cosine are fused, is joined by how near its tokens
come to those of the question, the rare ones foremost. Costs one model call, or a forward pass of every candidate: some
12 ms each by tokens.

Sources: Nogueira and Cho 2019, "Passage Re-ranking with BERT", https://arxiv.org/abs/1901.04085 (cross-encoder);
Sun et al. 2023, "Is ChatGPT Good at Search?", https://arxiv.org/abs/2304.09542 (listwise by a model);
Khattab and Zaharia 2020, "ColBERT", https://arxiv.org/abs/2004.12832 (MaxSim)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, Field

from rag_core.llm.engine import Call, Engine, KeylessEngine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Pairs, Reading
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Hit

_BEST = 10.0
_PASSAGE_CHARS = 1_200
"""What the token vectors read of a passage too: some 256 tokens."""


class RerankSettings(TechniqueSettings):
    """How many hits are looked at again, and how they are judged."""

    candidates: int = Field(default=20, ge=2, le=60, description="First hits that are judged; the others follow them.")
    token_weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Without a model: the share of token closeness; the first score has the rest.",
    )
    threshold: float = Field(
        default=7.0, ge=0, le=10, description="Chunks that are judged lower go where enough better ones are left."
    )


class RerankInput(BaseModel):
    question: str
    passages: str = Field(description="The candidates as the model reads them, numbered from 1.")
    texts: list[str] = Field(description="The same, in the same order.")
    scores: list[float] = Field(description="Of the first search, in the same order.")
    token_weight: float


class Judged(BaseModel):
    """A passage by its number, from 1, and how well it answers, 0 to 10."""

    passage: int
    score: float = Field(ge=0, le=10)


class RerankOutput(BaseModel):
    judged: list[Judged] = Field(description='[{"passage": number, "score": 0 to 10}], one for every passage.')


def judged_by_tokens(inputs: RerankInput, reading: Reading) -> RerankOutput:
    """The first score and MaxSim, each scaled to 0..1 over the candidates, in the weighted mean."""
    first = _scaled(np.array(inputs.scores))
    tokens = _scaled(reading.token_closeness(inputs.question, inputs.texts)) if inputs.token_weight else first
    fused = _BEST * ((1 - inputs.token_weight) * first + inputs.token_weight * tokens)
    return RerankOutput(
        judged=[Judged(passage=at, score=round(float(score), 4)) for at, score in enumerate(fused, start=1)]
    )


def _scaled(scores: np.ndarray) -> np.ndarray:
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def left_as_they_came(_inputs: RerankInput, _: Reading) -> RerankOutput:
    """No judgement at all, which leaves the order as it is."""
    return RerankOutput(judged=[])


RERANK = Signature(
    name="rerank.judge",
    inputs=RerankInput,
    outputs=RerankOutput,
    prompt="""\
Judge how well each passage helps to answer the question: 10 answers it, 7 holds a part that is needed, 3 is about the
same things without helping, 0 is about something else. Judge every passage, by its number.

{passages}

Question: {question}
""",
    keyless=judged_by_tokens,
)


class Rerank:
    """Puts hits in a better order."""

    def __init__(self, settings: RerankSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def candidates(self, at_least: int) -> int:
        """How many hits of a first search are wanted where at least so many are to be left."""
        return max(self._settings.candidates, at_least)

    def rerank(self, question: str, hits: Sequence[Hit], watch: Watch, *, at_least: int) -> list[Hit]:
        """Judge the first hits and put them in the order of their scores, those after them behind.

        Args:
            hits: Best first.
            at_least: Hits that stay whatever their score is.

        Returns:
            Hits with 'rerank' (0..10) and 'was' (their place before, from 1) among their scores, best first; their
            score is falling, in 0..1. What a model left unjudged stays in its order, after the judged.
        """
        candidates = hits[: self._settings.candidates]
        if len(candidates) < 2:
            return list(hits)
        reply = self._judged(question, candidates, watch)
        scores = {judged.passage - 1: judged.score for judged in reply.judged if 0 < judged.passage <= len(candidates)}
        if not scores:
            return list(hits)
        order = sorted(range(len(candidates)), key=lambda at: -scores.get(at, -1.0))
        good = [at for rank, at in enumerate(order) if rank < at_least or scores.get(at, 0) >= self._settings.threshold]
        moved = [_moved(candidates[at], scores.get(at), at + 1) for at in good]
        lowest = min(hit.score for hit in moved)
        behind = [hit.model_copy(update={"score": min(hit.score, lowest)}) for hit in hits[len(candidates) :]]
        return [*moved, *behind[: max(0, at_least - len(moved))]]

    def _judged(self, question: str, candidates: Sequence[Hit], watch: Watch) -> RerankOutput:
        texts = [hit.chunk.searchable_text[:_PASSAGE_CHARS] for hit in candidates]
        if self._reading.pairs is not None:
            return _by_pairs(self._reading.pairs, question, texts, watch)
        asked = RerankInput(
            question=question,
            passages="\n".join(f"[{number}]\n{quoted(text)}" for number, text in enumerate(texts, start=1)),
            texts=texts,
            scores=[hit.score for hit in candidates],
            token_weight=self._settings.token_weight,
        )
        return self._engine.complete(self._signature, asked, self._reading, watch)

    @property
    def _signature(self) -> Signature[RerankInput, RerankOutput]:
        """A model whose reply is of no use leaves the order as it is: what it has not seen has not been judged."""
        return RERANK if self._engine.name == KeylessEngine.name else replace(RERANK, keyless=left_as_they_came)


def _by_pairs(pairs: Pairs, question: str, texts: Sequence[str], watch: Watch) -> RerankOutput:
    """What a cross-encoder says, kept in the trace as an engine's reply is."""
    began = time.perf_counter()
    scores = pairs.judge(question, texts)
    told = RerankOutput(
        judged=[Judged(passage=at, score=round(_BEST * float(score), 4)) for at, score in enumerate(scores, start=1)]
    )
    seconds = time.perf_counter() - began
    call = Call(signature=RERANK.name, engine=pairs.name, prompt="", reply=told.model_dump_json(), seconds=seconds)
    watch.called(call)
    return told


def _moved(hit: Hit, judged: float | None, was: int) -> Hit:
    scores = hit.scores | {"was": float(was)} | ({} if judged is None else {"rerank": judged})
    return hit.model_copy(update={"score": (judged or 0.0) / _BEST, "scores": scores})


RERANK_TECHNIQUE = Technique(
    name="rerank",
    label="rerank",
    group="retrieve",
    summary="Looks at the first hits again and puts them in a better order.",
    settings=RerankSettings,
    verb=Rerank.rerank,
    signatures=(RERANK,),
)
