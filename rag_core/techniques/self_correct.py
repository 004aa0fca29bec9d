"""Self-correct: criticise the answer, refine it by what was said of it, and keep the best revision.

Each revision has its scores and its feedback; it is enough when the critic says so, when nothing changes any more, or
when the iterations are spent. Without a model faithfulness is the support of its sentences, completeness the share of
the question that it takes up of what the evidence has on it, clarity the share of sentences that are short and not
said twice; refining drops what nothing holds and quotes what is missing. Costs two model calls an iteration.

Source: Madaan et al. 2023, "Self-Refine", https://arxiv.org/abs/2303.17651
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.changes import settled
from rag_core.llm.reading.mending import HELD, CitedText, as_sentences, evidence_of, mended, numbered, quotable
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Critic, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, Sentence, Value

_LONGEST = 45
"""Words of a sentence that is read at one go."""


class SelfCorrectSettings(TechniqueSettings):
    """How long an answer is worked on."""

    max_iterations: int = Field(default=3, ge=1, le=8, description="Times that an answer is refined, at most.")
    passages: int = Field(default=8, ge=1, le=30, description="Chunks of evidence that it is held against.")
    sufficient: float = Field(
        default=0.75, ge=0, le=1, description="Without a model: an answer as faithful and complete as this is enough."
    )
    max_quotes: int = Field(
        default=2, ge=1, le=5, description="Without a model: sentences that are quoted at a time, at most."
    )


class CriticizeInput(BaseModel):
    question: str
    answer: str = Field(description="Its sentences, numbered from 1.")
    evidence: str = Field(description="The passages as the model reads them.")
    sentences: list[str]
    supported: list[float] = Field(description="For each sentence, the probability that it is supported.")
    passages: list[str]
    enough: float


class CriticizeOutput(BaseModel):
    faithfulness: float = Field(ge=0, le=1, description="0 to 1: does the answer say only what the passages hold?")
    completeness: float = Field(ge=0, le=1, description="0 to 1: does it say all they have on the question?")
    clarity: float = Field(ge=0, le=1, description="0 to 1: is it short, ordered, to the point?")
    sufficient: bool = Field(description="Whether it needs no further work.")
    feedback: list[str] = Field(default=[], description="What to change, a short line each; empty where sufficient.")


class RefineInput(BaseModel):
    question: str
    answer: str = Field(description="Its sentences, numbered from 1.")
    feedback: str
    evidence: str = Field(description="The passages as the model reads them, numbered from 1.")
    sentences: list[str]
    supported: list[float] = Field(description="For each sentence, the probability that it is supported.")
    passages: list[list[str]] = Field(description="For each passage what of it can be quoted.")
    max_quotes: int


class RefineOutput(BaseModel):
    sentences: list[CitedText] = Field(
        min_length=1, description='[{"text": sentence, "passages": [numbers of those that hold it]}], the whole answer'
    )


def criticized_by_support(inputs: CriticizeInput, reading: Reading) -> CriticizeOutput:
    """Support, coverage of what the evidence has of the question, and the length of sentences."""
    evidence = {stem for passage in inputs.passages for stem in stems(passage)}
    answerable = [stem for stem in stems(inputs.question) if stem in evidence]
    said = stems(" ".join(inputs.sentences))
    faithful = sum(inputs.supported) / max(1, len(inputs.supported))
    complete = reading.coverage(answerable, said) if answerable else 1.0
    long = [number for number, text in enumerate(inputs.sentences, start=1) if len(text.split()) > _LONGEST]
    clear = 1 - len(long) / max(1, len(inputs.sentences))
    left = [stem for stem in reading.missing(inputs.question, [" ".join(inputs.sentences)]) if stem in evidence]
    feedback = [f"Sentence {at} has no support." for at, held in enumerate(inputs.supported, 1) if held < HELD]
    feedback += [f"The answer does not speak of: {', '.join(left[:5])}."] if complete < inputs.enough else []
    feedback += [f"Sentence {number} is too long." for number in long]
    return CriticizeOutput(
        faithfulness=round(faithful, 3),
        completeness=round(complete, 3),
        clarity=round(clear, 3),
        # A quote cannot be made shorter: clarity tells versions apart and asks for nothing.
        sufficient=min(faithful, complete) >= inputs.enough,
        feedback=feedback,
    )


def refined_by_mending(inputs: RefineInput, reading: Reading) -> RefineOutput:
    """What is held stays, what is missing is quoted."""
    return RefineOutput(
        sentences=mended(
            inputs.question, inputs.sentences, inputs.supported, inputs.passages, reading, inputs.max_quotes
        )
    )


CRITICIZE = Signature(
    name="self_correct.criticize",
    inputs=CriticizeInput,
    outputs=CriticizeOutput,
    prompt="""\
Criticise an answer to a question, strictly, against the passages and nothing else.

Question: {question}
Answer:
<passage>
{answer}
</passage>

