"""The steps: state in, new state out, one span each."""

from __future__ import annotations

from collections.abc import Mapping

from rag_core.pipeline.acting import agent
from rag_core.pipeline.asking import gate, rewrite
from rag_core.pipeline.checking import crag, critique, heal, self_correct, self_rag, validate
from rag_core.pipeline.retrieval import retrieve, sub_queries
from rag_core.pipeline.state import RunState
from rag_core.pipeline.tools import Step, Tools
from rag_core.techniques.answer import Answered
from rag_core.techniques.multimodal import operation_in
from rag_core.techniques.references import document_meant
from rag_core.techniques.scan import whole_question
from rag_core.types import SearchFilter


def scan(state: RunState, tools: Tools) -> RunState:
    """Answer over all of a document. Reads `question`, `where`; writes `scans`, `hits`, `sentences`."""
    asked = whole_question(state.question)
    document = document_meant(state.question, tools.searched(state))
    given = state.model_copy(update={"scans": False})
    with tools.tracer.span("scan", phase="retrieve", document=document.name if document else None) as span:
        if asked is None or document is None:
            span.set(why="It is not known which document is meant: choose one.")
            return given
        found = tools.scan.answer(state.question, asked, document, tools.watch)
        span.set(counts=asked.counts, what=asked.what, chunks=found.chunks if found else 0)
        if found is None:
            span.set(why="Nothing of what was asked stands in it.")
            return given
        query = tools.hybrid.query(state.question)
        best = tools.hybrid.search(query, SearchFilter(documents=(document.id,)), at_least=state.contexts)
    # What only may answer stands behind the best of the usual search.
    ranked = [*found.hits, *best] if found.complete else [*best, *found.hits]
    hits = tuple({hit.chunk.id: hit for hit in ranked}.values())
    tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in hits])
    tools.tracer.emit("draft", sentences=[sentence.model_dump(mode="json") for sentence in found.sentences])
    return given.model_copy(
        update={
            "hits": hits,
            "queries_tried": (*state.queries_tried, query),
            "answered": True,
            "sentences": found.sentences,
        }
    )


def answer(state: RunState, tools: Tools) -> RunState:
    """Write the answer. Reads `hits`; writes `sentences`, `confidence`, `found`."""
    with tools.tracer.span("answer", phase="answer", evidence=len(state.evidence)) as span:
        given = _from_tables(state, tools) or tools.answer.generate(state.question, state.evidence, tools.watch)
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


def _from_tables(state: RunState, tools: Tools) -> Answered | None:
    """The answer that cells of tables give, where they give one."""
    if tools.multimodal is None or not any(hit.chunk.html for hit in state.evidence):
        return None
    with tools.tracer.span("multimodal", operation=operation_in(state.question)) as span:
        sentence = tools.multimodal.answer(state.question, state.evidence, tools.watch)
        if sentence is None:
            span.set(answered=False)
            return None
        span.set(answered=True, cells=[cell.text for cell in sentence.cells], computed=sentence.computed)
    return Answered(sentences=(sentence,), confidence=sentence.probability, found=True)


STEPS: Mapping[str, Step] = {
    "rewrite": rewrite,
    "gate": gate,
    "scan": scan,
    "agent": agent,
    "retrieve": retrieve,
    "sub_queries": sub_queries,
    "crag": crag,
    "self_rag": self_rag,
    "answer": answer,
    "self_correct": self_correct,
    "validate": validate,
    "heal": heal,
    "critique": critique,
}
