"""The state of a run, and what comes next: a pure function of it.

Loops live in the state, never in a call stack: a run can be watched, stopped, stored and gone on with from any state.
"""

from __future__ import annotations

from pydantic import Field

from rag_core.types import Hit, SearchFilter, Sentence, Value


class RunState(Value):
    """Everything that steps read and write. A step gives a changed copy."""

    question: str
    where: SearchFilter = SearchFilter()
    contexts: int = Field(default=10, ge=1, description="Ranked evidence that the run keeps at least.")
    validates: bool = Field(default=True, description="Whether the plan checks the answer.")
    scans: bool = Field(
        default=False, description="Whether the question is for a whole document, and none was scanned."
    )

    queries_tried: tuple[str, ...] = Field(default=(), description="No query is searched twice.")
    current_hop: int = 0
    hits: tuple[Hit, ...] = Field(default=(), description="The evidence, best first.")

    answered: bool = False
    sentences: tuple[Sentence, ...] = ()
    confidence: float | None = None
    found: bool = Field(default=True, description="Whether the evidence holds an answer.")

    quality: float | None = None
    issues: tuple[str, ...] = ()

    error: str | None = Field(default=None, description="Why the run cannot go on; later steps pass.")


def next_step(state: RunState) -> str | None:
    """The name of the step that comes next, or None when the run is over."""
    if state.error is not None:
        return None
    if state.scans:
        return "scan"
    if state.current_hop == 0 and not state.answered:
        return "retrieve"
    if not state.answered:
        return "answer"
    if state.validates and state.found and state.quality is None:
        return "validate"
    return None
