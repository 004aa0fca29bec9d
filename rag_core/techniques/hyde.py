"""HyDE: search with imagined answers, which lie nearer to the real ones than the question does.

Each hypothetical answer is embedded as a document; their mean with the question's own vector is searched for. With a
model they are written at rising temperatures, all at the same time; without one the best sentences of a first search
stand for them, and are said to be that. Costs a model call each, or the embedding of some thirty sentences; and one
search.

Source: Gao et al. 2022, "Precise Zero-Shot Dense Retrieval without Relevance Labels", https://arxiv.org/abs/2212.10496
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, Field

from rag_core.errors import RagError, Stopped
from rag_core.fan_out import fan_out
from rag_core.llm.engine import Call, Engine, KeylessEngine, Watch
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.base import Embedder, Technique, TechniqueSettings
from rag_core.types import Hit

_TEMPERATURE_STEP = 0.1
_PASSAGES = 5
"""First hits whose sentences may stand for an answer."""
_SENTENCES = 24


class HydeSettings(TechniqueSettings):
    """How many answers are imagined, and how freely."""

    num_hypotheticals: int = Field(default=3, ge=1, le=8, description="Hypothetical answers.")
    temperature: float = Field(
        default=0.7, ge=0, le=1.2, description="Of the first one; each further one is written 0.1 warmer."
    )
    timeout_s: float = Field(
        default=20.0, ge=1, le=120, description="Seconds after which those that are not there are done without."
    )
    weight: float = Field(default=0.5, ge=0, le=1, description="How much this search counts beside the question's own.")


class HydeInput(BaseModel):
    question: str
    number: int = Field(description="Which of the hypotheticals, from 0.")
    passages: list[str] = Field(description="First hits, best first: what is quoted where no model writes.")


class HydeOutput(BaseModel):
    text: str


def sentence_as_answer(inputs: HydeInput, reading: Reading) -> HydeOutput:
    """The sentence of the passages that is the `number`-th closest to the question; empty where there is none left."""
    asked = stems(inputs.question)
    found = dict.fromkeys(
        sentence for passage in inputs.passages for sentence in sentences(passage) if len(sentence.split()) > 4
    )
    by_words = sorted(found, key=lambda sentence: -reading.coverage(asked, stems(sentence)))[:_SENTENCES]
    closeness = reading.closeness(inputs.question, by_words)
    score = {
        sentence: float(close) + reading.coverage(asked, stems(sentence))
        for sentence, close in zip(by_words, closeness, strict=True)
    }
    best = sorted(score, key=score.__getitem__, reverse=True)
    return HydeOutput(text=best[inputs.number] if inputs.number < len(best) else "")


def read_passage(reply: str) -> HydeOutput:
    """The reply is the passage."""
    if not reply.strip():
        raise ReplyError("it has no text")
    return HydeOutput(text=reply.strip())


HYDE = Signature(
    name="hyde.hypothetical",
    inputs=HydeInput,
    outputs=HydeOutput,
    prompt="""\
Write a short passage, two to four sentences, that could stand in a document and answers the question.
Write as such a document would. Where you do not know a fact, write a likely one. Write the passage alone.

Question: {question}
""",
    keyless=sentence_as_answer,
    read=read_passage,
    max_tokens=300,
)


class Hyde:
    """Imagines answers, and the point in embedding space where real ones should be."""

    def __init__(self, settings: HydeSettings, engine: Engine, reading: Reading, embedder: Embedder) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._embedder = embedder

    @property
    def weight(self) -> float:
        """How much a search with the vector counts beside the question's own, 0..1."""
        return self._settings.weight

    def imagine(self, question: str, hits: Sequence[Hit], watch: Watch) -> tuple[str, ...]:
        """Hypothetical answers, in the order of their temperatures; those that came to nothing or too late are absent.

        Args:
            hits: Of a first search, best first.

        Raises:
            Stopped: The run was stopped meanwhile.
        """
        passages = [hit.chunk.text for hit in hits[:_PASSAGES]]
        in_time = _InTime(watch, self._settings.timeout_s)

        def imagined(number: int) -> str:
            temperature = round(self._settings.temperature + _TEMPERATURE_STEP * number, 2)
            asked = HydeInput(question=question, number=number, passages=passages)
            try:
                return self._engine.complete(replace(HYDE, temperature=temperature), asked, self._reading, in_time).text
            except Stopped:
                if watch.stopped():
                    raise
                late = f"It was not there after {self._settings.timeout_s:.0f} s and is done without."
                watch.called(Call(signature=HYDE.name, engine=self._engine.name, prompt="", reply="", note=late))
                return ""

        count = self._settings.num_hypotheticals
        # Reading compares the same sentences each time and remembers them: after the first the others cost nothing.
        texts = fan_out(imagined, range(count), at_once=1 if self._engine.name == KeylessEngine.name else count)
        return tuple(dict.fromkeys(text for text in texts if text and not isinstance(text, RagError)))

    def vector(self, question: str, hypotheticals: Sequence[str]) -> np.ndarray:
        """The mean of the question's vector and the hypotheticals', of unit length: (dimensions,) float32."""
        own = self._embedder.embed_one(question)
        mean = np.vstack([own, self._embedder.embed(hypotheticals)]).mean(axis=0) if hypotheticals else own
        return mean / np.linalg.norm(mean)


class _InTime:
    """A run's watch that says 'stopped' after some seconds: what is late is given up, and its model call ended."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        self._watch = watch
        self._until = time.monotonic() + seconds

    def stopped(self) -> bool:
        return self._watch.stopped() or time.monotonic() > self._until

    def called(self, call: Call) -> None:
        self._watch.called(call)

    def text(self, delta: str) -> None:
        self._watch.text(delta)

    def restart(self) -> None:
        self._watch.restart()

    def left_s(self) -> float:
        return self._watch.left_s()


HYDE_TECHNIQUE = Technique(
    name="hyde",
    label="HyDE",
    group="retrieve",
    summary="Searches with imagined answers.",
    settings=HydeSettings,
    verb=Hyde.imagine,
    signatures=(HYDE,),
)
