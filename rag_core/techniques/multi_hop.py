"""Multi-hop: what one search found says what to search for next, until the evidence holds all that was asked.

Each hop makes a query, adds what was found to the context, says how complete that is and what is missing, and, where
another hop follows, refines the query. With a model these are four calls a hop. Without one the context is the
sentences nearest to the question, completeness is the share of its rare words that the best of them holds, and the next
query goes over the best bridges: names in the evidence that the question does not have, with what was asked.

Source: Trivedi et al. 2023, "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step
Questions", https://arxiv.org/abs/2212.10509
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.bridges import as_written, bridges_of, predicate_of
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Hit, Value

_SENTENCES_A_PASSAGE = 3
_CONTEXT_CHARS = 6_000
"""What a context may grow to: the newest of it is kept."""


class MultiHopSettings(TechniqueSettings):
    """How long the search goes on."""

    max_hops: int = Field(default=3, ge=1, le=8, description="Searches that follow one another, at most.")
    quality_threshold: float = Field(
        default=0.8, ge=0, le=1, description="Evidence as complete as this needs no further hop."
    )
    passages: int = Field(default=5, ge=1, le=20, description="Chunks that are read for the next hop, the best.")
    bridges: int = Field(
        default=2, ge=1, le=5, description="Without a model: names in the evidence that the next query goes on from."
    )


class Passage(Value):
    """A chunk as it is read for the next hop."""

    heading: str
    text: str
    score: float


class QueryInput(BaseModel):
    question: str
    context: str = Field(description="What earlier hops found; empty in the first.")
    suggested: str = Field(description="The query that the hop before proposed; empty in the first.")


class QueryOutput(BaseModel):
    query: str = Field(min_length=1, description="What to search for next: a few words, names as they are written.")
    reasoning: str = Field(default="", description="Why, in one sentence.")


class ContextInput(BaseModel):
    question: str
    context: str
    documents: str = Field(description="What was found, as the model reads it.")
    passages: list[str] = Field(description="The same, best first.")


class ContextOutput(BaseModel):
    context: str = Field(description="All that is known now and bears on the question, facts only, with their names.")


class AssessInput(BaseModel):
    question: str
    context: str


class AssessOutput(BaseModel):
    completeness: float = Field(ge=0, le=1, description="0 to 1: how much of what is asked the context settles.")
    missing_aspects: list[str] = Field(default_factory=list, description="What is missing, a few words each.")


class RefineInput(BaseModel):
    question: str
    context: str
    missing_aspects: list[str]
    tried: list[str] = Field(description="Queries that were searched already.")
    passages: list[Passage] = Field(description="The best evidence until now: where bridges are looked for.")
    bridges: int


class RefineOutput(BaseModel):
    refined_query: str = Field(description="The next query, unlike those tried; empty where there is none.")


def suggested_or_asked(inputs: QueryInput, _: Reading) -> QueryOutput:
    """What the hop before proposed, else the question itself."""
    if inputs.suggested:
        return QueryOutput(query=inputs.suggested, reasoning="It follows what the hop before left open.")
    return QueryOutput(query=inputs.question, reasoning="The question itself.")


def context_of_sentences(inputs: ContextInput, reading: Reading) -> ContextOutput:
    """The context and, of each passage, the sentences that share the rarest words with the question."""
    asked = stems(inputs.question)
    kept = inputs.context.splitlines()
    for passage in inputs.passages:
        found = sentences(passage)
        best = sorted(found, key=lambda sentence: -reading.coverage(asked, stems(sentence)))[:_SENTENCES_A_PASSAGE]
        kept += [sentence for sentence in found if sentence in best]  # in the order that they were written in
    return ContextOutput(context="\n".join(dict.fromkeys(kept)))


def completeness_by_words(inputs: AssessInput, reading: Reading) -> AssessOutput:
    """The share of the question's words, weighted by rarity, that the best sentence holds.

    What is scattered over several sentences may belong to several things: only one that says it all settles it. Names
    and words that none of them holds are missing.
    """
    asked = stems(inputs.question)
    best = max((reading.coverage(asked, stems(line)) for line in inputs.context.splitlines()), default=0.0)
    held = set(stems(inputs.context))
    names = [name for name in names_of(inputs.question) if not held.issuperset(stems(name))]
    missing = as_written(inputs.question, set(asked) - held)
    return AssessOutput(completeness=round(best, 3), missing_aspects=list(dict.fromkeys([*names, *missing])))


def over_bridges(inputs: RefineInput, reading: Reading) -> RefineOutput:
    """The best names of the evidence that were not searched for yet, with what was asked; none where none can help."""
    read = [(passage.heading, passage.text, passage.score) for passage in inputs.passages]
    best = bridges_of(inputs.question, read, inputs.tried, reading)[: inputs.bridges]
    return RefineOutput(refined_query=" ".join([*best, *predicate_of(inputs.question)]) if best else "")


QUERY = Signature(
    name="multi_hop.query",
    inputs=QueryInput,
    outputs=QueryOutput,
    prompt="""\
