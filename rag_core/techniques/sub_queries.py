"""Sub-queries: a question that asks several things is taken apart, and all parts are searched for at the same time.

What was found is put together, gaps are named, and focused queries go after them. With a model these are three calls
in the first round and two in each further one. Without one a comparison becomes a query for each thing compared and
joined clauses one for each; the synthesis is the best sentence of each part, and a gap is a part whose evidence holds
too few of its rare words. Costs a search for each part.

Source: Press et al. 2023, "Measuring and Narrowing the Compositionality Gap in Language Models",
https://arxiv.org/abs/2210.03350
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.parts import parts_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems, words
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Hit, Value


class SubQueriesSettings(TechniqueSettings):
    """How far a question is taken apart."""

    max_iterations: int = Field(default=2, ge=1, le=5, description="Rounds of searching, at most.")
    max_queries: int = Field(default=4, ge=2, le=8, description="Parts, or focused queries, of one round.")
    max_parallel: int = Field(default=4, ge=1, le=8, description="Searches that run at the same time.")
    passages: int = Field(default=3, ge=1, le=10, description="Chunks of each part that are read.")
    least_covered: float = Field(
        default=0.6, ge=0, le=1, description="Without a model: a part whose evidence holds less of its words is a gap."
    )


class DecomposeInput(BaseModel):
    question: str
    max_queries: int


class DecomposeOutput(BaseModel):
    sub_questions: list[str] = Field(min_length=1, description="The parts, each to be understood by itself.")
    reason: str = Field(default="", description="Why it is taken apart so, in one sentence.")


class Part(Value):
    """A part of a question and the passages that were found for it, best first."""

    question: str
    passages: tuple[str, ...]


class SynthesizeInput(BaseModel):
    question: str
    evidence: str = Field(description="All parts and their passages, as the model reads them.")
    parts: list[Part]
    least_covered: float


class SynthesizeOutput(BaseModel):
    synthesis: str = Field(description="What the evidence says on the question, facts only.")
    evidence_gaps: list[str] = Field(default_factory=list, description="What is missing in it, a few words each.")


class GapsInput(BaseModel):
    question: str
    synthesis: str
    evidence_gaps: list[str]
    max_queries: int


class GapsOutput(BaseModel):
    needs_more: bool = Field(description="Whether another search could bring what is missing.")
    focused_queries: list[str] = Field(default_factory=list, description="Search queries for what is missing.")


def parts_by_grammar(inputs: DecomposeInput, _: Reading) -> DecomposeOutput:
    """A part for each clause that asks something, else one for each of several names."""
    parts, why = parts_of(inputs.question)
    return DecomposeOutput(sub_questions=parts[: inputs.max_queries], reason=why)


def synthesis_of_sentences(inputs: SynthesizeInput, reading: Reading) -> SynthesizeOutput:
    """The best sentence of each part; a gap where its passages hold too few of its words."""
    said, gaps = [], []
    for part in inputs.parts:
        asked = stems(part.question)
        held = [stem for passage in part.passages for stem in stems(passage)]
        if reading.coverage(asked, held) < inputs.least_covered:
            gaps.append(part.question)
        found = [sentence for passage in part.passages for sentence in sentences(passage)]
        if found:
            said.append(max(found, key=lambda sentence: reading.coverage(asked, stems(sentence))))
    return SynthesizeOutput(synthesis="\n".join(dict.fromkeys(said)), evidence_gaps=gaps)


def queries_for_gaps(inputs: GapsInput, reading: Reading) -> GapsOutput:
    """For each gap its words that the synthesis does not hold; for one without any, none."""
    queries = []
    for gap in inputs.evidence_gaps:
        missing = set(reading.missing(gap, [inputs.synthesis]))
        queries.append(" ".join(word for word in dict.fromkeys(words(gap)) if missing.intersection(stems(word))))
    focused = [query for query in dict.fromkeys(queries) if query][: inputs.max_queries]
    return GapsOutput(needs_more=bool(focused), focused_queries=focused)


DECOMPOSE = Signature(
    name="sub_queries.decompose",
    inputs=DecomposeInput,
    outputs=DecomposeOutput,
    prompt="""\
