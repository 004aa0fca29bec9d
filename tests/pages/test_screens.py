"""The screens, run without a browser: what they ask of the workbench and what they show of its answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.workbench import StoragePart, Workbench
from tests.pages.visits import COLLECTION, pdf, screen, wait_until_read

QUESTION = "How often was the tide measured?"


def wait_for(workbench: Workbench, run: str) -> None:
    until = time.monotonic() + 60
    while workbench.run(run) is None or workbench.run(run).status == "running":
        assert time.monotonic() < until
        time.sleep(0.02)


def one(app: AppTest, name: str) -> str:
    """A value of the address; AppTest gives it bare or in a list."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def way_to(app: AppTest, title: str) -> str:
    """The query of a page's link in the menu."""
    return next(link.proto.query_string for link in app.get("page_link") if link.proto.label == title)


def texts(app: AppTest) -> str:
    return " ".join(element.value for element in (*app.text, *app.warning, *app.caption, *app.error))


def test_without_a_workbench_each_page_says_one_sentence() -> None:
    for page in ("", "documents", "compare", "settings"):
        app = screen(page)
        assert not app.exception
        assert "starting" in texts(app)


def test_a_question_starts_a_run_and_stands_in_the_address(shown: Workbench) -> None:
    app = screen()
    app.chat_input[0].set_value(QUESTION).run()
    assert not app.exception
    run, chat = one(app, "run"), one(app, "chat")
    wait_for(shown, run)
    assert [one.question for one in shown.chat(chat)] == [QUESTION]
    app.chat_input[0].set_value("And who read it back?").run()
    assert one(app, "chat") == chat
    wait_for(shown, one(app, "run"))
    assert len(shown.chat(chat)) == 2


def test_a_question_that_cannot_be_asked_says_why_and_starts_nothing(shown: Workbench) -> None:
    app = screen()
    app.chat_input[0].set_value("x" * 10_000).run()
    assert not app.exception
    assert "4,000" in texts(app) or "4000" in texts(app)
    assert "run" not in app.query_params


def test_a_switched_off_technique_is_not_in_the_plan_of_the_run(shown: Workbench) -> None:
    app = screen()
    app.session_state["plan"] = app.session_state["plan"].off("validate")
    app.chat_input[0].set_value(QUESTION).run()
    run = one(app, "run")
    wait_for(shown, run)
    assert "validate" not in shown.run(run).plan["techniques"]


def test_a_question_can_be_limited_to_documents(shown: Workbench) -> None:
    app = screen()
    app.multiselect(key="documents").set_value(["tide.pdf"]).run()
    app.chat_input[0].set_value(QUESTION).run()
    run = one(app, "run")
    wait_for(shown, run)
    assert shown.run(run).documents == ("tide.pdf",)


