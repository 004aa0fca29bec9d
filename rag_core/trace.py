"""The trace of a run: a span per step, live as it happens and whole when it is over.

A `Tracer` belongs to one run. Spans nest by thread: a span opened inside another is its child, and work handed
to a pool names its parent. What a span keeps are counts, scores and ids; texts are kept once, in the run's state.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from pydantic import Field, JsonValue

from rag_core.types import Value

Emit = Callable[[str, dict[str, Any]], None]
"""Takes an event's kind and its JSON-ready data. Must not block."""

Phase = Literal["question", "retrieve", "sub_queries", "answer", "heal"]

_open_span: ContextVar[tuple[int | None, Phase]] = ContextVar("open_span", default=(None, "question"))


class TraceEvent(Value):
    """One finished span of a run."""

    span_id: int
    parent_id: int | None = Field(description="Enclosing span; None at the root.")
    name: str = Field(description="Stable and dotted: 'retrieve', 'llm.answer.generate'.")
    phase: Phase
    start_s: float = Field(ge=0, description="Seconds since the run began.")
    duration_s: float = Field(ge=0)
    attributes: dict[str, JsonValue] = Field(default_factory=dict, description="Counts, scores, ids; no full texts.")
    error: str | None = None
    error_type: str | None = Field(default=None, description="The exception's class, where it ended with one.")


class Span:
    """A span that is open; what is set on it is part of the event."""

    def __init__(self, span_id: int, attributes: dict[str, Any]) -> None:
        self.span_id = span_id
        self.attributes = attributes

    def set(self, **attributes: Any) -> None:
        self.attributes.update(attributes)


class Tracer:
    """Collects the spans of one run and tells `emit` when one opens, meets an exception and closes."""

    def __init__(self, emit: Emit | None = None, before: Sequence[TraceEvent] = ()) -> None:
        """Begin a trace.

        Args:
            before: The spans of the run that this one goes on from: its own come after them.
        """
        self._emit = emit or (lambda kind, data: None)
        self._lock = threading.Lock()
        self._events: list[TraceEvent] = []
        self._next = max((event.span_id + 1 for event in before), default=0)
        self._began = time.perf_counter() - max((event.start_s + event.duration_s for event in before), default=0.0)
        for event in before:
            self._keep(event)

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._began

    @property
    def next_id(self) -> int:
        """The id that the next span gets."""
        return self._next

    @property
    def events(self) -> tuple[TraceEvent, ...]:
        """The finished spans, in the order they were opened."""
        with self._lock:
            return tuple(sorted(self._events, key=lambda event: event.span_id))

    def emit(self, kind: str, **data: Any) -> None:
        """Tell the live view something that is no span: evidence found, text written."""
        self._emit(kind, data)

    @contextmanager
    def span(self, name: str, *, phase: Phase | None = None, **attributes: Any) -> Iterator[Span]:
        """Open a span; an exception closes it with its text and goes on up.

        Args:
            phase: Where it belongs on the timeline; that of the enclosing span when not given.
        """
        parent, inherited = _open_span.get()
        phase = phase or inherited
        span, start, failed = Span(self._new_id(), dict(attributes)), self.elapsed_s, {}
        token = _open_span.set((span.span_id, phase))
        opened = {"span_id": span.span_id, "parent_id": parent, "name": name, "phase": phase, "start_s": start}
        self._emit("open", opened)
        try:
            yield span
        except BaseException as raised:
            type_ = type(raised).__name__
            failed = {"error": str(raised) or type_, "error_type": type_}
            self._emit("exception", {"span_id": span.span_id, "name": name, "at_s": self.elapsed_s, **failed})
            raise
        finally:
            _open_span.reset(token)
            closed = {**opened, "duration_s": self.elapsed_s - start, "attributes": span.attributes, **failed}
            self._keep(TraceEvent.model_validate(closed))

    def past(self, name: str, seconds: float, **attributes: Any) -> int:
        """Note a span that ended just now and took `seconds`; returns its id."""
        parent, phase = _open_span.get()
        event = TraceEvent(
            span_id=self._new_id(),
            parent_id=parent,
            name=name,
            phase=phase,
            start_s=max(0.0, self.elapsed_s - seconds),
            duration_s=seconds,
            attributes=attributes,
        )
        self._keep(event)
        return event.span_id

    def _new_id(self) -> int:
        with self._lock:
            self._next += 1
            return self._next - 1

    def _keep(self, event: TraceEvent) -> None:
        with self._lock:
            self._events.append(event)
        self._emit("close", event.model_dump(mode="json"))
