"""What was written and judged: chunks, candidates, the answers that are kept, and the matrix of a whole answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.llm.reading.sentences import sentences
from rag_core.techniques.self_rag.settings import SelfRagSettings
from rag_core.types import Sentence, Support, Value

CriticName = Literal["model", "native", "trained"]
JudgedBy = Literal["model", "native", "trained", "user"]
Decision = Literal["yes", "no", "continue"]


class Isrel(Value):
    """Whether a chunk helps to answer the question."""

    chunk: str
    probability: float = Field(ge=0, le=1, description="p(relevant) / (p(relevant) + p(irrelevant)).")
    relevant: bool = Field(description="Whether that reaches the threshold.")
    by: JudgedBy


class Issup(Value):
    """How far a chunk holds a sentence: one cell of the matrix."""

    chunk: str
    support: Support
    probability: float = Field(ge=0, le=1, description="p(fully) + 0.5 p(partially).")
    contradicted: float = Field(default=0.0, ge=0, le=1, description="That the chunk says otherwise.")
    by: CriticName


class Segment(Value):
    """A candidate: what could come next in an answer, from one chunk."""

    path: int = Field(description="Which answer of the beam it goes on with, from 0.")
    text: str
    isrel: Isrel
    issup: Issup | None = Field(default=None, description="None where it has no text.")
    isuse: tuple[float, ...] = Field(default=(), description="The probabilities of 1 to 5, of the answer with it.")
    retrieve: Decision = Field(default="no", description="What is to follow it.")
    score: float = 0.0
    rejected: str = Field(default="", description="Why it may not stay; empty where it may.")


class Path(Value):
    """An answer as far as it is written."""

    segments: tuple[Segment, ...] = ()
    ended: bool = False

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)

    @property
    def score(self) -> float:
        """The mean of its segments' scores: a longer answer is not better for being longer."""
        return sum(segment.score for segment in self.segments) / max(1, len(self.segments))


class Reflection(Value):
    """All that was written and judged until now."""

    rounds: tuple[tuple[Segment, ...], ...] = Field(default=(), description="All candidates, segment by segment.")
    isrel: tuple[Isrel, ...] = Field(default=(), description="Of all chunks that were judged, in their order.")
    beam: tuple[Path, ...] = Field(default=(Path(),), description="The answers that are kept, best first.")

    def goes_on(self, settings: SelfRagSettings) -> bool:
        """Whether another segment follows."""
        return len(self.rounds) < settings.max_segments and any(not path.ended for path in self.beam)

    @property
    def retrieve(self) -> Decision:
        """What the next segment needs, as the best answer that goes on says; the first has been searched for."""
        growing = next((path for path in self.beam if not path.ended), None)
        if growing is None:
            return "no"
        return growing.segments[-1].retrieve if growing.segments else "continue"

    def query(self, question: str) -> str:
        """What to search for before the next segment; empty where the evidence is enough.

        As in the paper it is the question with what was written last.
        """
        if self.retrieve != "yes":
            return ""
        growing = next(path for path in self.beam if not path.ended)
        return f"{question} {growing.segments[-1].text}"

    @property
    def note(self) -> str:
        """What a reader must be told; mostly empty."""
        if self.isrel and not any(one.relevant for one in self.isrel):
            return "Self-RAG judged no chunk relevant."
        if self.rounds and not self.sentences:
            return "No segment had enough support: all were rejected."
        return ""

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The best answer, each sentence citing the chunk that its segment was written from."""
        return tuple(
            Sentence(
                text=text,
                support=segment.issup.support,
                probability=segment.issup.probability,
                citations=(segment.issup.chunk,),
            )
            for segment in (self.beam[0].segments if self.beam else ())
            if segment.issup
            for text in sentences(segment.text)
        )


class Critique(Value):
    """An answer held against its evidence: the matrix of sentences and chunks."""

    critic: CriticName
    sentences: tuple[Sentence, ...] = Field(description="With their support; what holds them is cited first.")
    isrel: tuple[Isrel, ...] = Field(description="A chunk each, in the order of the evidence.")
    issup: tuple[tuple[Issup, ...], ...] = Field(description="A row a sentence, a cell a chunk, in the same order.")
    isuse: tuple[float, ...] = Field(description="The probabilities of 1 to 5.")

    @property
    def usefulness(self) -> int:
        """The most likely of 1 to 5."""
        return 1 + max(range(len(self.isuse)), key=self.isuse.__getitem__)
