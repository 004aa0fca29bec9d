"""The Compare screen without a browser: what it offers, what an address shows, and its routes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import streamlit as st
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from pages._parts.comparing import columns_of, name_in, shown_runs
from pages._server.state import use_workbench
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.trace import TraceEvent
from rag_core.workbench import Workbench
from tests.evaluation.records import a_run
from tests.pages.visits import COLLECTION, screen
from tests.workbench.waiting import finished

QUESTION = "How often was the tide measured?"


@pytest.fixture
def client(shown: Workbench) -> Iterator[TestClient]:
    from app import app

    yield TestClient(app, base_url="http://127.0.0.1")
    use_workbench(None)


def asked(workbench: Workbench, plan: Plan = PRESETS["simple"]) -> Run:
    return workbench.ask(QUESTION, plan=plan, collection=COLLECTION, engine="keyless")


def compare(**address: str) -> AppTest:
    app = screen()
    app.query_params.update(address)
    return app.switch_page("compare.py").run()


def test_a_first_visit_offers_two_plans_that_differ(shown: Workbench) -> None:
    app = screen("compare")
    assert not app.exception
    setup = app.session_state["compare"]
    assert [column["plan"] for column in setup["columns"]] == ["simple", "balanced"]
    assert all(column["engine"] == "keyless" for column in setup["columns"])


def test_the_runs_of_an_address_are_shown_as_they_were_asked(shown: Workbench) -> None:
    own = PRESETS["simple"].off("validate")
    runs = [asked(shown), asked(shown, own)]
    app = compare(runs=",".join(run.id for run in runs))
    assert not app.exception
    setup = app.session_state["compare"]
    assert setup["question"] == QUESTION
    assert [column["run"] for column in setup["columns"]] == [run.id for run in runs]
    assert setup["columns"][0]["plan"] == "simple"
    assert setup["columns"][1]["plan"].startswith("custom, run")
    assert setup["columns"][1]["collection"] == COLLECTION


def test_a_lone_run_gets_another_plan_beside_it(shown: Workbench) -> None:
    run = asked(shown)
    setup = columns_of([run], dict(PRESETS))
    assert [(column["plan"], column["run"]) for column in setup["columns"]] == [("simple", run.id), ("balanced", "")]


def test_a_follow_up_is_compared_as_it_was_made_to_stand_alone() -> None:
    span = TraceEvent(
        span_id=0, parent_id=None, name="rewrite", phase="question", start_s=0, duration_s=0,
        attributes={"query": "Who read the tide back?", "changes": ["it: the tide"]},
    )  # fmt: skip
    run = a_run("A clerk.", question="And who read it back?", spans=(span,), documents=("tide.pdf",))
    setup = columns_of([run], dict(PRESETS))
    assert setup["question"] == "Who read the tide back?"
    assert {column["documents"] for column in setup["columns"]} == {("tide.pdf",)}


def test_a_run_whose_plan_is_of_another_form_has_no_plan_to_choose() -> None:
    run = a_run("A clerk.").model_copy(update={"plan": {}})
    assert {column["plan"] for column in columns_of([run], dict(PRESETS))["columns"]} == {None, "simple"}


def test_a_run_that_is_gone_is_said_and_the_screen_stays(shown: Workbench) -> None:
    app = compare(runs="gone,away")
    assert not app.exception
    assert [column["plan"] for column in app.session_state["compare"]["columns"]] == ["simple", "balanced"]


def test_a_run_that_was_deleted_as_soon_as_it_was_over_is_not_waited_for(
    shown: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(shown, shown.start(QUESTION, collection=COLLECTION, engine="keyless"))
    shown.delete_run(run.id)
    told, looked = SimpleNamespace(), list[str]()
    monkeypatch.setattr(st, "session_state", told)
    monkeypatch.setattr(shown, "run", looked.append)
    assert shown_runs(run.id) == []
    assert looked == [run.id]
    assert "not in the history" in told.compare_problem


def test_what_paid_is_asked_at_once_without_a_model(shown: Workbench) -> None:
    run = asked(shown)
    app = compare(runs=run.id, pays=run.id)
    assert not app.exception
    making = shown.ledgers.live(run.id)
    assert making is not None
    assert making.wait(60)
    assert making.record.state == "done"
    assert app.query_params["ledger"] in (run.id, [run.id])
    assert "pays" not in app.query_params


def test_a_plan_is_known_by_what_it_does() -> None:
    assert name_in(dict(PRESETS), PRESETS["fast"].model_copy(update={"name": "custom"})) == "fast"
    assert name_in(dict(PRESETS), PRESETS["fast"].off("multi_hop")) is None


def test_the_routes_give_differences_and_a_growing_ledger(client: TestClient, shown: Workbench) -> None:
    first, second = asked(shown), asked(shown, PRESETS["balanced"])
    found = client.get(f"/v1/compare?runs={first.id},gone,{second.id}").json()
    assert [one and one["run"] for one in found] == [first.id, None, second.id]
    assert found[0]["difference"] is None
    assert found[2]["difference"]["same_answer"]
    assert found[2]["difference"]["words"][0][0] == "equal"
    assert client.get(f"/v1/runs/{first.id}/ledger").json()["runs"] > 0
    assert client.get(f"/v1/runs/{first.id}/ledger/events").status_code == 404
    assert client.get("/v1/runs/gone/ledger").status_code == 404
    shown.ledgers.make(first.id)
    told = [json.loads(line[6:]) for line in client.get(f"/v1/runs/{first.id}/ledger/events").text.splitlines() if line]
    assert told[-1]["state"] == "done"
    assert {entry["state"] for entry in told[-1]["entries"]} <= {"done", "not_run"}