def test_the_router_has_the_choice_unless_documents_are_chosen(
    shown: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(shown, "start", lambda question, *, collection, **others: asked.append(collection) or "r")
    app = screen()
    app.session_state["plan"] = app.session_state["plan"].on("route")
    app.chat_input[0].set_value(QUESTION).run()
    app.multiselect(key="documents").set_value(["tide.pdf"]).run()
    app.chat_input[0].set_value(QUESTION).run()
    assert not app.exception
    assert asked == [None, COLLECTION]


def test_a_picture_reaches_the_run_and_is_gone_after_it(shown: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Path] = []

    def start(question: str, *, picture: Path, **others: Any) -> str:
        assert picture.read_bytes() == b"pixels"
        given.append(picture)
        return "r"

    monkeypatch.setattr(shown, "start", start)
    app = screen()
    app.chat_input[0].set_value(QUESTION).upload("../a chart.PNG", b"pixels", "image/png").run()
    assert not app.exception
    assert given[0].suffix == ".png"
    assert not given[0].exists()


def test_new_chat_begins_with_an_empty_address(shown: Workbench) -> None:
    app = screen()
    app.chat_input[0].set_value(QUESTION).run()
    wait_for(shown, one(app, "run"))
    next(button for button in app.button if button.label == "New chat").click().run()
    assert not app.query_params


def test_from_another_page_ask_leads_back_to_its_chat_but_not_from_another_collection(shown: Workbench) -> None:
    shown.create_collection("Elsewhere")
    app = screen()
    app.chat_input[0].set_value(QUESTION).run()
    wait_for(shown, one(app, "run"))
    chat = one(app, "chat")
    app = app.switch_page("settings.py").run()
    assert f"chat={chat}" in way_to(app, "Ask")
    app.selectbox(key="collection").set_value("Elsewhere").run()
    assert not way_to(app, "Ask")


def test_an_upload_is_kept_and_the_uploader_is_emptied(shown: Workbench) -> None:
    shown.create_collection("Uploads")
    app = screen()
    app.selectbox(key="collection").set_value("Uploads").run()
    app = app.switch_page("documents.py").run()
    app.file_uploader[0].set_value([("ships.pdf", pdf("Forty ships came in."), "application/pdf")]).run()
    assert not app.exception
    assert [record.name for record in shown.documents("Uploads")] == ["ships.pdf"]
    assert not app.file_uploader[0].value
    wait_until_read(shown, "Uploads")
    app.file_uploader[0].set_value([("ships.pdf", pdf("Forty ships came in."), "application/pdf")]).run()
    assert len(shown.documents("Uploads")) == 1


def test_a_new_collection_is_made_and_chosen(shown: Workbench) -> None:
    app = screen("documents")
    app.button(key="new-collection").click().run()
    app.text_input[0].set_value("Letters")
    next(button for button in app.button if button.label == "Create").click().run()
    assert not app.exception
    assert "Letters" in [info.name for info in shown.collections()]
    assert app.selectbox(key="collection").value == "Letters"


def test_an_opened_document_shows_what_there_is_of_it(shown: Workbench) -> None:
    app = screen()
    app.selectbox(key="collection").set_value(COLLECTION).run()
    app.query_params["document"] = shown.documents(COLLECTION)[0].id
    app = app.switch_page("documents.py").run()
    assert not app.exception
    assert "tide.pdf" in texts(app)
    assert "Chunks" in app.segmented_control(key="view").options[-1]


def test_settings_say_what_each_part_takes_on_the_disk(shown: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [StoragePart(part="Index", what="<i>", bytes=2_500_000), StoragePart(part="Graph", what="", bytes=0)]
    monkeypatch.setattr(shown.storage, "parts", lambda: parts)
    app = screen("settings")
    assert not app.exception
    lists = " ".join(html.proto.body for html in app.get("html"))
    assert '<b>Index</b><small>&lt;i&gt;</small></div><span class="num">2.5 MB</span>' in lists
    assert '<b>Graph</b><small></small></div><span class="num">–</span>' in lists
    monkeypatch.setattr(shown.storage, "parts", lambda: None)
    assert "being counted" in texts(screen("settings"))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "not an address", "file:///etc/passwd"])
def test_the_test_of_an_endpoint_that_is_down_says_so(shown: Workbench, address: str) -> None:
    app = screen("settings")
    app.segmented_control(key="kind").set_value("openai").run()
    app.text_input(key="base_url").set_value(address)
    app.text_input(key="model").set_value("any").run()
    next(button for button in app.button if button.label == "Test").click().run()
    assert not app.exception
    assert "○" in texts(app)


def test_a_model_that_is_used_becomes_the_engine_and_can_be_left_again(shown: Workbench) -> None:
    app = screen("settings")
    app.segmented_control(key="kind").set_value("ollama").run()
    app.text_input(key="model").set_value("small").run()
    next(button for button in app.button if button.label == "Use it").click().run()
    assert shown.connection().model == "small"
    assert app.selectbox(key="engine").value == "model"
    app.segmented_control(key="kind").set_value("keyless").run()
    next(button for button in app.button if button.label == "Use it").click().run()
    assert shown.connection() is None
    assert app.selectbox(key="engine").value == "keyless"
