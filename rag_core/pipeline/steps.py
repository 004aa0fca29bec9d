"""The steps: state in, new state out, one span each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rag_core.llm.engine import Watch
from rag_core.pipeline.state import RunState
from rag_core.techniques.answer import Answer, Answered
from rag_core.techniques.base import Catalogue, Listed
from rag_core.techniques.hybrid import DEPTH, Hybrid
from rag_core.techniques.multimodal import Multimodal, operation_in
from rag_core.techniques.references import References, document_meant, put_first, references_in
from rag_core.techniques.scan import Scan, whole_question
from rag_core.techniques.validate import Validate
from rag_core.trace import Tracer
from rag_core.types import Hit, SearchFilter


@dataclass(frozen=True)
class Tools:
    """What the steps of one run work with, wired for its plan."""

    tracer: Tracer
    watch: Watch
    catalogue: Catalogue
    scan: Scan
    hybrid: Hybrid
    references: References | None
    multimodal: Multimodal | None
    answer: Answer
    validate: Validate


Step = Callable[[RunState, Tools], RunState]


def scan(state: RunState, tools: Tools) -> RunState:
    """Answer over all of a document. Reads `question`, `where`; writes `scans`, `hits`, `sentences`."""
    asked = whole_question(state.question)
    document = document_meant(state.question, _searched(state, tools))
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


def retrieve(state: RunState, tools: Tools) -> RunState:
    """Search for the question. Reads `question`; writes `hits`, `queries_tried`, `current_hop`."""
    query = tools.hybrid.query(state.question)
    with tools.tracer.span("retrieve", phase="retrieve", hop=state.current_hop + 1, query=query) as span:
        hits = _with_named(query, state, tools)
        span.set(found=len(hits), chunks=[hit.chunk.id for hit in hits])
        if by_words := [one.name for one in _searched(state, tools) if not one.by_meaning]:
            span.set(by_words=by_words)
    tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in hits])
    return state.model_copy(
        update={
            "hits": tuple(hits),
            "queries_tried": (*state.queries_tried, query),
            "current_hop": state.current_hop + 1,
        }
    )


def _searched(state: RunState, tools: Tools) -> list[Listed]:
    return [one for one in tools.catalogue.documents() if one.id in state.where.documents or not state.where.documents]


def _with_named(query: str, state: RunState, tools: Tools) -> list[Hit]:
    """The hits, those that the question names by number before all else."""
    understood = references_in(state.question)
    if tools.references is None or not understood:
        return tools.hybrid.search(query, state.where, at_least=state.contexts)
    with tools.tracer.span("references", understood=[str(reference) for reference in understood]) as span:
        named = tools.references.find(understood, state.question, state.where)
        others = tools.hybrid.search(query, state.where, at_least=max(state.contexts, DEPTH))
        there: list[Hit] = []
        if named.document and named.pages:
            on_pages = SearchFilter(documents=(named.document.id,), pages=named.pages)
            there = tools.hybrid.search(query, on_pages, at_least=DEPTH)
        document = named.document.name if named.document else None
        span.set(document=document, pages=list(named.pages), missing=list(named.missing), found=len(there))
    return put_first(named, there, others)[: tools.hybrid.limit(state.contexts)]


def answer(state: RunState, tools: Tools) -> RunState:
    """Write the answer. Reads `hits`; writes `sentences`, `confidence`, `found`."""
    with tools.tracer.span("answer", phase="answer", evidence=len(state.hits)) as span:
        given = _from_tables(state, tools) or tools.answer.generate(state.question, state.hits, tools.watch)
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
    if tools.multimodal is None or not any(hit.chunk.html for hit in state.hits):
        return None
    with tools.tracer.span("multimodal", operation=operation_in(state.question)) as span:
        sentence = tools.multimodal.answer(state.question, state.hits, tools.watch)
        if sentence is None:
            span.set(answered=False)
            return None
        span.set(answered=True, cells=[cell.text for cell in sentence.cells], computed=sentence.computed)
    return Answered(sentences=(sentence,), confidence=sentence.probability, found=True)


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


STEPS: Mapping[str, Step] = {"scan": scan, "retrieve": retrieve, "answer": answer, "validate": validate}
