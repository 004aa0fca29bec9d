"""Runs as files: what goes out comes back, and what is no such file is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_core.pipeline.exchange import RunFileError, from_file, to_file
from rag_core.pipeline.run import Run

RECORD: dict[str, Any] = {
    "id": "a1", "chat": "c", "question": "How far? \u2028 <script>", "plan": {"name": "fast"}, "engine": "keyless",
    "collection": "Papers", "created_at": "2026-01-01T00:00:00.000+00:00", "status": "done",
    "sentences": [{"text": "Far.", "support": "fully_supported", "probability": 0.9}],
}  # fmt: skip


def test_a_run_comes_back_from_its_file_as_it_was() -> None:
    run = Run.model_validate(RECORD)
    assert from_file(to_file(run)) == run


def test_its_time_is_brought_to_the_form_that_runs_are_sorted_by() -> None:
    given = {"ragscope_run": 1, "run": {**RECORD, "created_at": "2026-01-01T02:00:00+02:00"}}
    assert from_file(json.dumps(given).encode()).created_at == "2026-01-01T00:00:00.000+00:00"


def changed(**fields: Any) -> bytes:
    return json.dumps({"ragscope_run": 1, "run": {**RECORD, **fields}}).encode()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no exported run"),
        (b"\xff\xfe{}", "no exported run"),
        (b"[" * 100_000, "no exported run"),
        (json.dumps(RECORD).encode(), "no exported run"),
        (to_file(Run.model_validate(RECORD))[:-40], "no exported run"),
        (b'{"ragscope_run": 2, "run": {"new": 1}}', "version 2"),
        (changed(sentences=[{"citations": []}]), "`run.sentences.0.text`"),
        (changed(unknown=1), "`run.unknown`"),
        (changed(question="\ud800"), "no exported run"),
        (changed(created_at="yesterday"), "no time"),
        (changed(id="../../ledger"), "`id`"),
        (changed(status="running"), "before it was over"),
        (changed(seconds=float("nan")), "a number"),
        (changed(plan={"deep": [float("inf")]}), "a number"),
        (changed(usage={"model_calls": 2**80}), "a number"),
        (changed(searches=-1), "a number"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_sentence(data: bytes, says: str) -> None:
    with pytest.raises(RunFileError) as refused:
        from_file(data)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_file_larger_than_any_run_is_not_read() -> None:
    with pytest.raises(RunFileError, match="MB"):
        from_file(b" " * 50_000_001)
