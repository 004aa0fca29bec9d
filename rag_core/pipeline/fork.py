"""Forks: a run gone on with from one of its steps, with something edited, as a run of its own.

A branch takes over what had happened until its step and does the rest anew. What the user says in it (a query, a chunk
dropped or pinned, a verdict) stands in its state and comes before what its steps find and judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from rag_core.errors import ForkError
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.pipeline.plan import Plan, plan_from_json
from rag_core.pipeline.points import Beginning, Point
from rag_core.pipeline.run import Branch, Run
from rag_core.pipeline.runner import planned
from rag_core.pipeline.state import RunState, next_step
from rag_core.techniques.crag import Verdict
from rag_core.types import Hit, Sentence, Value

SEARCHING = ("agent", "retrieve", "sub_queries", "self_rag", "heal")
"""The steps that search; `sub_queries` for several things at once."""
MOST_QUERIES = 8
LONGEST = 2_000
"""Characters of a query; a draft may have ten times as many."""
_CHOOSING = ("auto", "route")
"""What these steps chose stays in every branch, also in one that leaves before them."""
_HELD = 0.5
"""Of a new sentence's words, the share that a chunk has to hold to be cited for it."""

Query = Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=r"\S")]


class _Edit(Value):
    """One thing that is otherwise in a branch."""

    ends: ClassVar[bool] = False
    """Whether it makes a difference where no step follows."""

    def leaves(self, points: Sequence[Point]) -> int:
        """Where the branch leaves when no step is named: before the first step that it matters to."""
        return 0

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        """The state that the branch begins with.

        Args:
            done: The names of the steps before, in order.

        Raises:
            ForkError: It cannot be done there.
        """
        return point.state

    def said(self, state: RunState) -> str:
        """What was edited, in words."""
        return "nothing changed"


class Again(_Edit):
    """Nothing is edited: the rest is done once more."""

    kind: Literal["again"] = "again"


