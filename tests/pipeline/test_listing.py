"""The list of runs: found by words, narrowed by what they were asked with, the newest first."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rag_core.pipeline.history import History
from rag_core.pipeline.listing import RunQuery
from rag_core.pipeline.run import Run


def a_run(id_: str, **fields: Any) -> Run:
    known = {"chat": "", "plan": {"name": "fast"}, "engine": "keyless", "collection": "Papers", "status": "done"}
    at = {"question": f"{id_}?", "created_at": "2026-01-01T00:00:00.000+00:00"}
    return Run.model_validate({"id": id_, **known, **at, **fields})


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path / "runs.sqlite")
    cited = [{"text": "It rose by 100%.", "support": "fully_supported"}, {"text": "So_so.", "support": "no_support"}]
    for run in (
        a_run("rise", question="How far did the TIDE rise?", final_answer="It rose by 100%.\nSo_so.", sentences=cited),
        a_run("ebb", question="When is ebb?", refused=True, engine="gpt", created_at="2026-02-01T00:00:00.000+00:00"),
        a_run("broken", status="failed", error="No model.", collection="Ships", plan={"name": "quality"}),
        a_run("river", question="Wie tief ist der FLUSS Straße?", status="stopped", created_at="2026-03-01T00:00:00"),
    ):
        history.keep(run)
    return history


def found(history: History, **query: Any) -> list[str]:
    return [run.id for run in history.find(RunQuery(**query)).runs]


def test_all_runs_come_the_newest_first_and_a_page_says_how_many_there_are(history: History) -> None:
    assert found(history) == ["river", "ebb", "broken", "rise"]
    page = history.find(RunQuery(collection="Papers"), offset=1, limit=1)
    assert ([run.id for run in page.runs], page.found, page.kept) == (["ebb"], 3, 4)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"words": "tide"}, ["rise"]),
        ({"words": "rose TIDE"}, ["rise"]),
        ({"words": "rose ebb"}, []),
        ({"words": "100%"}, ["rise"]),
        ({"words": "_so"}, ["rise"]),
        ({"words": "e_b"}, []),
        ({"words": "strasse fluss"}, ["river"]),
        ({"engine": "gpt"}, ["ebb"]),
        ({"plan": "quality"}, ["broken"]),
        ({"collection": "Ships"}, ["broken"]),
        ({"result": "refused"}, ["ebb"]),
        ({"result": "failed"}, ["broken"]),
        ({"result": "stopped"}, ["river"]),
        ({"result": "answered"}, ["rise"]),
        ({"since": "2026-02-01"}, ["river", "ebb"]),
        ({"since": "2026-02-01", "before": "2026-02-02"}, ["ebb"]),
    ],
)
def test_a_query_finds_what_it_says(history: History, query: dict[str, str], ids: list[str]) -> None:
    assert found(history, **query) == ids


def test_a_row_says_how_the_run_ended(history: History) -> None:
    rows = {run.id: run for run in history.find(RunQuery()).runs}
    assert (rows["rise"].answer, rows["rise"].supported, rows["rise"].sentences) == ("It rose by 100%.", 1, 2)
    assert rows["broken"].answer == "No model."
    assert history.choices(RunQuery()).model_dump() == {
        "plan": ("fast", "quality"),
        "engine": ("gpt", "keyless"),
        "collection": ("Papers", "Ships"),
    }


def test_a_row_follows_its_run_and_goes_with_it(history: History) -> None:
    history.keep(a_run("rise", status="stopped", final_answer="It sank."))
    assert found(history, words="sank", result="stopped") == ["rise"]
    assert found(history, words="rose") == []
    history.delete("rise")
    assert history.get("rise") is None
    assert history.find(RunQuery()).kept == 3


def test_what_a_ledger_asked_is_left_out_shown_and_counted_as_the_query_says(history: History) -> None:
    for name in ("hyde", "rerank"):
        history.keep(a_run(name, question="tide?", ledger_of="rise", plan={"name": f"fast without {name}"}))
    page = history.find(RunQuery(words="tide", ledgers="without"))
    assert ([run.id for run in page.runs], page.found, page.kept, page.ledger_runs) == (["rise"], 1, 4, 2)
    assert page.runs[0].ledger_runs == 2
    assert found(history, words="tide") == ["hyde", "rerank", "rise"]
    assert found(history, ledgers="only") == ["hyde", "rerank"]
    page = history.find(RunQuery(ledger_of="rise", plan="fast without hyde"))
    assert ([run.id for run in page.runs], page.kept) == (["hyde"], 2)
    assert history.of_ledger("rise") == ["hyde", "rerank"]
    assert history.choices(RunQuery(ledgers="without", plan="quality")).plan == ("fast", "quality")
    assert "fast without hyde" in history.choices(RunQuery()).plan


@pytest.mark.parametrize(
    "before",
    ["DROP TABLE listed", "DROP INDEX listed_by_ledger; DROP INDEX listed_by_plan; ALTER TABLE listed DROP ledger_of"],
)
def test_runs_that_were_kept_before_there_was_this_list_are_in_it(
    history: History, tmp_path: Path, before: str
) -> None:
    history.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.executescript(before)
    assert found(History(tmp_path / "runs.sqlite"), words="tide") == ["rise"]


def test_a_record_that_cannot_be_read_stops_nobody_from_starting(history: History, tmp_path: Path) -> None:
    history.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("INSERT INTO runs VALUES ('odd', '', '2026', 'Papers', 'odd?', 'done', NULL, '{}')")
    database.close()
    opened = History(tmp_path / "runs.sqlite")
    assert "odd" not in found(opened)
    assert opened.find(RunQuery()).kept == 4
    opened.close()
