"""The runner: asks what comes next, does it, and keeps all that happened, however the run ends."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rag_core.errors import QuestionError, RagError, Stopped
from rag_core.llm.critic import Critic
from rag_core.llm.engine import Call, Engine
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stem, words
from rag_core.pipeline.plan import Plan
from rag_core.pipeline.points import Beginning, Point
from rag_core.pipeline.run import Branch, Prompt, Refusal, Run, RunStatus, TechniqueUse
from rag_core.pipeline.state import RunState, next_step
from rag_core.pipeline.steps import STEPS
from rag_core.pipeline.tools import Tools
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.agent import Agent, AgentSettings
from rag_core.techniques.answer import Answer, AnswerSettings
from rag_core.techniques.auto import Auto, AutoSettings
from rag_core.techniques.base import Catalogue, Embedder, Figures, Memories, Passages, Searcher, TechniqueSettings, Turn
from rag_core.techniques.crag import Crag, CragSettings
from rag_core.techniques.expand import Expand, ExpandSettings
from rag_core.techniques.gate import Gate, GateSettings
from rag_core.techniques.graph.technique import Graph, GraphSettings
from rag_core.techniques.heal import Heal, HealSettings
from rag_core.techniques.hybrid import Hybrid, HybridSettings
from rag_core.techniques.hyde import Hyde, HydeSettings
from rag_core.techniques.memory import Memory, MemorySettings
from rag_core.techniques.multi_hop import MultiHop, MultiHopSettings
from rag_core.techniques.multimodal import Multimodal, MultimodalSettings
from rag_core.techniques.raptor.retrieving import Raptor, Summaries
from rag_core.techniques.raptor.settings import RaptorSettings
from rag_core.techniques.references import References, ReferencesSettings
from rag_core.techniques.replacements import Replacements
from rag_core.techniques.rerank import Rerank, RerankSettings
from rag_core.techniques.rewrite import Rewrite, RewriteSettings
from rag_core.techniques.route import Described, Route, RouteSettings
from rag_core.techniques.scan import Scan, ScanSettings
from rag_core.techniques.self_correct import SelfCorrect, SelfCorrectSettings
from rag_core.techniques.self_rag import SelfRag, SelfRagSettings
from rag_core.techniques.sub_queries import SubQueries, SubQueriesSettings
from rag_core.techniques.validate import Validate, ValidateSettings
from rag_core.trace import Emit, Tracer
from rag_core.types import Chunk, Hit, SearchFilter, Usage
from rag_core.web.results import WebSearch

T = TypeVar("T")

# The step that a technique works in, for what it cost.
_STEP_OF = {
    "auto": "auto",
    "rewrite": "rewrite",
    "gate": "gate",
    "route": "route",
    "scan": "scan",
    "references": "references",
    "hybrid": "retrieve",
    "expand": "expand",
    "hyde": "hyde",
    "raptor": "raptor",
    "rerank": "rerank",
    "graph": "graph",
    "agent": "agent",
    "multi_hop": "multi_hop",
    "sub_queries": "sub_queries",
    "memory": "memory",
    "multimodal": "multimodal",
    "crag": "crag",
    "self_rag": "self_rag",
    "answer": "answer",
    "self_correct": "self_correct",
    "validate": "validate",
    "heal": "heal",
}


@dataclass(frozen=True)
class Request:
    """A question as it is asked, with everything that the record of its run repeats."""

    question: str
    plan: Plan
    collection: str
    documents: tuple[str, ...] = ()
    where: SearchFilter = field(default_factory=SearchFilter)
    chat: str = ""
    turns: tuple[Turn, ...] = ()
    contexts: int = 10
    branch: Branch | None = None
    ledger_of: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))


@dataclass(frozen=True)
class Collaborators:
    """What a run searches, compares and asks."""

    searcher: Searcher
    catalogue: Catalogue
    embedder: Embedder
    reading: Reading
    engine: Engine
    documents: int = 0
    figures: Figures | None = None
    memories: Memories | None = None
    passages: Passages | None = None
    summaries: Summaries | None = None
    replacements: Replacements = field(default_factory=lambda: Replacements({}, TECHNIQUES))
    web: WebSearch | None = None
    choices: Choices | None = None
    graphs: Callable[[], Sequence[GraphStore]] = tuple


@dataclass(frozen=True)
class Choices:
    """The collections that a question can be sent to, where the user chose none."""

    collections: Sequence[Described]
    over: Callable[[Sequence[str]], Collaborators]


def check_question(question: str, longest: int) -> str:
    """The question without space around it.

    Raises:
        QuestionError: It is empty or too long.
    """
    # Half a character can be neither stored nor sent.
    asked = question.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    if not asked:
        raise QuestionError("The question is empty: write what you want to know.")
    if len(asked) > longest:
        raise QuestionError(
            f"The question has {len(asked):,} characters, the limit is {longest:,}: ask something shorter, "
            "and upload long texts as documents."
        )
    return asked


class RunWatch:
    """What engines tell a run: collected for the record, told to the live view."""

    def __init__(
        self, tracer: Tracer, stopped: Callable[[], bool], budget_s: float, before: Sequence[Prompt] = ()
    ) -> None:
        self._tracer = tracer
        self._stopped = stopped
        self._until = time.monotonic() + budget_s
        self._lock = threading.Lock()
        self.prompts: list[Prompt] = [*before]
        self.usage = Usage()

    def stopped(self) -> bool:
        return self._stopped()

    def left_s(self) -> float:
        return self._until - time.monotonic()

    def called(self, call: Call) -> None:
        span_id = self._tracer.past(
            f"llm.{call.signature}",
            call.seconds,
            engine=call.engine,
            input_tokens=call.usage.input_tokens,
            output_tokens=call.usage.output_tokens,
            cost=call.usage.cost,
            note=call.note,
        )
        prompt = Prompt(span_id=span_id, **call.model_dump(include={"signature", "engine", "prompt", "reply", "note"}))
        with self._lock:  # calls of a fan-out end on threads of their own
            self.prompts.append(prompt)
            self.usage += call.usage
        self._tracer.emit("prompt", **prompt.model_dump(mode="json"))

    def text(self, delta: str) -> None:
        self._tracer.emit("text", delta=delta)

    def restart(self) -> None:
        self._tracer.emit("restart")


class _Early(NamedTuple):
    """Where a run stood before its question was rewritten for what chooses plan and collections."""

    span_id: int
    seconds: float
    state: RunState


class _Counted:
    """A searcher that counts what is asked of it, and finds nothing that the user dropped."""

    def __init__(self, searcher: Searcher, dropped: Set[str] = frozenset()) -> None:
        self._searcher = searcher
        self._dropped = dropped
        self._lock = threading.Lock()
        self.searches = 0

    def hybrid(self, query: str, vector: np.ndarray, *, limit: int, **asked: Any) -> list[Hit]:
        with self._lock:
            self.searches += 1
        found = self._searcher.hybrid(query, vector, limit=limit + len(self._dropped), **asked)
        return [hit for hit in found if hit.chunk.id not in self._dropped][:limit]

    def document(self, document: str) -> Iterator[Chunk]:
        return (chunk for chunk in self._searcher.document(document) if chunk.id not in self._dropped)


def run(
    request: Request,
    with_: Collaborators,
    *,
    emit: Emit | None = None,
    stopped: Callable[[], bool] = lambda: False,
    budget_s: float = 300,
    beginning: Beginning | None = None,
    passed: Callable[[Point, Run], None] = lambda point, run: None,
) -> Run:
    """Answer a question by its plan.

    Never raises for what a run can meet: a failed step ends it with its error and all that it has until then.

    Args:
        beginning: What a branch goes on from; plan and collections were chosen by then.
        passed: Told before each step and at the end where the run stands, with its record until then.
    """
    tracer = Tracer(emit, beginning.spans if beginning else ())
    watch = RunWatch(tracer, stopped, budget_s, beginning.prompts if beginning else ())
    searcher = _Counted(with_.searcher)
    state = RunState(question=request.question)
    begun_s, points = tracer.elapsed_s, len(beginning.points) if beginning else 0

    def pass_by(step: str | None, early: _Early | None = None) -> None:
        nonlocal points
        span_id, seconds, before = early or (tracer.next_id, tracer.elapsed_s, state)
        at = Point(n=points, step=step, span_id=span_id, seconds=seconds, state=before)
        record = _record(request, with_, state, tracer, watch, searcher.searches, "running", note, begun_s)
        passed(at, record)
        points += 1

    status: RunStatus = "done"
    note = None
    step: str | None = "choice of the plan"
    try:
        if beginning is None:
            request, with_, state, early = _begun(request, with_, tracer, watch)
            if early:
                pass_by("rewrite", early)
        else:
            state = beginning.state
            _show_again(state, watch.prompts, tracer)
        searcher = _Counted(with_.searcher, {*state.told.dropped})
        tools = _tools(request.plan, with_, searcher, tracer, watch)
        while (step := next_step(state)) is not None:
            pass_by(step)
            if watch.stopped():
                raise Stopped
            if watch.left_s() <= 0:
                note = f"The run's {budget_s:.0f} seconds were spent before {step!r}: this is its best until then."
                if state.hits and not state.sentences and not state.answered:  # by reading, in no time
                    state = _done("answer", state, tools)
                break
            state = _done(step, state, tools)
        pass_by(None)
    except Stopped:
        status = "stopped"
    except RagError as error:
        status, state = "failed", state.model_copy(update={"error": str(error)})
    except Exception as error:  # a run must end with a record, whatever a step meets
        status, state = "failed", state.model_copy(update={"error": _unforeseen(step, error)})
    return _record(request, with_, state, tracer, watch, searcher.searches, status, note, begun_s)


def _done(step: str, state: RunState, tools: Tools) -> RunState:
    """The state after a step, held to what the user told; where that moved evidence, the reader sees it at once."""
    after = STEPS[step](state, tools)
    held = after.as_told()
    if held.hits != after.hits:
        tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in held.hits])
    return held


def _show_again(state: RunState, prompts: Sequence[Prompt], tracer: Tracer) -> None:
    """Tell those who watch a branch what it goes on from; the spans they know already."""
    for prompt in prompts:
        tracer.emit("prompt", **prompt.model_dump(mode="json"))
    tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in state.hits])
    if state.sentences:
        tracer.emit("draft", sentences=[sentence.model_dump(mode="json") for sentence in state.sentences])


def _begun(
    request: Request, with_: Collaborators, tracer: Tracer, watch: RunWatch
) -> tuple[Request, Collaborators, RunState, _Early | None]:
    """What is asked and where, with all that is chosen for this question, and the state that its run begins with.

    What chooses plan and collections sees the question as it stands alone: it is rewritten before them, and else as
    the first step. A branch that leaves before that keeps what they chose.
    """
    span_id, seconds = tracer.next_id, tracer.elapsed_s
    plan = request.plan
    routes = with_.choices is not None and plan.has("route")
    state = RunState(
        question=request.question,
        turns=request.turns,
        where=request.where,
        contexts=request.contexts,
        rewrites=plan.has("rewrite"),
    )
    if state.rewrites and (routes or plan.has("auto")):
        state = STEPS["rewrite"](state, _tools(plan, with_, with_.searcher, tracer, watch))
    if plan.has("auto"):
        request = replace(request, plan=_chosen(plan, state.question, with_, tracer, watch))
    if routes:
        request, with_ = _routed(request, state.question, with_, tracer, watch)
    begun = state.model_copy(update=planned(request.plan) | {"rewrites": state.rewrites})
    if state.rewrites or not plan.has("rewrite"):
        return request, with_, begun, None
    asked = begun.model_copy(update={"question": request.question, "rewrites": True})
    return request, with_, begun, _Early(span_id, seconds, asked)


def _routed(
    request: Request, question: str, with_: Collaborators, tracer: Tracer, watch: RunWatch
) -> tuple[Request, Collaborators]:
    """What is asked of the collections that the router chooses."""
    assert with_.choices is not None
    with tracer.span("route", phase="question") as span:
        route = with_.replacements.made(
            "route", Route, request.plan.settings(RouteSettings), with_.engine, with_.reading
        )
        routed = route.choose(question, with_.choices.collections, chosen=(), default=request.collection, watch=watch)
        span.set(collections=list(routed.collections), by=routed.by, why=routed.why)
    return replace(request, collection=", ".join(routed.collections)), with_.choices.over(routed.collections)


def planned(plan: Plan) -> dict[str, Any]:
    """What a plan puts into the state of a run that begins."""
    acts = plan.has("agent")  # it stands in the place of hops and rounds
    return {
        "rewrites": plan.has("rewrite"),
        "gates": plan.has("gate"),
        "validates": plan.has("validate"),
        "scans": plan.has("scan"),
        "max_steps": plan.settings(AgentSettings).max_steps if acts else 0,
        "max_hops": plan.settings(MultiHopSettings).max_hops if plan.has("multi_hop") and not acts else 1,
        "max_iterations": plan.settings(SubQueriesSettings).max_iterations
        if plan.has("sub_queries") and not acts
        else 0,
        "corrects": plan.has("crag"),
        "self_rag": plan.settings(SelfRagSettings) if plan.has("self_rag") else None,
        "self_correct": plan.settings(SelfCorrectSettings) if plan.has("self_correct") else None,
        "heal": plan.settings(HealSettings) if plan.has("heal") else None,
    }


def _tools(plan: Plan, with_: Collaborators, searcher: Searcher, tracer: Tracer, watch: RunWatch) -> Tools:
    engine, reading, embedder = with_.engine, with_.reading, with_.embedder

    def made(name: str, own: type[T], settings: type[TechniqueSettings], *collaborators: Any) -> T:
        return with_.replacements.made(name, own, plan.settings(settings), *collaborators)

    def where_on(name: str, own: type[T], settings: type[TechniqueSettings], *collaborators: Any) -> T | None:
        return made(name, own, settings, *collaborators) if plan.has(name) else None

    critic = Critic(reading)
    remembers = with_.memories is not None and with_.passages is not None
    return Tools(
        tracer=tracer,
        watch=watch,
        catalogue=with_.catalogue,
        embedder=embedder,
        rewrite=where_on("rewrite", Rewrite, RewriteSettings, engine, reading),
        gate=where_on("gate", Gate, GateSettings, engine, reading, with_.catalogue, tuple(TECHNIQUES.values())),
        scan=made("scan", Scan, ScanSettings, searcher, engine, reading),
        hybrid=made("hybrid", Hybrid, HybridSettings, searcher, embedder),
        references=where_on("references", References, ReferencesSettings, searcher, with_.catalogue),
        expand=where_on("expand", Expand, ExpandSettings, engine, reading),
        hyde=where_on("hyde", Hyde, HydeSettings, engine, reading, embedder),
        raptor=where_on("raptor", Raptor, RaptorSettings, with_.summaries, embedder) if with_.summaries else None,
        rerank=where_on("rerank", Rerank, RerankSettings, engine, reading),
        graph=where_on("graph", Graph, GraphSettings, with_.graphs, with_.passages, engine, reading)
        if with_.passages is not None
        else None,
        agent=where_on("agent", Agent, AgentSettings, engine, reading),
        traversal=made("graph", Graph, GraphSettings, with_.graphs, with_.passages, engine, reading)
        if plan.has("agent") and with_.passages is not None
        else None,
        multi_hop=where_on("multi_hop", MultiHop, MultiHopSettings, engine, reading) if not plan.has("agent") else None,
        sub_queries=where_on("sub_queries", SubQueries, SubQueriesSettings, engine, reading),
        memory=where_on("memory", Memory, MemorySettings, with_.memories, with_.passages, with_.catalogue, reading)
        if remembers
        else None,
        multimodal=where_on("multimodal", Multimodal, MultimodalSettings, engine, reading, with_.figures),
        crag=where_on("crag", Crag, CragSettings, engine, reading, critic, with_.web),
        self_rag=where_on("self_rag", SelfRag, SelfRagSettings, engine, reading, critic),
        answer=made("answer", Answer, AnswerSettings, engine, reading),
        self_correct=where_on("self_correct", SelfCorrect, SelfCorrectSettings, engine, reading, critic),
        validate=made("validate", Validate, ValidateSettings, engine, reading, critic),
        heal=where_on("heal", Heal, HealSettings, engine, reading),
    )


def _chosen(plan: Plan, question: str, with_: Collaborators, tracer: Tracer, watch: RunWatch) -> Plan:
    """The plan with what the question's kind calls for; what the user set stays as it is."""
    with tracer.span("auto", phase="question") as span:
        auto = with_.replacements.made("auto", Auto, plan.settings(AutoSettings), with_.engine, with_.reading)
        chosen = auto.choose(question, watch)
        span.set(kind=chosen.kind, why=chosen.why, on=list(chosen.techniques))
    return plan.completed(chosen.techniques)


