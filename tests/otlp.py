"""What telemetry is tested with: runs made by hand, and a local server that takes traces as OTLP over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from rag_core.pipeline.run import Run
from rag_core.trace import TraceEvent
from tests.scripted_server import Handler, served

BEGAN = "2026-01-01T00:00:00.000+00:00"


def an_event(span_id: int, name: str, parent_id: int | None = None, **rest: Any) -> TraceEvent:
    times = {"start_s": span_id * 0.5, "duration_s": 0.25}
    return TraceEvent.model_validate(
        {"span_id": span_id, "parent_id": parent_id, "name": name, "phase": "retrieve", **times, **rest}
    )


def a_run(*spans: TraceEvent, **fields: Any) -> Run:
    known = {"plan": {"name": "fast"}, "engine": "small-model", "collection": "Papers", "status": "done"}
    asked = {"id": uuid4().hex, "chat": "c", "question": "What is secret?", "created_at": BEGAN, "seconds": 3.0}
    return Run.model_validate({**known, **asked, "spans": spans, **fields})


@dataclass
class Receiver:
    """What the tests see of it: where it is, what came, and how it answers."""

    endpoint: str
    spans: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    silent: threading.Event = field(default_factory=threading.Event)
    """Set, it takes what comes and does not answer until the block ends."""
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Serve on loopback until the block ends."""
    pytest.importorskip("opentelemetry.proto", reason="the packages for telemetry are an extra: docs/telemetry.md")
    with served(_Handler, Receiver) as state:
        try:
            yield state
        finally:
            state.over.set()


class _Handler(Handler[Receiver]):
    def post(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.state.silent.is_set():
            self.state.over.wait(30)
        found = self.path == "/v1/traces"
        if found and self.state.status == 200:
            self.state.spans += _decoded(body)
        self.send_response(self.state.status if found else 404)
        self.send_header("content-length", "0")
        self.end_headers()


def _decoded(body: bytes) -> list[dict[str, Any]]:
    """The spans of a request as `{trace, id, parent, name, start, end, failed, events, **attributes}`."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest.FromString(body)
    return [
        {
            "trace": span.trace_id.hex(),
            "id": span.span_id.hex(),
            "parent": span.parent_span_id.hex() or None,
            "name": span.name,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "failed": span.status.code == 2,
            "events": [{"name": event.name, **_values(event.attributes)} for event in span.events],
            **_values(span.attributes),
        }
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
