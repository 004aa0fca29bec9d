"""The workbench sends what it stores, where it is told to."""

from __future__ import annotations

import json
from pathlib import Path

from rag_core.settings import Settings
from rag_core.workbench import Workbench
from tests.otlp import receiver


def test_a_finished_run_is_sent_and_the_health_of_the_parts_says_where(tmp_path: Path) -> None:
    passages = tmp_path / "passages.jsonl"
    passages.write_text(json.dumps({"id": "1", "title": "Foxes", "text": "The fox is red."}))
    with receiver() as collector:
        with Workbench.open(Settings(data_dir=tmp_path / "data", otlp_endpoint=collector.endpoint)) as workbench:
            workbench.ingest(passages)
            run = workbench.ask("What colour is the fox?")
            (health,) = [part for part in workbench.health() if part.part == "Telemetry"]
        assert {span["trace"] for span in collector.spans} == {run.id}
    assert health.summary == f"Runs are sent to {collector.endpoint}, without texts."
    (retrieve,) = [span for span in collector.spans if span["name"] == "retrieve"]
    assert retrieve["retrieval.documents.0.document.id"] == run.evidence[0].chunk.id
    assert "fox" not in str(collector.spans)
