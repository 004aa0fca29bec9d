"""Validate: hold the answer against its evidence, sentence by sentence, and say how good it is.

What is computed and what a model judges are kept apart: support is ours (the trained critic holds each sentence against
what it cites; cells must stand there), quality is the engine's. Costs one model call, or a few milliseconds a sentence.

Source: Es et al. 2023, "RAGAS: Automated Evaluation of Retrieval Augmented Generation",
https://arxiv.org/abs/2309.15217
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from rag_core.llm.critic import FULL, PARTIAL
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Critic, Technique, TechniqueSettings
from rag_core.types import Chunk, Sentence, Support, Value


class ValidateSettings(TechniqueSettings):
    """When a sentence counts as supported."""

    full: float = Field(default=FULL, ge=0, le=1, description="From here on a sentence is fully supported.")
    partial: float = Field(default=PARTIAL, ge=0, le=1, description="From here on a sentence is partially supported.")


class QualityInput(BaseModel):
    question: str
    answer: str
    evidence: str
    supported: list[float] = Field(description="For each sentence, the probability that it is supported.")


class QualityOutput(BaseModel):
    quality: float = Field(ge=0, le=1, description="0 to 1: does the answer say what was asked, and only what is held?")
    issues: list[str] = Field(default_factory=list, description="What is missing, wrong or unclear; a short line each.")


def quality_by_support(inputs: QualityInput, reading: Reading) -> QualityOutput:
    """Mean support times the share of the question that the answer takes up."""
    if not inputs.supported:
        return QualityOutput(quality=0.0, issues=["There is no answer."])
    said = stems(inputs.answer)
    taken_up = reading.coverage(stems(inputs.question), said)
    support = sum(inputs.supported) / len(inputs.supported)
    left = reading.missing(inputs.question, [inputs.answer])
    issues = [f"The answer does not speak of: {', '.join(left[:5])}."] if left and taken_up < 0.6 else []
    issues += [
        f"Sentence {number} has no support." for number, held in enumerate(inputs.supported, start=1) if held < 0.5
    ]
    return QualityOutput(quality=round(support * (0.5 + 0.5 * taken_up), 3), issues=issues)


QUALITY = Signature(
    name="validate.quality",
    inputs=QualityInput,
    outputs=QualityOutput,
    prompt="""\
Judge an answer against the evidence that it cites. Be strict: what the evidence does not say is an issue.

Question: {question}
Answer:
<answer>
{answer}
</answer>

{evidence}
""",
    keyless=quality_by_support,
)


class Validated(Value):
    """The answer's sentences with their support, and its quality."""

    sentences: tuple[Sentence, ...]
    quality: float
    issues: tuple[str, ...]


class Validate:
    """Checks an answer."""

    def __init__(self, settings: ValidateSettings, engine: Engine, reading: Reading, critic: Critic) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._critic = critic

    def check(self, question: str, answer: Sequence[Sentence], chunks: Mapping[str, Chunk], watch: Watch) -> Validated:
        """Give each sentence its support and the answer its quality.

        Args:
            chunks: The evidence by chunk id; every citation of the answer is in it.
        """
        checked = tuple(self._supported(sentence, chunks) for sentence in answer)
        cited = [chunks[chunk_id] for chunk_id in dict.fromkeys(id_ for s in checked for id_ in s.citations)]
        judged = self._engine.complete(
            QUALITY,
            QualityInput(
                question=question,
                answer=without_tags(" ".join(sentence.text for sentence in checked), "answer"),
                evidence="\n".join(quoted(chunk.text) for chunk in cited),
                supported=[sentence.probability or 0.0 for sentence in checked],
            ),
            self._reading,
            watch,
        )
        return Validated(sentences=checked, quality=judged.quality, issues=tuple(judged.issues))

    def _supported(self, sentence: Sentence, chunks: Mapping[str, Chunk]) -> Sentence:
        if sentence.cells:  # read and computed by code: what is to be checked is that the cells stand there
            probability = float(all(cell.text in chunks[cell.chunk].text for cell in sentence.cells))
        elif sentence.computed:  # counted by code, over more than what is cited
            probability = 1.0
        else:
            passages = [chunks[chunk_id].searchable_text for chunk_id in sentence.citations]
            probability = self._critic.answer_support(sentence.text, passages).supported
        return sentence.model_copy(update={"probability": probability, "support": self._label(probability)})

    def _label(self, probability: float) -> Support:
        if probability >= self._settings.full:
            return "fully_supported"
        return "partially_supported" if probability >= self._settings.partial else "no_support"


VALIDATE = Technique(
    name="validate",
    label="check support",
    group="check",
    summary="Holds every sentence of the answer against what it cites.",
    settings=ValidateSettings,
    verb=Validate.check,
    signatures=(QUALITY,),
)