def _unforeseen(step: str | None, error: Exception) -> str:
    return f"The step {step!r} failed in a way that was not foreseen ({type(error).__name__}: {str(error)[:200]})."


def _record(
    request: Request,
    with_: Collaborators,
    state: RunState,
    tracer: Tracer,
    watch: RunWatch,
    searches: int,
    status: RunStatus,
    note: str | None,
    begun_s: float,
) -> Run:
    spans = tracer.events
    refused = status == "done" and state.answered and not state.found
    fell_back = next((prompt.note for prompt in watch.prompts if prompt.note and prompt.engine == "keyless"), None)
    return Run(
        id=request.id,
        chat=request.chat,
        question=request.question,
        plan=request.plan.as_json(),
        engine=with_.engine.name,
        collection=request.collection,
        documents=request.documents,
        created_at=request.created_at,
        status=status,
        error=state.error,
        note=" ".join(filter(None, (note, state.origin or fell_back, *state.notes))) or None,
        final_answer=" ".join(sentence.text for sentence in state.sentences) if not refused else _refusal_text(),
        refused=refused,
        refusal=_refusal(state, with_) if refused else None,
        confidence=state.confidence,
        quality_achieved=state.quality,
        issues=state.issues,
        total_hops=state.current_hop,
        iteration_count=state.iteration,
        healing_attempts=max(0, len(state.versions) - 1),
        seconds=tracer.elapsed_s - begun_s,
        searches=searches,
        usage=watch.usage,
        sentences=state.sentences,
        evidence=state.hits,
        spans=spans,
        prompts=tuple(watch.prompts),
        techniques=_uses(request.plan, state, spans),
        branch=request.branch,
        ledger_of=request.ledger_of,
    )


