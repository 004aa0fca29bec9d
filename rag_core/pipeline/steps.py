"""The steps: state in, new state out, one span each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rag_core.llm.engine import Watch
from rag_core.pipeline.state import RunState
from rag_core.techniques.answer import Answer
from rag_core.techniques.hybrid import Hybrid
from rag_core.techniques.validate import Validate
from rag_core.trace import Tracer


@dataclass(frozen=True)
class Tools:
    """What the steps of one run work with, wired for its plan."""

    tracer: Tracer
    watch: Watch
    hybrid: Hybrid
    answer: Answer
    validate: Validate


Step = Callable[[RunState, Tools], RunState]


def retrieve(state: RunState, tools: Tools) -> RunState:
    """Search for the question. Reads `question`; writes `hits`, `queries_tried`, `current_hop`."""
    query = state.question
    with tools.tracer.span("retrieve", phase="retrieve", hop=state.current_hop + 1, query=query) as span:
        hits = tools.hybrid.search(query, state.where, at_least=state.contexts)
        span.set(found=len(hits), chunks=[hit.chunk.id for hit in hits])
    tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in hits])
    return state.model_copy(
        update={
            "hits": tuple(hits),
            "queries_tried": (*state.queries_tried, query),
            "current_hop": state.current_hop + 1,
        }
    )


def answer(state: RunState, tools: Tools) -> RunState:
    """Write the answer. Reads `hits`; writes `sentences`, `confidence`, `found`."""
    with tools.tracer.span("answer", phase="answer", evidence=len(state.hits)) as span:
        given = tools.answer.generate(state.question, state.hits, tools.watch)
        span.set(sentences=len(given.sentences), found=given.found, confidence=given.confidence)
    tools.tracer.emit("draft", sentences=[sentence.model_dump(mode="json") for sentence in given.sentences])
    return state.model_copy(
        update={
            "answered": True,
            "sentences": given.sentences,
            "confidence": given.confidence,
            "found": given.found,
        }
    )


def validate(state: RunState, tools: Tools) -> RunState:
    """Check the answer. Reads `sentences`, `hits`; writes `sentences` with support, `quality`, `issues`."""
    chunks = {hit.chunk.id: hit.chunk for hit in state.hits}
    with tools.tracer.span("validate", phase="heal") as span:
        checked = tools.validate.check(state.question, state.sentences, chunks, tools.watch)
        span.set(quality=checked.quality, issues=len(checked.issues))
    tools.tracer.emit("draft", sentences=[sentence.model_dump(mode="json") for sentence in checked.sentences])
    return state.model_copy(
        update={"sentences": checked.sentences, "quality": checked.quality, "issues": checked.issues}
    )


STEPS: Mapping[str, Step] = {"retrieve": retrieve, "answer": answer, "validate": validate}
