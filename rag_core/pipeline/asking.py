"""Before the search: the question made to stand alone, and kept from a search that it does not need."""

from __future__ import annotations

from rag_core.pipeline.state import RunState
from rag_core.pipeline.tools import Tools


def rewrite(state: RunState, tools: Tools) -> RunState:
    """Make the question stand alone. Reads `question`, `turns`; writes `question`, which all later steps read."""
    assert tools.rewrite is not None  # else `next_step` has nothing to rewrite
    with tools.tracer.span("rewrite", phase="question") as span:
        given = tools.rewrite.rewrite(state.question, state.turns, tools.watch)
        span.set(query=given.query, changes=list(given.changes))
        if not given.changes:
            span.set(why="There was nothing to rewrite.")
    return state.model_copy(update={"rewrites": False, "question": given.query})


def gate(state: RunState, tools: Tools) -> RunState:
    """Decide whether to search. Reads `question`; writes the answer where it needs no document, with its `origin`."""
    assert tools.gate is not None
    with tools.tracer.span("gate", phase="question") as span:
        given = tools.gate.decide(state.question, tools.watch)
        span.set(retrieve=given.retrieve, why=given.why)
    passed = state.model_copy(update={"gates": False})
    if given.retrieve:
        return passed
    tools.tracer.emit("draft", sentences=[sentence.model_dump(mode="json") for sentence in given.sentences])
    return passed.model_copy(
        update={
            "answered": True,
            "sentences": given.sentences,
            "origin": given.origin,
            "scans": False,
            "validates": False,
        }
    )
