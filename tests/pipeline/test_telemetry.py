"""Runs on their way to a collector: over real HTTP on loopback, and to a real collector where one is installed."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rag_core.pipeline.run import Run
from rag_core.pipeline.telemetry import MOST_WAITING, Telemetry
from rag_core.settings import Settings
from tests.otlp import a_run, an_event, receiver

COLLECTOR = os.environ.get("RAGSCOPE_OTELCOL") or shutil.which("otelcol-contrib")


def waited(telemetry: Telemetry, done: int, seconds: float = 60) -> None:
    """Wait until so many runs were sent or lost."""
    end = time.monotonic() + seconds
    while telemetry.sent + telemetry.lost < done:
        assert time.monotonic() < end, f"{telemetry.sent} sent, {telemetry.lost} lost"
        time.sleep(0.01)


def test_a_run_arrives_with_its_id_and_all_its_spans() -> None:
    run = a_run(final_answer="This.")
    with receiver() as collector:
        telemetry = Telemetry(f"{collector.endpoint}/", texts=True)
        telemetry.send(run)
        telemetry.close(timeout_s=10)
    (span,) = collector.spans
    assert (span["trace"], span["name"], span["output.value"]) == (run.id, "run", "This.")
    assert (telemetry.sent, telemetry.lost, telemetry.trouble) == (1, 0, "")


def test_a_collector_that_is_down_is_said_once_and_costs_a_run_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with receiver() as collector:
        collector.status = 401
        telemetry = Telemetry(collector.endpoint, texts=False)
        for _ in range(3):
            telemetry.send(a_run())
        waited(telemetry, 3)
        assert "status 401" in telemetry.trouble
        collector.status = 200
        telemetry.send(a_run())
        waited(telemetry, 4)
        assert (telemetry.sent, telemetry.lost, telemetry.trouble) == (1, 3, "")
        telemetry.close()
    assert [record.levelno for record in caplog.records if "401" in record.message] == [logging.WARNING]


def test_where_nothing_answers_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    telemetry = Telemetry("http://127.0.0.1:9", texts=False)
    telemetry.send(a_run())
    waited(telemetry, 1)
    assert telemetry.trouble.startswith("Nothing answers at http://127.0.0.1:9: start the collector")


def test_the_line_before_a_silent_collector_is_bounded_and_nobody_waits() -> None:
    with receiver() as collector:
        collector.silent.set()
        telemetry = Telemetry(collector.endpoint, texts=False)
        began = time.monotonic()
        for _ in range(MOST_WAITING + 6):
            telemetry.send(a_run())
        telemetry.close(timeout_s=0.1)
        assert time.monotonic() - began < 8
        assert telemetry.lost >= 5, "one may be on its way"


def test_a_run_that_cannot_be_told_does_not_end_the_sending() -> None:
    with receiver() as collector:
        telemetry = Telemetry(collector.endpoint, texts=False)
        telemetry.send(a_run(id="no uuid"))
        telemetry.send(a_run())
        telemetry.close(timeout_s=10)
    assert (telemetry.lost, telemetry.sent) == (1, 1)


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    telemetry = Telemetry("http://127.0.0.1:9", texts=False)
    telemetry.send(a_run())
    telemetry.close()
    assert "install opentelemetry-sdk" in telemetry.trouble
    telemetry.send(a_run())
    assert telemetry.sent == 0


def test_nothing_is_sent_unless_an_endpoint_is_set() -> None:
    assert Telemetry.from_settings(Settings.from_env({})) is None


def collected(runs: list[Run], folder: Path) -> list[dict]:
    """What a real collector wrote of these runs: its spans."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    out, config = folder / "traces.json", folder / "collector.yaml"
    config.write_text(
        f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: "{address}"}}}}}}}}
exporters: {{file: {{path: "{out}"}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [file]}}}}
"""
    )
    collector = subprocess.Popen([str(COLLECTOR), "--config", f"file:{config}"], stderr=subprocess.DEVNULL)
    try:
        telemetry = Telemetry(f"http://{address}", texts=True)
        for run in runs:
            telemetry.send(run)
        telemetry.close(timeout_s=20)
    finally:
        collector.terminate()
        collector.wait(20)
    requests = [json.loads(line) for line in out.read_text().splitlines()]
    scopes = [scope for one in requests for resource in one["resourceSpans"] for scope in resource["scopeSpans"]]
    return [span for scope in scopes for span in scope["spans"]]


@pytest.mark.skipif(COLLECTOR is None, reason="there is no otelcol-contrib on the PATH or in RAGSCOPE_OTELCOL")
def test_a_real_collector_takes_whole_and_failed_runs(tmp_path: Path) -> None:
    found = {"query": "fox", "chunks": ["a", "b"], "scores": [0.9, 0.1]}
    down = {"error": "Weaviate does not answer.", "error_type": "StoreError"}
    runs = [
        a_run(an_event(0, "retrieve", attributes=found), an_event(1, "rerank", 0), an_event(2, "validate")),
        a_run(an_event(0, "retrieve", **down), status="failed", error=down["error"]),
    ]
    spans = collected(runs, tmp_path)
    assert {span["traceId"] for span in spans} == {run.id for run in runs}
    assert len(spans) == sum(len(run.spans) + 1 for run in runs)
    ids = {span["spanId"] for span in spans}
    assert all(span["parentSpanId"] in ids for span in spans if span["name"] != "run")
    kinds = {one["value"]["stringValue"] for span in spans for one in span["attributes"] if one["key"].endswith("kind")}
    assert kinds == {"CHAIN", "RETRIEVER", "RERANKER", "EVALUATOR"}
    assert {event["name"] for span in spans for event in span.get("events", ())} == {"exception"}
