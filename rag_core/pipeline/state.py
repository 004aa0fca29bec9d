"""The state of a run, and what comes next: a pure function of it.

Loops live in the state, never in a call stack: a run can be watched, stopped, stored and gone on with from any state.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from pydantic import Field

from rag_core.techniques.agent import Act
from rag_core.techniques.base import Turn
from rag_core.techniques.crag import Verdict
from rag_core.techniques.heal import HealSettings, Version, heals_on
from rag_core.techniques.multi_hop import Hop
from rag_core.techniques.references import references_in
from rag_core.techniques.scan import whole_question
from rag_core.techniques.self_correct import Revision, SelfCorrectSettings, corrects_on
from rag_core.techniques.self_rag import Reflection, SelfRagSettings
from rag_core.types import Hit, SearchFilter, Sentence, Value


class FoundFor(Value):
    """What one query found, best first."""

    query: str
    hits: tuple[Hit, ...]


class Told(Value):
    """What the user said in a branch. It comes before what steps find and judge, from there on."""

    queries: tuple[str, ...] = Field(default=(), description="What the next step searches for, in place of its own.")
    dropped: tuple[str, ...] = Field(default=(), description="Ids of chunks that are not evidence.")
    pinned: tuple[Hit, ...] = Field(default=(), description="What stays evidence, before all else, whatever is judged.")
    relevant: dict[str, bool] = Field(default_factory=dict, description="Chunk id -> whether it helps.")
    verdict: Verdict | None = Field(default=None, description="What all of the retrieved evidence is.")


class RunState(Value):
    """Everything that steps read and write. A step gives a changed copy."""

    question: str = Field(description="As asked; as rewritten, once it is.")
    turns: tuple[Turn, ...] = Field(default=(), description="What was asked and answered before, oldest first.")
    rewrites: bool = Field(default=False, description="Whether the question is still to be made to stand alone.")
    gates: bool = Field(default=False, description="Whether it is still to be seen if the documents are needed.")
    where: SearchFilter = SearchFilter()
    contexts: int = Field(default=10, ge=1, description="Ranked evidence that the run keeps at least.")
    validates: bool = Field(default=True, description="Whether the plan checks the answer.")
    scans: bool = Field(
        default=False, description="Whether a document may be scanned whole where the question is for all of it."
    )

    max_hops: int = Field(default=1, ge=1, description="1 where the plan has no further hops.")
    max_iterations: int = Field(default=0, ge=0, description="Rounds of sub-queries; 0 where the plan has none.")
    max_steps: int = Field(default=0, ge=0, description="Turns of the agent; 0 where the plan has none.")

    queries_tried: tuple[str, ...] = Field(default=(), description="No query is searched twice.")
    current_hop: int = 0
    hop: Hop | None = Field(default=None, description="What the hops brought; None where there is only one.")
    iteration: int = 0
    focused: tuple[str, ...] = Field(default=(), description="What the next round of sub-queries searches for.")
    parts: tuple[FoundFor, ...] = Field(default=(), description="What the sub-queries found, in the order asked.")
    sub_questions: tuple[str, ...] = Field(default=(), description="What the agent goes through.")
    scratchpad: tuple[Act, ...] = Field(default=(), description="The turns of the agent, in order.")
    hits: tuple[Hit, ...] = Field(default=(), description="The evidence, best first.")
    corrects: bool = Field(default=False, description="Whether the evidence is still to be judged and corrected.")
    aside: int = Field(default=0, ge=0, description="So many of the last hits are not written from.")

    self_rag: SelfRagSettings | None = Field(default=None, description="None where the plan has no Self-RAG.")
    reflection: Reflection | None = Field(default=None, description="What Self-RAG has written until now.")
    judged: bool = Field(default=False, description="Whether the answer was held against every chunk.")
    answered: bool = False
    sentences: tuple[Sentence, ...] = ()
    origin: str = Field(default="", description="Where an answer comes from that no document holds.")
    confidence: float | None = None
    found: bool = Field(default=True, description="Whether the evidence holds an answer.")
    notes: tuple[str, ...] = Field(default=(), description="What the reader must know, a sentence each.")

    self_correct: SelfCorrectSettings | None = Field(default=None, description="None where the plan does not refine.")
    revisions: tuple[Revision, ...] = Field(default=(), description="The draft and its refinements, oldest first.")

    quality: float | None = None
    issues: tuple[str, ...] = ()
    heal: HealSettings | None = Field(default=None, description="None where the plan does not heal.")
    versions: tuple[Version, ...] = Field(default=(), description="The checked answer and then one an attempt.")

    told: Told = Told()

    error: str | None = Field(default=None, description="Why the run cannot go on; later steps pass.")

    def untried(self, queries: Sequence[str]) -> list[str]:
        """Those that were not searched for yet, each once; case and spaces make no other query."""
        tried = {_bare(query) for query in self.queries_tried}
        untried: dict[str, str] = {}
        for query in queries:
            if _bare(query) not in tried:
                untried.setdefault(_bare(query), query)
        return [*untried.values()]

    @property
    def evidence(self) -> tuple[Hit, ...]:
        """What may be written from."""
        return self.hits[: len(self.hits) - self.aside]

    def as_told(self) -> RunState:
        """The state after a step, held to what the user said of chunks; the queries said for the step are used up."""
        told = self.told
        if told == Told():
            return self
        left_out = {*told.dropped, *(hit.chunk.id for hit in told.pinned)}
        known = {hit.chunk.id: hit for hit in self.hits}
        pinned = [known.get(hit.chunk.id, hit).model_copy(update={"refined": None}) for hit in told.pinned]
        aside = _without(self.hits[len(self.evidence) :], left_out)
        parts = (part.model_copy(update={"hits": _without(part.hits, {*told.dropped})}) for part in self.parts)
        acts = (act.model_copy(update={"hits": _without(act.hits, {*told.dropped})}) for act in self.scratchpad)
        return self.model_copy(
            update={
                "told": told.model_copy(update={"queries": ()}),
                "hits": (*pinned, *_without(self.evidence, left_out), *aside),
                "aside": len(aside),
                "parts": tuple(parts),
                "scratchpad": tuple(acts),
            }
        )


def _without(hits: Sequence[Hit], chunks: Set[str]) -> tuple[Hit, ...]:
    return tuple(hit for hit in hits if hit.chunk.id not in chunks)


def _bare(query: str) -> str:
    return " ".join(query.casefold().split())


def next_step(state: RunState) -> str | None:
    """The name of the step that comes next, or None when the run is over."""
    if state.error is not None:
        return None
    if state.rewrites:
        return "rewrite"
    if state.gates:
        return "gate"
    if state.scans and _asks_for_all(state.question):
        return "scan"
    if not state.answered:
        if _acts_on(state):
            return "agent"
        if _hops_on(state):
            return "retrieve"
        if _takes_apart(state):
            return "sub_queries"
        if state.corrects:
            return "crag"
        return "self_rag" if _reflects_on(state) else "answer"
    return _next_check(state) if state.found and not state.origin else None


def _next_check(state: RunState) -> str | None:
    """What an answer from the documents still goes through; what code counted or computed is not written anew."""
    by_code = all(sentence.computed or sentence.cells for sentence in state.sentences)
    if state.self_correct is not None and not by_code and corrects_on(state.revisions, state.self_correct):
        return "self_correct"
    if (state.validates or state.heal is not None) and state.quality is None:
        return "validate"
    if state.heal is not None and not by_code and state.versions and heals_on(state.versions, state.heal):
        return "heal"
    if state.self_rag is not None and not state.judged:
        return "critique"
    return None


def _asks_for_all(question: str) -> bool:
    """Whether a question is for a whole document and for no page or figure of it."""
    return whole_question(question) is not None and not references_in(question)


def _acts_on(state: RunState) -> bool:
    """Whether another turn of the agent follows; where none of them searched, the usual search does."""
    return len(state.scratchpad) < state.max_steps and not (state.scratchpad and state.scratchpad[-1].done)


def _hops_on(state: RunState) -> bool:
    """Whether another hop follows: the first always, then one for each query that a hop leaves."""
    if state.current_hop == 0:
        return True
    return state.current_hop < state.max_hops and state.hop is not None and bool(state.hop.suggested)


def _takes_apart(state: RunState) -> bool:
    """Whether another round of sub-queries follows: the first always, then one for what fills the gaps."""
    return state.iteration < state.max_iterations and (state.iteration == 0 or bool(state.focused))


def _reflects_on(state: RunState) -> bool:
    """Whether Self-RAG writes another segment; where it wrote none that may stay, the plain answer follows."""
    if state.self_rag is None or not state.hits:
        return False
    return state.reflection is None or state.reflection.goes_on(state.self_rag)
