"""Telemetry: finished runs go to an OpenTelemetry collector, behind their backs.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the packages are an extra. A run is only put in a line, a thread sends
it. Where the collector does not answer, the oldest in the line are let go: no run waits and none fails, and the health
of the parts says what is wrong.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rag_core.pipeline.openinference import SpanData, spans_of
from rag_core.pipeline.run import Run
from rag_core.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

log = logging.getLogger(__name__)

MOST_WAITING = 100
_INSTALL = (
    "Runs cannot be sent to OTEL_EXPORTER_OTLP_ENDPOINT: install opentelemetry-sdk and "
    "opentelemetry-exporter-otlp-proto-http with pip and start again, or unset it."
)

Export = Callable[[list[SpanData]], str]
"""Sends spans; says what is wrong and what to do where they did not arrive, else nothing."""


class Telemetry:
    """Sends finished runs to a collector. Safe for threads."""

    def __init__(self, endpoint: str, *, texts: bool) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.texts = texts
        self.sent = 0
        self.lost = 0
        self.trouble = ""
        """What is wrong and what to do; empty while runs arrive."""
        self._waiting: deque[Run] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True, name="telemetry")
        self._thread.start()

    @classmethod
    def from_settings(cls, settings: Settings) -> Telemetry | None:
        """What the settings ask for; None where that is nothing."""
        return cls(settings.otlp_endpoint, texts=settings.otlp_texts) if settings.otlp_endpoint else None

    def send(self, run: Run) -> None:
        """Have a run sent. Returns at once, whatever the collector does."""
        with self._changed:
            if self._closed:
                return
            if len(self._waiting) == MOST_WAITING:
                self._waiting.popleft()
                self.lost += 1
            self._waiting.append(run)
            self._changed.notify()

    def close(self, timeout_s: float = 2) -> None:
        """Take no more, and send what waits as far as that goes in this time."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        try:
            export = _exporter(self.endpoint)
        except ImportError:
            self._tell(_INSTALL)
            with self._changed:
                self._closed = True
            return
        while (run := self._next()) is not None:
            try:
                trouble = export(spans_of(run, texts=self.texts))
            except Exception as error:  # whatever one record or a vendor's exporter raises, the next run is sent
                trouble = f"A run could not be sent to {self.endpoint} ({type(error).__name__}: {error})."
            with self._changed:
                self.lost, self.sent = self.lost + bool(trouble), self.sent + (not trouble)
            self._tell(trouble)

    def _next(self) -> Run | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return self._waiting.popleft() if self._waiting else None

    def _tell(self, trouble: str) -> None:
        if trouble and not self.trouble:  # once, until it is over
            log.warning(trouble)
        self.trouble = trouble


def _exporter(endpoint: str) -> Export:
    """What sends spans to an endpoint; OpenTelemetry's own variables set headers, certificates and timeouts.

    Raises:
        ImportError: The extra packages are not installed.
    """
    # An extra, and a third of a second of imports.
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExportResult

    # It tells each failure there; it is told once, and by the health of the parts.
    logging.getLogger(OTLPSpanExporter.__module__).setLevel(logging.CRITICAL)
    answered: list[int] = []
    session = requests.Session()
    session.hooks["response"].append(lambda response, **_: answered.append(response.status_code))
    exporter = OTLPSpanExporter(f"{endpoint}/v1/traces", session=session)
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "ragscope")})

    def export(spans: list[SpanData]) -> str:
        answered.clear()
        if exporter.export([_readable(span, resource) for span in spans]) is SpanExportResult.SUCCESS:
            return ""
        if not answered:
            return f"Nothing answers at {endpoint}: start the collector there, or unset OTEL_EXPORTER_OTLP_ENDPOINT."
        return (
            f"{endpoint} refused a run with status {answered[-1]}: it must take OTLP over HTTP; keys go in "
            "OTEL_EXPORTER_OTLP_HEADERS."
        )

    return export


def _readable(span: SpanData, resource: Any) -> ReadableSpan:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

    def context(span_id: int) -> SpanContext:
        return SpanContext(span.trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    failed = span.exception is not None
    return ReadableSpan(
        name=span.name,
        context=context(span.span_id),
        parent=None if span.parent_id is None else context(span.parent_id),
        resource=resource,
        attributes=span.attributes,
        events=[Event("exception", span.exception, span.end_ns)] if failed else (),
        status=Status(StatusCode.ERROR) if failed else Status(StatusCode.OK),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope("ragscope"),
    )
