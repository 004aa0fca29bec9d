"""The agent's turns, in place of phases 1 and 2: each decides, calls a tool and notes what came of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rag_core.errors import GraphError, QueryRefused, StoreError
from rag_core.pipeline.evidence import joined
from rag_core.pipeline.retrieval import LATER, first_hop, later, ranking, searched, with_evidence
from rag_core.pipeline.state import RunState
from rag_core.pipeline.tools import Tools
from rag_core.techniques.agent import TOOLS, Act, DecideOutput, tool_for
from rag_core.techniques.graph.technique import NO_GRAPH, GraphFound, Guide
from rag_core.types import Hit


def agent(state: RunState, tools: Tools) -> RunState:
    """One turn. Reads `question`, `scratchpad`; writes it, `sub_questions`, `hits`, `queries_tried`, `current_hop`."""
    assert tools.agent is not None  # else `next_step` has no turn left
    with tools.tracer.span("agent", phase="retrieve", step=len(state.scratchpad) + 1) as span:
        if not state.sub_questions:
            parts = tuple(tools.agent.parts(state.question, tools.watch))
            state = state.model_copy(update={"sub_questions": parts})
            span.set(sub_questions=list(parts))
        guide, no_graph = _guide(state, tools)
        if no_graph and not state.scratchpad:
            span.set(no_graph=no_graph)
        after, act = _called(_decided(state, guide, tools), state, guide, tools)
        span.set(**act.model_dump(include={"thought", "sub_question", "tool", "query", "result"}))
        span.set(new=len(act.hits), refused=act.refused)
    return with_evidence(after, after.hits, tools, scratchpad=(*state.scratchpad, act))


def _guide(state: RunState, tools: Tools) -> tuple[Guide | None, str]:
    """`(guide, why not)`: how the collection's graph is asked, where it has one."""
    try:
        guide = tools.traversal.guide(state.question) if tools.traversal else None
    except GraphError as error:
        return None, str(error)
    return guide, "" if guide else NO_GRAPH


def _offered(guide: Guide | None) -> Sequence[str]:
    return TOOLS if guide else TOOLS[:1]


def _decided(state: RunState, guide: Guide | None, tools: Tools) -> DecideOutput:
    """The call of this turn: what the user told, else what the agent decides."""
    if state.told.queries:
        query = state.told.queries[0]
        asked = [act.sub_question for act in state.scratchpad]
        part = next((part for part in state.sub_questions if part not in asked), asked[-1] if asked else "")
        return DecideOutput(
            thought="You said what to look for.", sub_question=part, tool=tool_for(query, _offered(guide)), query=query
        )
    assert tools.agent is not None
    known = {"labels": guide.labels, "example": guide.example} if guide else {}
    decided = tools.agent.decide(
        state.question, state.sub_questions, state.scratchpad, state.queries_tried, tools.watch, **known
    )
    if decided.tool == "vector_search" and decided.query:
        return decided.model_copy(update={"query": tools.hybrid.query(decided.query)})
    return decided


def _called(decided: DecideOutput, state: RunState, guide: Guide | None, tools: Tools) -> tuple[RunState, Act]:
    """The state after a call with what was found, and the turn as it is noted.

    What cannot be done is told back once, so that the next turn can do better; when that cannot be done either, the
    part is searched for.
    """
    act = Act(**decided.model_dump(exclude={"done"}), result="What was found goes to the answer.", done=decided.done)
    if decided.done:
        return state, act
    found: GraphFound | None = None
    wrong = _wrong(decided, state, _offered(guide))
    if not wrong and decided.tool == "graph_traversal":
        found, wrong = _traversed(decided.query, state, tools)
    if wrong and not (state.scratchpad and state.scratchpad[-1].refused):
        return state, act.model_copy(update={"result": wrong, "refused": True})
    if found is not None:
        return _noted(act, found.hits, state, tools, rows=found.rows)
    if wrong:
        instead = state.untried(_instead(decided, state, tools))
        if not instead:
            return state, act.model_copy(update={"result": f"{wrong} {act.result}", "done": True})
        act = act.model_copy(update={"tool": "vector_search", "query": instead[0]})
        wrong += " So this was searched for."
    return _noted(act, _search(act.query, state, tools), state, tools, before=wrong)


def _wrong(decided: DecideOutput, state: RunState, offered: Collection[str]) -> str:
    """Why a call cannot be made; empty where it can."""
    if decided.tool not in offered:
        return f"There is no tool {decided.tool[:40]!r}: there is {' and '.join(offered)}."
    if not decided.query:
        return "There is no query: give one, or say that you are done."
    return "" if state.untried([decided.query]) else "This was looked for already: ask for something else, or be done."


def _instead(decided: DecideOutput, state: RunState, tools: Tools) -> list[str]:
    """What is searched for in place of a call that cannot be made, the best first."""
    in_words = [] if decided.tool in TOOLS else [decided.query]
    return [tools.hybrid.query(query) for query in (*in_words, decided.sub_question, state.question) if query]


def _traversed(query: str, state: RunState, tools: Tools) -> tuple[GraphFound | None, str]:
    """`(what the graph gave, what was wrong)`."""
    assert tools.traversal is not None
    with tools.tracer.span("graph", query=query) as span:
        try:
            found = tools.traversal.traverse(query, state.where)
        except (QueryRefused, GraphError, StoreError) as error:
            span.set(why=str(error))
            return None, str(error)
        span.set(**found.model_dump(mode="json", exclude={"hits"}), **ranking(found.hits))
    return found, ""


def _search(query: str, state: RunState, tools: Tools) -> list[Hit]:
    """The hits of the usual search, with all that is on."""
    number = state.current_hop + 1
    with tools.tracer.span("retrieve", hop=number, query=query) as span:
        found = first_hop(query, state, tools) if number == 1 else searched(query, state, tools)
        span.set(found=len(found), **ranking(found))
    return found


def _noted(
    act: Act, found: Sequence[Hit], state: RunState, tools: Tools, *, rows: Sequence[str] = (), before: str = ""
) -> tuple[RunState, Act]:
    """The state with what a call found, and the turn with its result."""
    known = {hit.chunk.id for hit in state.hits}
    new = tuple(hit for hit in found if hit.chunk.id not in known)
    searches = act.tool == "vector_search"
    gave = "" if searches else f"It gave {len(rows)} rows."
    result = " ".join(filter(None, (before, gave, f"It found {len(found)} passages, {len(new)} of them new.")))
    after = state.model_copy(
        update={
            "hits": tuple(joined(state.hits, found, weight=_weight(act, state, tools))),
            "queries_tried": (*state.queries_tried, act.query),
            "current_hop": state.current_hop + searches,
        }
    )
    return after, act.model_copy(update={"result": result, "rows": tuple(rows), "hits": new})


def _weight(act: Act, state: RunState, tools: Tools) -> float:
    """What the scores of a call count for: the parts of a question all the same, what leads on from one less."""
    if act.tool != "vector_search":
        return LATER
    if not state.current_hop:
        return 1.0
    goes_on = any(before.sub_question == act.sub_question for before in state.scratchpad)
    return later(state, tools, LATER if goes_on else 1.0)