class Queries(_Edit):
    """What a step searches for: one query or, for sub-questions, all of them; the question, where it is rewritten."""

    kind: Literal["queries"] = "queries"
    queries: tuple[Query, ...] = Field(min_length=1, max_length=MOST_QUERIES)

    def leaves(self, points: Sequence[Point]) -> int:
        return _first(points, lambda point: point.step in SEARCHING, "No step of this run searches for anything.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        if point.step not in (*SEARCHING, "rewrite"):
            raise ForkError(f"{_named(point.step)} searches for nothing: choose a step that does.")
        if len(self.queries) > 1 and point.step != "sub_queries":
            raise ForkError(f"{_named(point.step)} searches for one thing: give one query.")
        queries = tuple(query.strip() for query in self.queries)
        if point.step == "rewrite":
            return point.state.model_copy(update={"question": queries[0], "rewrites": False})
        return _telling(point.state, queries=queries)

    def said(self, state: RunState) -> str:
        return f"searched for {', '.join(f'“{query.strip()}”' for query in self.queries)}"


class Drop(_Edit):
    """A chunk is no evidence, and is not found again."""

    kind: Literal["drop"] = "drop"
    chunk: str

    def leaves(self, points: Sequence[Point]) -> int:
        return _first_judging(points, self.chunk)

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        told = point.state.told
        pinned = tuple(hit for hit in told.pinned if hit.chunk.id != self.chunk)
        return _telling(point.state, dropped=(*told.dropped, self.chunk), pinned=pinned).as_told()

    def said(self, state: RunState) -> str:
        return f"dropped {_place(self.chunk, state)}"


class Pin(_Edit):
    """A chunk stays evidence, before all else and whole, whatever ranks or judges it."""

    kind: Literal["pin"] = "pin"
    chunk: str

    def leaves(self, points: Sequence[Point]) -> int:
        return _first_judging(points, self.chunk)

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        state = point.state
        hit = _hit(self.chunk, state)
        if hit is None:
            raise ForkError("That chunk was not found by then: choose a later step, or edit a query to find it.")
        best = max(one.score for one in state.hits) if state.hits else hit.score
        pinned = hit.model_copy(update={"score": max(best, hit.score)})
        told = state.told
        return _telling(
            state,
            pinned=(*(one for one in told.pinned if one.chunk.id != self.chunk), pinned),
            dropped=tuple(chunk for chunk in told.dropped if chunk != self.chunk),
        ).as_told()

    def said(self, state: RunState) -> str:
        return f"pinned {_place(self.chunk, state)}"


class Relevance(_Edit):
    """A chunk helps with the question or does not, whatever correction or reflection found."""

    kind: Literal["relevance"] = "relevance"
    chunk: str
    relevant: bool

    def leaves(self, points: Sequence[Point]) -> int:
        return _first_step(points, ("crag", "self_rag"), "No step of this run judged whether chunks are relevant.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        if point.step not in ("crag", "self_rag"):
            raise ForkError(f"{_named(point.step)} does not judge chunks: choose 'crag' or 'self_rag'.")
        return _telling(point.state, relevant={**point.state.told.relevant, self.chunk: self.relevant})

    def said(self, state: RunState) -> str:
        return f"called {_place(self.chunk, state)} {'relevant' if self.relevant else 'not relevant'}"


class Retrieved(_Edit):
    """What was retrieved is good enough, in part or not, whatever correction found."""

    kind: Literal["retrieved"] = "retrieved"
    verdict: Verdict

    def leaves(self, points: Sequence[Point]) -> int:
        return _first_step(points, ("crag",), "No step of this run judged all of the evidence.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        if point.step != "crag":
            raise ForkError(f"{_named(point.step)} does not judge all of the evidence: choose 'crag'.")
        return _telling(point.state, verdict=self.verdict)

    def said(self, state: RunState) -> str:
        return f"called the evidence {self.verdict}"


class Search(_Edit):
    """The documents are searched, whatever the gate says."""

    kind: Literal["search"] = "search"

    def leaves(self, points: Sequence[Point]) -> int:
        return _first_step(points, ("gate",), "No gate stood before this run's search.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        if point.step != "gate":
            raise ForkError(f"{_named(point.step)} is no gate: leave this run at one.")
        return point.state.model_copy(update={"gates": False})

    def said(self, state: RunState) -> str:
        return "searched the documents all the same"


class Quality(_Edit):
    """The answer is as good as the user says, whatever its check found."""

    kind: Literal["quality"] = "quality"
    quality: float = Field(ge=0, le=1)
    ends: ClassVar[bool] = True

    def leaves(self, points: Sequence[Point]) -> int:
        return _first(points, lambda point: point.state.quality is not None, "The answer of this run was not checked.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        state = point.state
        if state.quality is None or not state.versions:
            raise ForkError("The answer was not checked by then: choose a later step.")
        # All that was tried is as good as this: the next attempt has to be better.
        versions = tuple(version.model_copy(update={"quality": self.quality}) for version in state.versions)
        return state.model_copy(update={"quality": self.quality, "versions": versions})

    def said(self, state: RunState) -> str:
        return f"put the self-check at {self.quality:.2f}"


class Draft(_Edit):
    """The answer as the user wrote it; what checks and heals answers takes it from there."""

    kind: Literal["draft"] = "draft"
    text: str = Field(min_length=1, max_length=10 * LONGEST, pattern=r"\S")
    ends: ClassVar[bool] = True

    def leaves(self, points: Sequence[Point]) -> int:
        return _first(points, lambda point: point.state.answered, "This run came to no answer that could be edited.")

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        state = point.state
        if not state.answered:
            raise ForkError("There was no draft by then: choose a later step.")
        unchecked = {"quality": None, "issues": (), "versions": (), "revisions": (), "judged": False}
        written = _written(self.text, state)
        return state.model_copy(
            update={**unchecked, "sentences": written, "found": True, "confidence": None, "origin": ""}
        )

    def said(self, state: RunState) -> str:
        return "edited the draft"


class OtherPlan(_Edit):
    """Another plan from here on; what is done already is not done again."""

    kind: Literal["plan"] = "plan"
    plan: dict[str, Any]

    def made(self) -> Plan:
        """The plan.

        Raises:
            PlanError: It is none.
        """
        return plan_from_json(self.plan)

    def applied(self, point: Point, done: Sequence[str]) -> RunState:
        state = point.state
        fields = planned(self.made())
        began = state.current_hop > 0 or state.answered
        for step, field in (("rewrite", "rewrites"), ("gate", "gates"), ("scan", "scans")):
            fields[field] = fields[field] and not began and step not in done
        fields["corrects"] = fields["corrects"] and "crag" not in done
        return state.model_copy(update=fields)

    def said(self, state: RunState) -> str:
        return f"went on with the plan {self.made().name!r}"


Edit = Annotated[
    Again | Queries | Drop | Pin | Relevance | Retrieved | Search | Quality | Draft | OtherPlan,
    Field(discriminator="kind"),
]
_EDITS: TypeAdapter[Edit] = TypeAdapter(Edit)


class Fork(NamedTuple):
    """A branch that is ready to be run."""

    beginning: Beginning
    branch: Branch
    plan: Plan


class Offer(Value):
    """What can be edited before one of a run's steps."""

    n: int
    step: str | None
    span_id: int
    edits: tuple[dict[str, Any], ...] = Field(
        description="As `edit_from` takes them, with what the run itself did; the first is the likeliest."
    )


def offers(run: Run, points: Sequence[Point]) -> list[Offer]:
    """What can be edited before each step of a run, beside its chunks: those can be dropped and pinned anywhere."""
    following = [point.state for point in points[1:]]
    return [
        Offer(n=point.n, step=point.step, span_id=point.span_id, edits=tuple(_edits(run, point, after)))
        for point, after in zip(points, [*following, points[-1].state] if points else [], strict=True)
    ]


def _edits(run: Run, point: Point, after: RunState) -> Iterator[dict[str, Any]]:
    """What can be edited at a point of a run; `after` is the state that its step gave."""
    state = point.state
    if point.step == "rewrite":
        yield {"kind": "queries", "queries": [after.question]}
    elif point.step == "gate":
        yield {"kind": "search"}
    queries = [*after.queries_tried[len(state.queries_tried) :]]
    if queries or point.step in ("agent", "retrieve", "sub_queries", "heal"):
        yield {"kind": "queries", "queries": queries[:MOST_QUERIES] or [state.question]}
    if point.step == "crag":
        found = (span.attributes.get("verdict") for span in run.spans if span.span_id == point.span_id)
        yield {"kind": "retrieved", "verdict": next(found, "correct")}
    if state.answered:
        yield {"kind": "draft", "text": " ".join(sentence.text for sentence in state.sentences)}
    if state.quality is not None and state.versions:
        yield {"kind": "quality", "quality": round(state.quality, 2)}
    yield {"kind": "plan"}
    if point.step:
        yield {"kind": "again"}


def edit_from(data: Any) -> Edit:
    """An edit out of JSON: `{"kind": "drop", "chunk": id}` and so on, one kind for each class here.

    Raises:
        ForkError: It is not of that form.
    """
    try:
        return _EDITS.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"][1:])) or "kind"
        raise ForkError(f"That cannot be edited so: {field}: {first['msg'].lower()}.") from error


def fork(run: Run, points: Sequence[Point], edit: Edit, step: int | None = None) -> Fork:
    """Make the branch of a run that leaves before one of its steps with an edit.

    Args:
        points: All of the run's.
        step: The point to leave from; the first that the edit matters to, when not given.

    Raises:
        ForkError: The run was kept without its steps, there is no such step, or the edit cannot be made there.
        PlanError: The edit is another plan, and it is none.
    """
    if not points:
        raise ForkError("This run was kept without its steps: ask its question again, and branch from that.")
    at = edit.leaves(points) if step is None else step
    if not 0 <= at < len(points):
        raise ForkError(f"This run has no step {at}: choose one from 0 to {len(points) - 1}.")
    point = points[at]
    before = [one.step for one in points[:at] if one.step]
    state = edit.applied(point, before).model_copy(update={"error": None})
    if next_step(state) is None and not edit.ends:
        raise ForkError("Nothing comes after that step: branch from an earlier one.")
    branch = Branch(
        parent=run.id,
        step=at,
        at=point.step,
        span=point.span_id,
        edited=edit.said(point.state),
        edit=edit.model_dump(mode="json"),
    )
    beginning = Beginning(
        state=state,
        points=tuple(points[:at]),
        spans=tuple(span for span in run.spans if span.span_id < point.span_id or span.name in _CHOOSING),
        prompts=tuple(prompt for prompt in run.prompts if prompt.span_id < point.span_id),
    )
    return Fork(beginning, branch, edit.made() if isinstance(edit, OtherPlan) else plan_from_json(run.plan))


def _telling(state: RunState, **said: Any) -> RunState:
    return state.model_copy(update={"told": state.told.model_copy(update=said)})


def _first(points: Sequence[Point], wanted: Callable[[Point], bool], otherwise: str) -> int:
    for point in points:
        if wanted(point):
            return point.n
    raise ForkError(otherwise)


def _first_step(points: Sequence[Point], steps: Sequence[str], otherwise: str) -> int:
    return _first(points, lambda point: point.step in steps, otherwise)


def _first_judging(points: Sequence[Point], chunk: str) -> int:
    """Where the chunk is there and the evidence is about to be judged or written from, but not searched for anew."""
    return _first(
        points,
        lambda point: (
            point.step not in ("rewrite", "gate", "scan", "agent", "retrieve", "sub_queries")
            and _hit(chunk, point.state) is not None
        ),
        "That chunk is not among what this run found.",
    )


def _hit(chunk: str, state: RunState) -> Hit | None:
    kept = (*state.parts, *state.scratchpad)
    found = (*state.hits, *(hit for one in kept for hit in one.hits), *state.told.pinned)
    return next((hit for hit in found if hit.chunk.id == chunk), None)


def _place(chunk: str, state: RunState) -> str:
    """A chunk as a reader knows it."""
    hit = _hit(chunk, state)
    if hit is None:
        return "a chunk"
    return f"{hit.chunk.name} p.{hit.chunk.page}" if hit.chunk.page else hit.chunk.name


def _named(step: str | None) -> str:
    return f"The step {step!r}" if step else "The end of a run"


def _written(text: str, state: RunState) -> tuple[Sentence, ...]:
    """The sentences of an edited draft: one that stayed is as it was, one that is new is still to be checked.

    It cites the chunk that holds most of its words or, where none holds enough, what the sentence in its place cited.
    """
    before = state.sentences
    after = list(sentences(text)) or [text.strip()]
    written: list[Sentence] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, [one.text for one in before], after, False).get_opcodes():
        if kind == "equal":
            written += before[i1:i2]
            continue
        for at, new in enumerate(after[j1:j2]):
            replaced = before[i1 + at].citations if i1 + at < i2 else ()
            written.append(Sentence(text=new, citations=_holding(new, state.evidence) or replaced))
    return tuple(written)


def _holding(sentence: str, evidence: Sequence[Hit]) -> tuple[str, ...]:
    asked = set(stems(sentence))
    shares = [(len(asked.intersection(stems(hit.chunk.searchable_text))) / (len(asked) or 1), hit) for hit in evidence]
    share, best = max(shares, key=lambda one: one[0], default=(0.0, None))
    return (best.chunk.id,) if best and share >= _HELD else ()
