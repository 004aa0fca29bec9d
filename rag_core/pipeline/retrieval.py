"""Phases 1 and 2: hop after hop, then all parts of the question at once, with every technique that is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_core.errors import GraphError, RagError, StoreError
from rag_core.fan_out import fan_out
from rag_core.pipeline.evidence import fused, joined
from rag_core.pipeline.state import FoundFor, RunState
from rag_core.pipeline.tools import Tools
from rag_core.techniques.hybrid import DEPTH
from rag_core.techniques.memory import with_recalled
from rag_core.techniques.multi_hop import Hop
from rag_core.techniques.references import Reference, put_first, references_in
from rag_core.techniques.rerank import Rerank
from rag_core.types import Hit, SearchFilter

LATER = 0.8
"""What a score counts for that a chunk got with another query than the question; 0.7 to 1 were tried on three sets."""


def retrieve(state: RunState, tools: Tools) -> RunState:
    """One hop. Reads `question`, `hop`, `hits`; writes `hop`, `hits`, `queries_tried`, `current_hop`."""
    number = state.current_hop + 1
    with tools.tracer.span("retrieve", phase="retrieve", hop=number, lane=number) as span:
        query = _query(state, tools)
        span.set(query=query)
        if not state.untried([query]):
            span.set(why="This was searched for already.")
            return state.model_copy(update={"hop": _closed(state.hop), "current_hop": number})
        found = first_hop(query, state, tools) if number == 1 else searched(query, state, tools)
        known = {hit.chunk.id for hit in state.hits}
        new = [hit for hit in found if hit.chunk.id not in known]
        span.set(found=len(found), new=len(new), **ranking(found))
        if by_words := [one.name for one in tools.searched(state) if not one.by_meaning]:
            span.set(by_words=by_words)
        hits = joined(state.hits, found, weight=1.0 if number == 1 else later(state, tools))
        tried = (*state.queries_tried, query)
        if not new:
            span.set(why="It brought no new chunk.")
        hop = _taken_in(new, hits, tried, state, tools) if new else _closed(state.hop)
    return with_evidence(state, hits, tools, hop=hop, queries_tried=tried, current_hop=number)


def sub_queries(state: RunState, tools: Tools) -> RunState:
    """One round of parts. Reads `question`, `focused`; writes it, `parts`, `hits`, `queries_tried`, `iteration`."""
    assert tools.sub_queries is not None  # else `next_step` has no round left
    done: dict[str, Any] = {"iteration": state.iteration + 1, "focused": ()}
    with tools.tracer.span("sub_queries", phase="sub_queries", iteration=done["iteration"]) as span:
        queries = state.untried(_parts(state, tools))
        span.set(queries=queries)
        if not queries:
            span.set(why="It asks one thing." if not state.iteration else "All was searched for already.")
            return state.model_copy(update=done)
        found = _at_once(queries, state, tools)
        parts = (*state.parts, *found)
        gathered = tools.sub_queries.take_in(state.question, [(one.query, one.hits) for one in parts], tools.watch)
        span.set(gaps=list(gathered.gaps), focused=list(gathered.queries))
    hits: Sequence[Hit] = state.hits
    for one in found:
        hits = joined(hits, one.hits, weight=later(state, tools))
    done |= {"focused": gathered.queries, "parts": parts, "queries_tried": (*state.queries_tried, *queries)}
    return with_evidence(state, hits, tools, **done)


def later(state: RunState, tools: Tools, weight: float = LATER) -> float:
    """What the scores of a later search count for; what only searches find, counts beside a graph as it does there."""
    if tools.graph is None or not any("graph" in hit.scores for hit in state.hits):
        return weight
    return weight * tools.graph.search_weight


def _query(state: RunState, tools: Tools) -> str:
    """What this hop searches for."""
    if state.told.queries:
        return state.told.queries[0]
    if tools.multi_hop is None:
        return tools.hybrid.query(state.question)
    return tools.hybrid.query(tools.multi_hop.query(state.question, state.hop, tools.watch).query)


def _taken_in(
    new: Sequence[Hit], hits: Sequence[Hit], tried: Sequence[str], state: RunState, tools: Tools
) -> Hop | None:
    """What is known after this hop."""
    if tools.multi_hop is None:
        return None
    with tools.tracer.span("multi_hop") as span:
        hop = tools.multi_hop.take_in(state.question, new, hits, state.hop, tried, tools.watch)
        span.set(completeness=hop.completeness, missing=list(hop.missing), suggested=hop.suggested)
    return hop


def _closed(hop: Hop | None) -> Hop | None:
    """What is known, with nothing more to search for."""
    return hop.model_copy(update={"suggested": ""}) if hop else None


def _parts(state: RunState, tools: Tools) -> list[str]:
    """What this round searches for: the parts of the question at first, then what fills the gaps."""
    assert tools.sub_queries is not None
    if state.told.queries:
        return [*state.told.queries]
    asked: Sequence[str] = state.focused
    if not state.iteration:
        asked = tools.sub_queries.decompose(state.question, tools.watch).sub_questions
    return [tools.hybrid.query(part) for part in asked]


def _at_once(queries: Sequence[str], state: RunState, tools: Tools) -> list[FoundFor]:
    """What each query found, in the order asked; one that fails is left out, and its span says why.

    Raises:
        RagError: All of them failed.
    """
    assert tools.sub_queries is not None

    def search(part: tuple[int, str]) -> FoundFor:
        lane, query = part
        with tools.tracer.span("sub_query", query=query, lane=lane) as span:
            hits = tools.hybrid.search(query, state.where, at_least=state.contexts)
            span.set(found=len(hits), **ranking(hits))
        return FoundFor(query=query, hits=tuple(hits))

    outcomes = fan_out(search, [*enumerate(queries, 1)], at_once=tools.sub_queries.at_once)
    failed = [outcome for outcome in outcomes if isinstance(outcome, RagError)]
    if len(failed) == len(outcomes):
        raise failed[0]
    return [outcome for outcome in outcomes if isinstance(outcome, FoundFor)]


def with_evidence(state: RunState, hits: Sequence[Hit], tools: Tools, **changes: Any) -> RunState:
    """The state with its evidence, which the reader sees at once."""
    kept = tuple(hits[: max(state.contexts, DEPTH)])
    tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in kept])
    return state.model_copy(update={"hits": kept, **changes})


def first_hop(query: str, state: RunState, tools: Tools) -> list[Hit]:
    """The hits for the question: what it names by number before all else, figures, and what is remembered."""
    understood = references_in(state.question) if tools.references else []
    # What is named was found by rule: nothing else may move it.
    hits = _with_named(query, understood, state, tools) if understood else _with_graph(query, state, tools)
    return _with_recalled(_with_figures(hits, state, tools), state, tools)


def _with_named(query: str, understood: Sequence[Reference], state: RunState, tools: Tools) -> list[Hit]:
    """The hits, those that the question names by number before all else."""
    assert tools.references is not None
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


def _with_graph(query: str, state: RunState, tools: Tools) -> list[Hit]:
    """The hits and, where a graph is on, the chunks that it leads to."""
    hits = searched(query, state, tools)
    if tools.graph is None:
        return hits
    with tools.tracer.span("graph") as span:
        try:
            found = tools.graph.retrieve(state.question, hits, state.where, tools.watch)
        except (GraphError, StoreError) as error:  # what was found is worth more than what a graph would add
            span.set(why=str(error), skipped=True)
            return hits
        span.set(**found.model_dump(mode="json", exclude={"hits"}), **ranking(found.hits))
        span.set(skipped=bool(found.why) and not found.entities)
    return [*found.hits]


def _with_figures(hits: list[Hit], state: RunState, tools: Tools) -> list[Hit]:
    """The hits and the figures found by what they show, where figures can be searched so."""
    if tools.multimodal is None or tools.multimodal.figures is None:
        return hits
    with tools.tracer.span("multimodal", by_picture=tools.multimodal.figures.by_picture) as span:
        joined = tools.multimodal.with_figures(state.question, hits, state.where)
        span.set(figures=[hit.chunk.id for hit in joined if "image" in hit.scores])
    return joined


def _with_recalled(hits: list[Hit], state: RunState, tools: Tools) -> list[Hit]:
    """The hits and what good answers to similar questions cited."""
    if tools.memory is None:
        return hits
    with tools.tracer.span("memory") as span:
        try:
            recalled = tools.memory.recall(state.question, state.where)
        except StoreError as error:  # what was found is worth more than what is remembered
            span.set(why=str(error))
            return hits
        span.set(recalled=[one.as_json() for one in recalled])
        if not recalled:
            span.set(why="No question like it was answered well before.")
    return with_recalled(hits, recalled)


def searched(query: str, state: RunState, tools: Tools) -> list[Hit]:
    """The hits of a query, best first, found and ranked with all that is on."""
    reranks = tools.rerank if not state.current_hop else None
    wanted = reranks.candidates(state.contexts) if reranks else state.contexts
    first = tools.hybrid.search(query, state.where, at_least=wanted)
    searches = ((tools.expand, _by_terms), (tools.hyde, _by_answers), (tools.raptor, _by_summaries))
    further = [search for on, search in searches if on]
    outcomes = fan_out(lambda search: search(query, first, wanted, state, tools), further, at_once=len(further))
    # One that failed is left out, and its span says why.
    lists = [outcome for outcome in outcomes if not isinstance(outcome, RagError)]
    hits = fused([(1.0, first), *lists]) if lists else first
    # A later hop is a heap of names: there a closer look cost its time and bought nothing.
    ranked = _reranked(reranks, query, hits, state, tools) if reranks else hits
    return ranked[: tools.hybrid.limit(state.contexts)]


def _by_terms(query: str, first: Sequence[Hit], wanted: int, state: RunState, tools: Tools) -> tuple[float, list[Hit]]:
    """`(weight, hits)` of a search with more words and the same vector."""
    assert tools.expand is not None
    with tools.tracer.span("expand", lane=1) as span:
        expanded = tools.expand.expand(query, first, tools.watch)
        span.set(terms=list(expanded.terms))
        if not expanded.terms:
            span.set(why="There was nothing to add.")
            return 0.0, []
        own = tools.embedder.embed_one(query)
        hits = tools.hybrid.search(expanded.query, state.where, at_least=wanted, vector=own)
        span.set(found=len(hits))
    return tools.expand.weight, hits


def _by_answers(
    query: str, first: Sequence[Hit], wanted: int, state: RunState, tools: Tools
) -> tuple[float, list[Hit]]:
    """`(weight, hits)` of a search with the vector of imagined answers and the same words."""
    assert tools.hyde is not None
    with tools.tracer.span("hyde", lane=2) as span:
        hypotheticals = tools.hyde.imagine(query, first, tools.watch)
        span.set(hypotheticals=list(hypotheticals))
        if not hypotheticals:
            span.set(why="Nothing could be imagined.")
            return 0.0, []
        vector = tools.hyde.vector(query, hypotheticals)
        hits = tools.hybrid.search(query, state.where, at_least=wanted, vector=vector)
        span.set(found=len(hits))
    return tools.hyde.weight, hits


def _by_summaries(query: str, _: Sequence[Hit], wanted: int, state: RunState, tools: Tools) -> tuple[float, list[Hit]]:
    """`(weight, hits)` of what stands under summaries near the question."""
    assert tools.raptor is not None
    with tools.tracer.span("raptor", lane=3) as span:
        deep = tools.hybrid.search(query, state.where, at_least=max(wanted, DEPTH))
        retrieved = tools.raptor.retrieve(query, deep, state.where)
        span.set(**retrieved.as_json(), skipped=not retrieved.nodes)
    return (tools.raptor.weight if retrieved.hits else 0.0), list(retrieved.hits)


def _reranked(rerank: Rerank, query: str, hits: Sequence[Hit], state: RunState, tools: Tools) -> list[Hit]:
    with tools.tracer.span("rerank") as span:
        ranked = rerank.rerank(query, hits, tools.watch, at_least=tools.hybrid.limit(state.contexts))
        span.set(**ranking(ranked))
    return ranked


def ranking(hits: Sequence[Hit]) -> dict[str, Any]:
    """What a span keeps of hits: their ids, best first, and their scores."""
    return {"chunks": [hit.chunk.id for hit in hits], "scores": [round(hit.score, 4) for hit in hits]}