A question is answered in several searches. Give the next query: what to look for now, given what is known.
Ask for one thing. Use names that are known by now instead of descriptions.

Question: {question}
Known:
<passage>
{context}
</passage>
Proposed by the search before: {suggested}
""",
    keyless=suggested_or_asked,
    max_tokens=256,
)

CONTEXT = Signature(
    name="multi_hop.context",
    inputs=ContextInput,
    outputs=ContextOutput,
    prompt="""\
Add to what is known all facts of the passages that bear on the question or lead to its answer. Keep names, numbers
and dates as they stand. Add nothing that is not in the passages.

Question: {question}
Known:
<passage>
{context}
</passage>

{documents}
""",
    keyless=context_of_sentences,
)

ASSESS = Signature(
    name="multi_hop.assess",
    inputs=AssessInput,
    outputs=AssessOutput,
    prompt="""\
Judge whether what is known settles the question, and name what is missing.

Question: {question}
Known:
<passage>
{context}
</passage>
""",
    keyless=completeness_by_words,
    max_tokens=256,
)

REFINE = Signature(
    name="multi_hop.refine",
    inputs=RefineInput,
    outputs=RefineOutput,
    prompt="""\
Something is missing to answer a question. Give one search query for it, unlike those that were tried.

Question: {question}
Known:
<passage>
{context}
</passage>
Missing: {missing_aspects}
Tried: {tried}
""",
    keyless=over_bridges,
    max_tokens=256,
)


class Hop(Value):
    """What is known after a hop."""

    context: str
    completeness: float
    missing: tuple[str, ...]
    suggested: str = ""
    """The query that is proposed for the next hop; empty where none follows."""

    def goes_on(self, settings: MultiHopSettings, hop: int) -> bool:
        """Whether another hop follows the `hop`-th, from 1."""
        return hop < settings.max_hops and self.completeness < settings.quality_threshold


class MultiHop:
    """Says what each hop searches for and what it brought."""

    def __init__(self, settings: MultiHopSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def query(self, question: str, before: Hop | None, watch: Watch) -> QueryOutput:
        """The query of the next hop, and why.

        Args:
            before: What the hop before brought; None for the first.
        """
        context, suggested = (before.context, before.suggested) if before else ("", "")
        asked = QueryInput(question=question, context=context, suggested=suggested)
        return self._engine.complete(QUERY, asked, self._reading, watch)

    def take_in(
        self,
        question: str,
        new: Sequence[Hit],
        hits: Sequence[Hit],
        before: Hop | None,
        tried: Sequence[str],
        watch: Watch,
    ) -> Hop:
        """Add what a hop found to the context, judge it and, where it is not enough, propose the next query.

        Args:
            new: Hits that no hop before had, best first.
            hits: All until now, best first.
            tried: The queries of all hops until now, one each.
        """
        passages = [hit.chunk.searchable_text for hit in new[: self._settings.passages]]
        gathered = self._engine.complete(
            CONTEXT,
            ContextInput(
                question=question,
                context=before.context if before else "",
                documents="\n".join(map(quoted, passages)),
                passages=passages,
            ),
            self._reading,
            watch,
        )
        context = without_tags(gathered.context)[-_CONTEXT_CHARS:]
        judged = self._engine.complete(ASSESS, AssessInput(question=question, context=context), self._reading, watch)
        hop = Hop(context=context, completeness=judged.completeness, missing=tuple(judged.missing_aspects))
        if not hop.goes_on(self._settings, len(tried)):
            return hop
        asked = RefineInput(
            question=question,
            context=context,
            missing_aspects=judged.missing_aspects,
            tried=list(tried),
            passages=[
                Passage(heading=" › ".join(hit.chunk.section), text=hit.chunk.text, score=hit.score)
                for hit in hits[: self._settings.passages]
            ],
            bridges=self._settings.bridges,
        )
        refined = self._engine.complete(REFINE, asked, self._reading, watch)
        return hop.model_copy(update={"suggested": refined.refined_query.strip()})


MULTI_HOP = Technique(
    name="multi_hop",
    label="multi-hop",
    group="retrieve",
    summary="Searches again with what the first search found, until all that was asked is there.",
    settings=MultiHopSettings,
    verb=MultiHop.query,
    signatures=(QUERY, CONTEXT, ASSESS, REFINE),
)