def _refusal_text() -> str:
    return "It is not in your documents."


def _refusal(state: RunState, with_: Collaborators) -> Refusal:
    missing = with_.reading.missing(state.question, [hit.chunk.searchable_text for hit in state.hits])
    # It is read by people: the words as they were asked, not what is left of them to search by.
    asked = {stem(word): word for word in words(state.question)}
    looked_for = tuple(asked[each] for each in missing[:8])
    return Refusal(looked_for=looked_for, searched=len(state.where.documents) or with_.documents)


def _uses(plan: Plan, state: RunState, spans: tuple[Any, ...]) -> dict[str, TechniqueUse]:
    """What became of every technique of the table."""
    seconds: dict[str, float] = {}
    for span in spans:
        seconds[span.name] = seconds.get(span.name, 0.0) + span.duration_s
    errors = {span.name: span.error for span in spans if span.error and span.error_type != Stopped.__name__}
    did = {span.name for span in spans if not span.attributes.get("skipped")}
    # What a later hop had nothing to do for may have worked in the first.
    skipped = {span.name: str(span.attributes.get("why", "")) for span in spans if span.name not in did}
    return {
        name: TechniqueUse(ran=False, why=skipped[name])
        if name in skipped
        else _use(name, plan, state, seconds.get(_STEP_OF[name]), errors.get(_STEP_OF[name]))
        for name in TECHNIQUES
    }


