"""A finished run as OpenTelemetry spans, with the attribute names of OpenInference.

The trace's id is the run's, and the ids of its spans follow from it. What OpenInference has no name for is under
`ragscope.`. Texts (questions, prompts, passages, answers, names, reasons) may be left out: then counts, times, scores,
ids and kinds go out, and nothing that a person or a document said.

Source: OpenInference semantic conventions, https://github.com/Arize-ai/openinference/tree/main/spec
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Any
from uuid import UUID

from pydantic import Field

from rag_core.llm.engine import KeylessEngine
from rag_core.pipeline.run import Prompt, Run
from rag_core.trace import TraceEvent
from rag_core.types import Hit, Value

Attributes = dict[str, str | bool | int | float]

_WHOLE = -1  # the span around all others; theirs count from 0
_KINDS = {"retrieve": "RETRIEVER", "sub_query": "RETRIEVER", "rerank": "RERANKER", "validate": "EVALUATOR"}
_DOCUMENTS = {"RETRIEVER": "retrieval.documents", "RERANKER": "reranker.output_documents"}
# The last word of the attributes whose strings are ids or words of ours: they go out in any case.
_OURS = {"kind", "id", "model_name", "chunks", "figures", "engine", "status", "operation"}


class SpanData(Value):
    """A span as OpenTelemetry has it."""

    trace_id: int
    span_id: int
    parent_id: int | None = Field(description="Enclosing span; None at the root.")
    name: str
    start_ns: int = Field(description="Nanoseconds since 1970.")
    end_ns: int
    attributes: Attributes
    exception: dict[str, str] | None = Field(description="Type and message of what it ended with, where it failed.")


def spans_of(run: Run, *, texts: bool) -> list[SpanData]:
    """The spans of a run, the one around all of them first.

    Args:
        texts: Whether what people and documents said goes with them.
    """
    failed = [span for span in run.spans if span.error and span.parent_id is None]
    prompts = {prompt.span_id: prompt for prompt in run.prompts}
    evidence = {hit.chunk.id: hit for hit in run.evidence}
    whole = TraceEvent(
        span_id=_WHOLE,
        parent_id=None,
        name="run",
        phase="question",
        start_s=0,
        duration_s=run.seconds,
        error=run.error,
        error_type=failed[-1].error_type if failed else None,
    )
    told = [(whole, _of_run(run))]
    for event in run.spans:
        prompt = prompts.get(event.span_id)
        told.append((event, _of_call(event, prompt, run) if prompt else _of_step(event, evidence)))
    return [_span(run, event, attributes, texts) for event, attributes in told]


def _span(run: Run, event: TraceEvent, attributes: Mapping[str, Any], texts: bool) -> SpanData:
    began = datetime.fromisoformat(run.created_at).timestamp() + event.start_s
    parent = _WHOLE if event.parent_id is None else event.parent_id
    failed = {"exception.type": event.error_type, "exception.message": event.error if texts else None}
    return SpanData(
        trace_id=UUID(run.id).int,
        span_id=_id(run, event.span_id),
        parent_id=None if event.span_id == _WHOLE else _id(run, parent),
        name=event.name,
        start_ns=int(began * 1e9),
        end_ns=int((began + event.duration_s) * 1e9),
        attributes=_plain(attributes, texts),
        exception={name: text for name, text in failed.items() if text} if event.error else None,
    )


def _id(run: Run, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{run.id}/{number}".encode()).digest()[:8], "big")


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "openinference.span.kind": "CHAIN",
        "session.id": run.chat or None,
        "input.value": run.question,
        "output.value": run.final_answer,
        "ragscope.plan": run.plan.get("name"),
        "ragscope.engine": run.engine,
        "ragscope.collection": run.collection,
        "ragscope.status": run.status,
        "ragscope.note": run.note,
        "ragscope.refused": run.refused,
        "ragscope.confidence": run.confidence,
        "ragscope.quality": run.quality_achieved,
        "ragscope.hops": run.total_hops,
        "ragscope.iterations": run.iteration_count,
        "ragscope.healing_attempts": run.healing_attempts,
        "ragscope.searches": run.searches,
        # Not under `llm.`: who adds up the spans of a trace would count them twice.
        "ragscope.model_calls": run.usage.model_calls,
        "ragscope.tokens": run.usage.tokens,
        "ragscope.cost": run.usage.cost,
    }


def _of_call(event: TraceEvent, prompt: Prompt, run: Run) -> dict[str, Any]:
    """A signature that was asked: a model's call, also where reading had to answer in its place."""
    read = prompt.engine == KeylessEngine.name
    told = {"ragscope.engine": prompt.engine, "ragscope.note": prompt.note or None, "output.value": prompt.reply}
    if not prompt.prompt:
        return {"openinference.span.kind": "CHAIN", **told}
    tokens = [int(event.attributes.get(name) or 0) for name in ("input_tokens", "output_tokens")]  # type: ignore[arg-type]
    return {
        "openinference.span.kind": "LLM",
        "llm.model_name": run.engine if read else prompt.engine,
        "llm.token_count.prompt": tokens[0],
        "llm.token_count.completion": tokens[1],
        "llm.token_count.total": sum(tokens),
        "llm.cost.total": event.attributes.get("cost"),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": prompt.prompt,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": prompt.reply,
        "input.value": prompt.prompt,
        "ragscope.fell_back": read,
        **told,
    }


def _of_step(event: TraceEvent, evidence: Mapping[str, Hit]) -> dict[str, Any]:
    kind = _KINDS.get(event.name, "CHAIN")
    own: dict[str, Any] = dict(event.attributes)
    told = {"openinference.span.kind": kind, "input.value": own.pop("query", None)}
    if listed := _DOCUMENTS.get(kind):
        chunks, scores = own.pop("chunks", []), own.pop("scores", [])
        for at, (chunk, score) in enumerate(zip_longest(chunks, scores)):
            told |= {f"{listed}.{at}.document.id": chunk, f"{listed}.{at}.document.score": score}
            if hit := evidence.get(chunk):  # of those that did not stay, the run keeps no text
                where = {"document": hit.chunk.name, "page": hit.chunk.page}
                told[f"{listed}.{at}.document.content"] = hit.chunk.text
                told[f"{listed}.{at}.document.metadata"] = json.dumps(where, ensure_ascii=False)
    return told | {f"ragscope.{name}": value for name, value in own.items()}


def _plain(attributes: Mapping[str, Any], texts: bool) -> Attributes:
    """What OpenTelemetry can hold, and what may go out: nothing nested, words of others only with `texts`."""
    return {
        name: value if isinstance(value, str | bool | int | float) else json.dumps(value, ensure_ascii=False)
        for name, value in attributes.items()
        if value is not None and (texts or name.rpartition(".")[2] in _OURS or not _speaks(value))
    }


def _speaks(value: Any) -> bool:
    """Whether there are words in it."""
    if isinstance(value, dict):
        return True
    return isinstance(value, str) or (isinstance(value, list | tuple) and any(_speaks(one) for one in value))