Take the question apart into at most {max_queries} sub-questions that can be searched for one by one, independently of
each other. Each names what it is about: no "it", no "the former". A question that asks one thing stays as it is.

Question: {question}
""",
    keyless=parts_by_grammar,
    max_tokens=400,
)

SYNTHESIZE = Signature(
    name="sub_queries.synthesize",
    inputs=SynthesizeInput,
    outputs=SynthesizeOutput,
    prompt="""\
Put together what the evidence says on the question. Keep names, numbers and units as they stand, and add nothing that
is not in it. Then name what is missing.

{evidence}

Question: {question}
""",
    keyless=synthesis_of_sentences,
)

FIND_GAPS = Signature(
    name="sub_queries.gaps",
    inputs=GapsInput,
    outputs=GapsOutput,
    prompt="""\
Decide whether more evidence is needed to answer the question, and give at most {max_queries} search queries for it.

Question: {question}
Known:
<passage>
{synthesis}
</passage>
Missing: {evidence_gaps}
""",
    keyless=queries_for_gaps,
    max_tokens=400,
)


class Gathered(Value):
    """What the evidence of all parts says, and what to search for next: nothing where it is enough."""

    synthesis: str
    gaps: tuple[str, ...]
    queries: tuple[str, ...]


class SubQueries:
    """Takes questions apart and puts evidence together."""

    def __init__(self, settings: SubQueriesSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    @property
    def at_once(self) -> int:
        """Searches that may run at the same time."""
        return self._settings.max_parallel

    def decompose(self, question: str, watch: Watch) -> DecomposeOutput:
        """The parts of a question: at most `max_queries`, without duplicates, in its order; and why."""
        asked = DecomposeInput(question=question, max_queries=self._settings.max_queries)
        reply = self._engine.complete(DECOMPOSE, asked, self._reading, watch)
        return DecomposeOutput(sub_questions=self._cut(reply.sub_questions) or [question], reason=reply.reason)

    def take_in(self, question: str, found: Sequence[tuple[str, Sequence[Hit]]], watch: Watch) -> Gathered:
        """Put the evidence of all parts together and say what to search for next.

        Args:
            found: `(part, its hits, best first)`, in the order asked.
        """
        parts = [
            Part(question=part, passages=tuple(hit.chunk.searchable_text for hit in hits[: self._settings.passages]))
            for part, hits in found
        ]
        put_together = self._engine.complete(
            SYNTHESIZE,
            SynthesizeInput(
                question=question,
                evidence="\n\n".join("\n".join([part.question, *map(quoted, part.passages)]) for part in parts),
                parts=parts,
                least_covered=self._settings.least_covered,
            ),
            self._reading,
            watch,
        )
        gaps = self._engine.complete(
            FIND_GAPS,
            GapsInput(
                question=question,
                synthesis=without_tags(put_together.synthesis),
                evidence_gaps=put_together.evidence_gaps,
                max_queries=self._settings.max_queries,
            ),
            self._reading,
            watch,
        )
        return Gathered(
            synthesis=put_together.synthesis,
            gaps=tuple(put_together.evidence_gaps),
            queries=tuple(self._cut(gaps.focused_queries)) if gaps.needs_more else (),
        )

    def _cut(self, queries: Sequence[str]) -> list[str]:
        # Models ignore the count at times: the cut keeps the cost of a round bounded.
        return [query for query in dict.fromkeys(map(str.strip, queries)) if query][: self._settings.max_queries]


SUB_QUERIES = Technique(
    name="sub_queries",
    label="sub-questions",
    group="retrieve",
    summary="Takes a question apart and searches for all parts at the same time.",
    settings=SubQueriesSettings,
    verb=SubQueries.decompose,
    signatures=(DECOMPOSE, SYNTHESIZE, FIND_GAPS),
)