def _use(name: str, plan: Plan, state: RunState, seconds: float | None, error: str | None) -> TechniqueUse:
    if seconds is not None:
        why = "It is in the plan." if plan.has(name) else "The agent used it."
        why = f"It failed: {error}" if error else why
        return TechniqueUse(ran=True, why=why, seconds=seconds)
    if not plan.has(name):
        return TechniqueUse(ran=False, why="It is switched off.")
    if state.error:
        return TechniqueUse(ran=False, why=f"The run had ended: {state.error}")
    return TechniqueUse(ran=False, why=_why_not(name, state))


def _why_not(name: str, state: RunState) -> str:
    """Why a technique of the plan had nothing to do."""
    if state.origin:
        return "The question needed no document."
    if not state.answered and name not in ("scan", "references"):
        return "The run was over before it."
    if state.answered and not state.current_hop and name not in ("scan", "validate"):
        return "The whole document was scanned instead."
    if name in ("multi_hop", "sub_queries") and state.max_steps:
        return "The agent decides what to search for."
    if name in ("validate", "self_correct", "heal") and not state.found:
        return "There was no answer to check."
    if name == "heal" and state.quality is not None:
        return f"The answer is good enough: {state.quality:.2f}."
    if name == "answer" and state.self_rag is not None:
        return "Self-RAG wrote it."
    return {
        "scan": "The question does not ask for all of a document.",
        "references": "The question names no page, figure, table or section.",
        "multimodal": "The evidence has no table.",
        "route": "You chose the collection, or there is only one.",
        "memory": "The question was not searched for.",
        **dict.fromkeys(
            ("expand", "hyde", "raptor", "rerank", "graph"), "What the question names was found by its number."
        ),
        "multi_hop": "The first hop found nothing.",
    }.get(name, "The run was over before it.")