{evidence}
""",
    keyless=criticized_by_support,
    max_tokens=500,
)

REFINE = Signature(
    name="self_correct.refine",
    inputs=RefineInput,
    outputs=RefineOutput,
    prompt="""\
Refine an answer by the feedback, from the passages and nothing else. Leave sentences that are right word for word as
they are; drop what no passage holds. Keep names, numbers and units as they stand.

Question: {question}
Answer:
<passage>
{answer}
</passage>
Feedback:
{feedback}

{evidence}
""",
    keyless=refined_by_mending,
)


class Revision(Value):
    """An answer and what was said of it."""

    sentences: tuple[Sentence, ...]
    faithfulness: float
    completeness: float
    clarity: float
    sufficient: bool
    feedback: tuple[str, ...]
    supported: tuple[float, ...] = Field(description="For each sentence, the probability that it is supported.")

    @property
    def score(self) -> float:
        """The mean of the three, 0 to 1."""
        return (self.faithfulness + self.completeness + self.clarity) / 3

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)


def best_revision(revisions: Sequence[Revision]) -> Revision:
    """The one to show: one that suffices before one that does not, then by its score, then the earlier."""
    return max(revisions, key=lambda revision: (revision.sufficient, revision.score))


def corrects_on(revisions: Sequence[Revision], settings: SelfCorrectSettings) -> bool:
    """Whether another iteration follows; the first only criticises the draft."""
    if not revisions:
        return True
    if revisions[-1].sufficient or len(revisions) > settings.max_iterations:
        return False
    return not settled([revision.text for revision in revisions])


class SelfCorrect:
    """Criticises answers and refines them."""

    def __init__(self, settings: SelfCorrectSettings, engine: Engine, reading: Reading, critic: Critic) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._critic = critic

    def iterate(
        self, question: str, draft: Sequence[Sentence], revisions: Sequence[Revision], hits: Sequence[Hit], watch: Watch
    ) -> Revision:
        """One iteration: the draft with its critique at first, then a refinement of the last revision with its own.

        Args:
            draft: The answer to begin with.
            revisions: Those until now, the oldest first.
            hits: The evidence, best first.

        Raises:
            Stopped: The run was stopped meanwhile.
        """
        if not revisions:
            return self._criticized(question, draft, hits, watch)
        last = revisions[-1]
        refined = self._refined(question, last, hits, watch)
        same = [sentence.text for sentence in refined] == [sentence.text for sentence in last.sentences]
        # What did not change needs no other judgement.
        return last if same else self._criticized(question, refined, hits, watch)

    def _criticized(self, question: str, answer: Sequence[Sentence], hits: Sequence[Hit], watch: Watch) -> Revision:
        chunks = evidence_of(answer, hits, self._settings.passages)
        supported = [self._support(question, sentence, chunks) for sentence in answer]
        told = self._engine.complete(
            CRITICIZE,
            CriticizeInput(
                question=question,
                answer=_numbered(answer),
                evidence=numbered(chunks),
                sentences=[sentence.text for sentence in answer],
                supported=supported,
                passages=[chunk.searchable_text for chunk in chunks],
                enough=self._settings.sufficient,
            ),
            self._reading,
            watch,
        )
        return Revision(
            sentences=tuple(answer),
            supported=tuple(supported),
            **told.model_dump(exclude={"feedback"}),
            feedback=tuple(told.feedback),
        )

    def _refined(self, question: str, revision: Revision, hits: Sequence[Hit], watch: Watch) -> list[Sentence]:
        chunks = evidence_of(revision.sentences, hits, self._settings.passages)
        reply = self._engine.complete(
            REFINE,
            RefineInput(
                question=question,
                answer=_numbered(revision.sentences),
                feedback="\n".join(revision.feedback),
                evidence=numbered(chunks),
                sentences=[sentence.text for sentence in revision.sentences],
                supported=list(revision.supported),
                passages=[quotable(chunk) for chunk in chunks],
                max_quotes=self._settings.max_quotes,
            ),
            self._reading,
            watch,
        )
        return as_sentences(reply.sentences, revision.sentences, chunks) or list(revision.sentences)

    def _support(self, question: str, sentence: Sentence, chunks: Sequence[Chunk]) -> float:
        """How likely the evidence supports a sentence; what code computed is right."""
        if sentence.cells or sentence.computed:
            return 1.0
        return self._critic.answer_support(
            sentence.text, [chunk.searchable_text for chunk in chunks], question
        ).supported


def _numbered(answer: Sequence[Sentence]) -> str:
    return "\n".join(f"{number} {without_tags(one.text)}" for number, one in enumerate(answer, start=1))


SELF_CORRECT = Technique(
    name="self_correct",
    label="self-correct",
    group="answer",
    summary="Criticises its own answer and refines it, and keeps the best revision.",
    settings=SelfCorrectSettings,
    verb=SelfCorrect.iterate,
    signatures=(CRITICIZE, REFINE),
)
