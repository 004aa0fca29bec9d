"""The Runs page and what stands behind it: the list, the files that go out, the files that come in."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from pages._server import run_page
from pages._server.routes import routes
from pages._server.safety import safety
from rag_core.pipeline.exchange import to_file
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.workbench import Workbench
from rag_core.workbench.backup import restore
from tests.pages.visits import COLLECTION, screen

QUESTION = "How often was the tide measured?"
HOSTILE = "</script><img src=x onerror=alert(1)><!--"


@pytest.fixture
def client(shown: Workbench) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes(), middleware=safety()), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.fixture(scope="module")
def run(workbench: Workbench) -> Run:
    return workbench.ask(QUESTION, collection=COLLECTION)


def imported(app: AppTest, data: bytes) -> AppTest:
    next(button for button in app.button if button.label == "Import").click().run()
    assert not app.file_uploader[0].set_value([("run.json", data, "application/json")]).run().exception
    return app


def one(app: AppTest, name: str) -> str:
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def texts(app: AppTest) -> str:
    return " ".join(element.value for element in (*app.text, *app.caption))


def test_the_list_is_narrowed_by_its_address(client: TestClient, run: Run) -> None:
    found = client.get(
        "/v1/runs", params={"words": "TIDE measured", "collection": COLLECTION, "ledgers": "without", "limit": 1}
    ).json()
    assert [one["question"] for one in found["runs"]] == [QUESTION]
    assert COLLECTION in found["choices"]["collection"]
    assert client.get("/v1/runs", params={"words": "no such words here"}).json()["runs"] == []
    assert client.get("/v1/runs", params={"result": "splendid", "colour": "red"}).json() == {
        "error": "The list cannot be narrowed so: see colour, result."
    }


def test_an_exported_run_is_a_file_that_is_taken_in_again(client: TestClient, shown: Workbench, run: Run) -> None:
    answer = client.get(f"/v1/runs/{run.id}/export.json")
    name = f"how-often-was-the-tide-measured-{run.id[:8]}.json"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert shown.import_run(answer.content) == run
    assert client.get(f"/v1/runs/{run.id}/export.pdf").status_code == 404
    assert client.get("/v1/runs/none/export.html").status_code == 404


def test_a_run_as_a_page_holds_its_text_as_data_and_lets_nothing_else_run(client: TestClient, shown: Workbench) -> None:
    asked = shown.ask(f"How often was the tide measured? {HOSTILE}", collection=COLLECTION)
    page = client.get(f"/v1/runs/{asked.id}/export.html").text
    assert HOSTILE not in page
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)
    assert json.loads(data)["record"]["question"] == asked.question
    style = re.findall(r"<style>(.*?)</style>", page, re.S)[0]
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0]
    assert policy.startswith("default-src 'none'; img-src data:; ")
    for kind, text in (("script", script), ("style", style)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'; " in policy
    assert not re.findall(r"^(import|export) ", script, re.M)
    assert not re.findall(r'(?:src|href)="', page)


def test_the_pages_of_citations_are_in_it_whole_and_what_has_no_room_is_counted(
    shown: Workbench, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, page = run.evidence[0].chunk.document, run.evidence[0].chunk.page
    pictures, left = run_page.pictures_of(run)
    assert pictures[f"/v1/documents/{document}/pages/{page}.png"]["dpi"] == run_page.PAGE_DPI
    assert left == 0
    monkeypatch.setattr(run_page, "MOST_BYTES", 10)
    assert run_page.pictures_of(run) == ({}, len(pictures))


def test_an_imported_run_is_marked_and_stands_beside_the_others(shown: Workbench, run: Run) -> None:
    other = run.model_copy(update={"question": "Another question of the same id?"})
    app = imported(screen("runs"), to_file(other))
    kept = shown.run(one(app, "run"))
    assert kept is not None
    assert kept.imported
    assert (kept.question, kept.chat) == (other.question, "")
    assert kept.id != run.id
    assert shown.run(run.id) == run
    assert one(imported(screen("runs"), to_file(run)), "run") == run.id


def test_a_bad_file_is_refused_in_one_sentence_and_nothing_is_kept(shown: Workbench) -> None:
    kept = shown.runs().kept
    app = imported(screen("runs"), b"{}")
    assert "This is no exported run" in texts(app)
    assert "run" not in app.query_params
    assert shown.runs().kept == kept


def test_a_run_is_deleted_when_that_was_asked_and_answered(shown: Workbench) -> None:
    run = shown.ask(QUESTION, collection=COLLECTION)
    app = screen("runs")
    app.query_params["run"] = run.id
    app.session_state["asking"] = ("delete-run", (run.id,))
    app.run()
    assert QUESTION in texts(app)
    assert shown.run(run.id) is not None
    next(button for button in app.button if button.label == "Delete").click().run()
    assert not app.exception
    assert shown.run(run.id) is None
    assert "run" not in app.query_params


def test_the_address_of_an_opened_run_stays_on_its_page(shown: Workbench, run: Run) -> None:
    app = screen("runs")
    app.session_state["address"] = ({"run": run.id}, time.monotonic() + 60, "runs")
    assert one(app.run(), "run") == run.id
    app.query_params.clear()
    for page in ("documents", "runs"):
        app = app.switch_page(f"{page}.py").run()
        assert not app.exception
        assert "run" not in app.query_params


def test_a_run_under_way_is_not_deleted(shown: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    class UnderWay:
        done = False

    live: Any = lambda run_id: UnderWay()  # noqa: E731
    monkeypatch.setattr(shown._live, "get", live)
    app = screen("runs")
    app.session_state["asking"] = ("delete-run", ("r",))
    app.run()
    next(button for button in app.button if button.label == "Delete").click().run()
    assert "stop it" in texts(app)


def test_another_site_cannot_have_a_backup_made(client: TestClient) -> None:
    assert client.get("/v1/backup", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_everything_comes_back_from_one_file_and_is_indexed_anew(
    client: TestClient, shown: Workbench, tmp_path: Path, run: Run
) -> None:
    answer = client.get("/v1/backup", headers={"sec-fetch-site": "same-origin"})
    assert "attachment; filename=" in answer.headers["content-disposition"]
    assert not list(shown.settings.data_dir.glob(".backup*"))
    (tmp_path / "all.zip").write_bytes(answer.content)
    restore(tmp_path / "all.zip", tmp_path / "new")
    with Workbench.open(Settings(data_dir=tmp_path / "new")) as again:
        assert again.run(run.id) == run
        assert [one.stale for one in again.documents(COLLECTION)] == [True]
        again.serve()
        until = time.monotonic() + 60
        while any(one.stale for one in again.documents(COLLECTION)):
            assert time.monotonic() < until
            time.sleep(0.05)
        anew = again.ask(QUESTION, collection=COLLECTION)
    assert anew.final_answer == run.final_answer
    assert [one.citations for one in anew.sentences] == [one.citations for one in run.sentences]
