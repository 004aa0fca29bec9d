"""The plan card without a browser: what it draws of each technique, and what becomes of shared and saved plans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import pytest
from pydantic import Field
from streamlit.testing.v1 import AppTest

from pages._parts.plan import drawn, setting
from pages._parts.plans import shared_plan
from rag_core.errors import PlanError
from rag_core.pipeline.plan import PRESETS, plan_from_json
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.base import TechniqueSettings
from rag_core.workbench import Workbench
from tests.pages.visits import COLLECTION, screen


class Every(TechniqueSettings):
    """A setting of each kind."""

    kind: Literal["a", "b"] = Field(default="a", description="Which.")
    on: bool = True
    timeout_s: float = Field(default=2.0, ge=0, le=30)
    share: float = Field(default=0.5, ge=0, le=1)
    most: int = Field(default=3, ge=1)
    name: str = ""


@pytest.fixture
def plans(shown: Workbench) -> Iterator[Workbench]:
    yield shown
    for name in shown.plans():
        shown.delete_plan(name)


def asking(action: str) -> AppTest:
    """The Ask page with a dialog of the plan open."""
    app = screen()
    app.session_state["asking"] = (action, ())
    return app.run()


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def test_a_setting_is_drawn_by_its_type_with_its_range_and_its_help() -> None:
    fields = {name: setting(name, info) for name, info in Every.model_fields.items()}
    assert fields["kind"] == {
        "name": "kind", "label": "kind", "help": "Which.", "kind": "choice", "choices": ("a", "b"),
    }  # fmt: skip
    assert fields["on"]["kind"] == "switch"
    assert fields["timeout_s"]["label"] == "timeout, seconds"
    number = {
        name: [fields[name][part] for part in ("least", "most", "step")] for name in ("timeout_s", "share", "most")
    }
    assert number == {"timeout_s": [0, 30, 0.5], "share": [0, 1, 0.05], "most": [1, None, 1]}
    assert fields["name"]["kind"] == "text"


@pytest.mark.parametrize("name", TECHNIQUES)
def test_what_a_technique_is_switched_on_with_is_a_plan(name: str) -> None:
    technique = drawn(TECHNIQUES[name], {})
    assert plan_from_json({"techniques": {name: technique["usual"]}}).has(name)
    assert {one["name"] for one in technique["settings"]} == technique["usual"].keys()
    json.dumps(technique)


def test_a_technique_is_switched_on_as_the_environment_has_it() -> None:
    assert drawn(TECHNIQUES["hyde"], {"num_hypotheticals": 6})["usual"]["num_hypotheticals"] == 6


def test_a_saved_plan_stands_beside_the_presets_and_is_chosen(plans: Workbench) -> None:
    app = asking("save-plan")
    app.text_input[0].set_value("  My   own ")
    app = press(app, "Save")
    assert not app.exception
    assert list(plans.plans()) == ["My own"]
    assert app.session_state["plan"].name == "My own"


def test_a_name_that_is_taken_by_a_preset_is_refused_in_the_dialog(plans: Workbench) -> None:
    app = asking("save-plan")
    app.text_input[0].set_value("Fast")
    app = press(app, "Save")
    assert "choose another name" in " ".join(text.value for text in app.text)
    assert not plans.plans()


def test_a_shared_plan_is_used_and_one_that_is_none_is_refused(plans: Workbench) -> None:
    app = asking("share-plan")
    assert json.loads(app.code[0].value) == PRESETS["simple"].as_json()
    given = PRESETS["quality"].set("hyde", num_hypotheticals=5).as_json()
    app.text_area[0].set_value('{"techniques": {"fortune": {}}}').run()
    app = press(app, "Use it")
    assert "There is no technique 'fortune'" in " ".join(text.value for text in app.text)
    app.text_area[0].set_value(json.dumps(given)).run()
    app = press(app, "Use it")
    assert not app.exception
    assert app.session_state["plan"].techniques["hyde"].model_dump()["num_hypotheticals"] == 5
    assert app.session_state["plan"].name == "custom"


@pytest.mark.parametrize("data", [b"", b"no json", b"\xff\xfe", b"[" * 90_000, b"[]", b'{"techniques": 3}'])
def test_what_is_no_plan_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(PlanError):
        shared_plan(data)


def test_a_deleted_plan_stays_on_the_card_as_an_own_one(plans: Workbench) -> None:
    plans.save_plan("Short", PRESETS["simple"].off("scan"))
    app = screen()
    app.session_state["plan"] = plans.plans()["Short"]
    app.session_state["asking"] = ("delete-plan", ())
    app = press(app.run(), "Delete")
    assert not plans.plans()
    assert app.session_state["plan"].name == "custom"
    assert not app.session_state["plan"].has("scan")


def test_a_forecast_is_of_the_runs_that_were_asked_with_a_plan(plans: Workbench) -> None:
    before = plans.forecasts("keyless")
    assert before.keys() == plans.presets().keys()
    run = plans.ask("How often was the tide measured?", plan=PRESETS["fast"], collection=COLLECTION, engine="keyless")
    told = plans.forecasts("keyless")["fast"]
    assert (told.runs, told.calls) == (before["fast"].runs + 1, 0)
    assert told.seconds is not None
    branch = plans.live(plans.fork(run.id, {"kind": "again"}))
    assert branch is not None
    assert branch.wait(60)
    assert plans.forecasts("keyless")["fast"].runs == told.runs, "a branch does a part of the work"
