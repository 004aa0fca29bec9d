"""The state of a run, and what comes next: a pure function of it.

Loops live in the state, never in a call stack: a run can be watched, stopped, stored and gone on with from any state.
"""

from __future__ import annotations

from pydantic import Field

from rag_core.techniques.base import Turn
from rag_core.techniques.multi_hop import Hop
from rag_core.types import Hit, SearchFilter, Sentence, Value


class FoundFor(Value):
    """What one query found, best first."""

    query: str
    hits: tuple[Hit, ...]


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
        default=False, description="Whether the question is for a whole document, and none was scanned."
    )

    max_hops: int = Field(default=1, ge=1, description="1 where the plan has no further hops.")
    max_iterations: int = Field(default=0, ge=0, description="Rounds of sub-queries; 0 where the plan has none.")

    queries_tried: tuple[str, ...] = Field(default=(), description="No query is searched twice.")
    current_hop: int = 0
    hop: Hop | None = Field(default=None, description="What the hops brought; None where there is only one.")
    iteration: int = 0
    focused: tuple[str, ...] = Field(default=(), description="What the next round of sub-queries searches for.")
    parts: tuple[FoundFor, ...] = Field(default=(), description="What the sub-queries found, in the order asked.")
    hits: tuple[Hit, ...] = Field(default=(), description="The evidence, best first.")

    answered: bool = False
    sentences: tuple[Sentence, ...] = ()
    origin: str = Field(default="", description="Where an answer comes from that no document holds.")
    confidence: float | None = None
    found: bool = Field(default=True, description="Whether the evidence holds an answer.")

    quality: float | None = None
    issues: tuple[str, ...] = ()

    error: str | None = Field(default=None, description="Why the run cannot go on; later steps pass.")


def next_step(state: RunState) -> str | None:
    """The name of the step that comes next, or None when the run is over."""
    if state.error is not None:
        return None
    if state.rewrites:
        return "rewrite"
    if state.gates:
        return "gate"
    if state.scans:
        return "scan"
    if not state.answered:
        if _hops_on(state):
            return "retrieve"
        return "sub_queries" if _takes_apart(state) else "answer"
    if state.validates and state.found and state.quality is None:
        return "validate"
    return None


def _hops_on(state: RunState) -> bool:
    """Whether another hop follows: the first always, then one for each query that a hop leaves."""
    if state.current_hop == 0:
        return True
    return state.current_hop < state.max_hops and state.hop is not None and bool(state.hop.suggested)


def _takes_apart(state: RunState) -> bool:
    """Whether another round of sub-queries follows: the first always, then one for what fills the gaps."""
    return state.iteration < state.max_iterations and (state.iteration == 0 or bool(state.focused))
