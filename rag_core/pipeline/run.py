"""The record of a run: what was asked, with which plan, every step, the evidence and the answer.

It is what history keeps, what the screens draw and what the command line prints.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue

from rag_core.trace import TraceEvent
from rag_core.types import Hit, Sentence, Usage, Value

RunStatus = Literal["running", "done", "stopped", "failed"]


class TechniqueUse(Value):
    """What became of one technique in a run."""

    ran: bool
    why: str = Field(description="Why it ran, was skipped or fell back, in words.")
    seconds: float = 0


class Prompt(Value):
    """One signature asked: what went to the engine and what came back."""

    span_id: int
    signature: str
    engine: str = Field(description="'keyless' or the model's name; what really answered.")
    prompt: str = Field(description="As sent; empty for keyless.")
    reply: str
    note: str = Field(default="", description="A repair, a retry or a fall back, in words.")


class Refusal(Value):
    """'It is not in your documents', with what was looked for."""

    looked_for: tuple[str, ...] = Field(description="Words of the question that no evidence holds.")
    searched: int = Field(description="Documents that were searched.")


class Branch(Value):
    """Where a run left another one, and with what."""

    parent: str = Field(description="Id of the run that it goes on from.")
    step: int = Field(description="The point of the parent that it left from, from 0.")
    at: str | None = Field(description="The parent's step that it did anew; None at the end.")
    span: int = Field(description="Spans with smaller ids are the parent's.")
    edited: str = Field(description="What was edited, in words.")
    edit: dict[str, Any] = Field(description="The same as it was asked for.")


class Run(Value):
    """One question, answered or not."""

    id: str
    chat: str
    question: str
    plan: dict[str, Any] = Field(description="{name, techniques: {technique: settings}} of what was on.")
    engine: str
    collection: str
    documents: tuple[str, ...] = Field(default=(), description="Names, where the question was limited to some.")
    created_at: str = Field(description="ISO 8601, UTC.")
    status: RunStatus
    error: str | None = None
    note: str | None = Field(
        default=None, description="What the reader must know of the run: a fall back, a spent budget."
    )

    final_answer: str = ""
    refused: bool = False
    refusal: Refusal | None = None
    confidence: float | None = None
    quality_achieved: float | None = Field(
        default=None,
        description="The self-check: how good the run itself found its answer; None where it did not look.",
    )
    issues: tuple[str, ...] = ()
    total_hops: int = 0
    iteration_count: int = 0
    healing_attempts: int = 0
    seconds: float = 0
    searches: int = 0
    usage: Usage = Usage()

    sentences: tuple[Sentence, ...] = ()
    evidence: tuple[Hit, ...] = Field(default=(), description="The final ranked evidence, best first.")
    spans: tuple[TraceEvent, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    techniques: dict[str, TechniqueUse] = Field(default_factory=dict)
    feedback: Literal["good", "wrong"] | None = None
    branch: Branch | None = Field(
        default=None, description="None for a run of its own; else its cost is what came after it left its parent."
    )
    imported: str | None = Field(default=None, description="When it came from a file; None: asked here.")
    ledger_of: str = Field(default="", description="Id of the run whose ledger asked this; empty where none did.")


def question_alone(run: Run) -> str:
    """The question of a run; of one that went on from others in its chat, as it was made to stand alone."""
    rewritten = (span.attributes for span in run.spans if span.name == "rewrite" and span.attributes.get("changes"))
    return str(next(rewritten, {}).get("query") or run.question)


class RunEvent(Value):
    """One thing that happened in a live run. The list only grows.

    Kinds and their data:
        open      {span_id, parent_id, name, phase, start_s}
        exception {span_id, name, at_s, error, error_type}; the close of its span follows
        close     a TraceEvent
        evidence  {hits: [Hit]}           replaces what was shown
        text      {delta}                 the answer as it is written
        restart   {}                      the text so far is void: the answer begins again
        draft     {sentences: [Sentence]} the answer, cut into sentences with citations
        prompt    a Prompt
        done      {record: Run}           always the last
    """

    n: int = Field(ge=1)
    kind: str
    data: dict[str, JsonValue]
