"""Settings of prompts and models: refused with the placeholders that are right, saved, told apart from the default."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.llm.connections import ModelConnection
from rag_core.workbench import Workbench
from tests.pages.visits import screen

HYDE = "hyde.hypothetical"


@pytest.fixture
def overriding(shown: Workbench) -> Iterator[Workbench]:
    yield shown
    shown.override({})


def prompts_of(technique: str) -> AppTest:
    app = screen("settings")
    app.segmented_control(key="settings-view").set_value("Prompts and models").run()
    return app.radio(key="prompts-of").set_value(technique).run()


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def texts(app: AppTest) -> str:
    return " ".join([*(text.value for text in app.text), *(html.proto.body for html in app.get("html"))])


def test_every_signature_has_its_editor(overriding: Workbench) -> None:
    app = prompts_of("multi_hop")
    names = [signature.name for signature in overriding.signatures() if signature.name.startswith("multi_hop.")]
    assert len(names) > 1
    for name in names:
        app.segmented_control(key="signature").set_value(name).run()
        assert not app.exception
        assert app.text_area(key=f"{name}-prompt").value


def test_a_wrong_placeholder_is_refused_with_the_right_ones(overriding: Workbench) -> None:
    app = prompts_of("hyde")
    app.text_area(key=f"{HYDE}-prompt").set_value("In {tongue}: {question}")
    app = press(app, "save-prompt")
    assert "{tongue}, which it cannot fill; it can fill {number}" in texts(app)
    assert app.text_area(key=f"{HYDE}-prompt").value == "In {tongue}: {question}"
    assert overriding.overrides().as_json() == {}
    app.text_area(key=f"{HYDE}-prompt").set_value(" ")
    assert "empty prompt" in texts(press(app, "save-prompt"))


def test_only_what_is_not_usual_is_kept_and_reset_takes_it_back(overriding: Workbench) -> None:
    app = prompts_of("hyde")
    usual = app.text_area(key=f"{HYDE}-prompt").value
    app.text_area(key=f"{HYDE}-prompt").set_value(usual.replace("short", "brief <b>"))
    app.number_input(key=f"{HYDE}-max_tokens").set_value(99)
    app = press(app, "save-prompt")
    assert overriding.overrides().as_json() == {HYDE: {"prompt": usual.replace("short", "brief <b>"), "max_tokens": 99}}
    assert "<del>short</del>" in texts(app)
    assert "<ins>brief &lt;b&gt;</ins>" in texts(app)
    assert "Changed: HyDE › hypothetical" in texts(app)
    app = press(app, "reset-prompt")
    assert overriding.overrides().as_json() == {}
    assert app.text_area(key=f"{HYDE}-prompt").value == usual


def test_another_model_is_kept_for_one_signature_alone(overriding: Workbench) -> None:
    here = {"kind": "ollama", "base_url": "http://127.0.0.1:11434", "model": "tiny", "api_key": "", "label": "Ollama"}
    overriding._local = (time.monotonic(), [ModelConnection.model_validate(here)])
    overriding.override({"answer.generate": {"temperature": 0.5}, HYDE: {"model": "small-one"}})
    app = prompts_of("hyde")
    assert app.selectbox(key=f"{HYDE}-model").value == "small-one"
    app.number_input(key=f"{HYDE}-temperature").set_value(0.2)
    app = press(app, "save-prompt")
    kept = {"model": "small-one", "temperature": 0.2}
    assert overriding.overrides().as_json() == {HYDE: kept, "answer.generate": {"temperature": 0.5}}
    app.selectbox(key=f"{HYDE}-model").set_value("tiny · Ollama")
    press(app, "save-prompt")
    assert overriding.overrides().as_json()[HYDE]["model"] == here
