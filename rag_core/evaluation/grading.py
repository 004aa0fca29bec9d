"""How well an answer stands, judged for every run alike.

The runs of a comparison check themselves in different ways, or not at all. So what is compared is what one judge says
of all of them: the trained critic holds each sentence against what it cites, and reading says how much of the question
is taken up. No gold answer is known here, so "better" means better held by what is cited and nearer to the question; an
answer that is well held can be wrong all the same.
"""

from __future__ import annotations

from pydantic import Field

from rag_core.llm.critic import Critic
from rag_core.llm.engine import KeylessEngine, Nobody
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.run import Run, question_alone
from rag_core.techniques.validate import Validate, ValidateSettings
from rag_core.types import Value


class Grade(Value):
    """What one judge says of an answer."""

    answered: bool = Field(description="Whether there is an answer; false for a refusal, and for a run without one.")
    sentences: int = 0
    supported: int = Field(default=0, description="Sentences that are fully supported.")
    probability: float = Field(default=0, ge=0, le=1, description="That a sentence is supported: the mean.")
    quality: float = Field(
        default=0,
        ge=0,
        le=1,
        description="The grade itself: the mean support, less what is left unasked. A run's own is `quality_achieved`.",
    )


class Grader:
    """Grades answers without a model. Safe for threads."""

    def __init__(self, reading: Reading) -> None:
        self._critic = Critic(reading)
        self._validate = Validate(ValidateSettings(), KeylessEngine(), reading, self._critic)

    def grade(self, run: Run) -> Grade:
        """Judge the answer of a run by the evidence in its record; some milliseconds a sentence."""
        if run.refused or not run.sentences:
            return Grade(answered=False)
        chunks = {hit.chunk.id: hit.chunk for hit in run.evidence}
        known = [
            # A run that was stopped may cite what did not stay.
            sentence.model_copy(update={"citations": tuple(one for one in sentence.citations if one in chunks)})
            for sentence in run.sentences
            if all(cell.chunk in chunks for cell in sentence.cells)
        ]
        judged = self._validate.check(run.question, known, chunks, Nobody())
        chances = [sentence.probability or 0.0 for sentence in judged.sentences]
        return Grade(
            answered=True,
            sentences=len(chances),
            supported=sum(sentence.support == "fully_supported" for sentence in judged.sentences),
            probability=sum(chances) / len(chances) if chances else 0.0,
            quality=judged.quality,
        )

    def relevance(self, run: Run) -> dict[str, float]:
        """For each chunk of a run's evidence by id, the probability that it helps with the question."""
        chunks = [hit.chunk for hit in run.evidence]
        judged = self._critic.relevance(question_alone(run), [chunk.searchable_text for chunk in chunks])
        return {chunk.id: chance for chunk, chance in zip(chunks, judged, strict=True)}
