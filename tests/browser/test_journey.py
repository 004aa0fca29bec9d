"""The main job in a real browser: upload, watch, ask, see the page lit, come back."""

from __future__ import annotations

import json
import re
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, WebSocketRoute, expect

from rag_core.settings import ROOT
from tests.browser.steps import (
    COLLECTION,
    TIDE,
    Served,
    ask,
    choose,
    choose_engine,
    finished,
    go,
    have,
    judged_or,
    row,
    settled,
    upload,
    visit,
)
from tests.eval_data import eval_set
from tests.model_server import says
from tests.papers import a_pdf

QUESTION = "How often was the tide measured?"
PATIENT = "It was a patient and careful piece of work by the clerks. "
BEGINS = f"{TIDE.split('.')[0]} [1]. {PATIENT * 4}"
SLOW = says(BEGINS, pause_s=0.06)
# For who stops it: a minute, whatever else the machine does.
LONG = says(f"{TIDE.split('.')[0]} [1]. {PATIENT * 90}", pause_s=0.06)


@pytest.fixture
def tide(page: Page, tmp_path: Path) -> None:
    """A searchable document, and the Ask page."""
    have(page, a_pdf(tmp_path / "tide.pdf", TIDE, "The lighthouse keeper counted forty ships."))
    visit(page, "/")


DEMO = ("demo", "dataweave-press-release.pdf", "What did DataWeave launch?")
STARTER = ("starter", "jose.00118.pdf", "What do students learn in this course?")


@pytest.mark.parametrize(("folder", "name", "question"), [DEMO, STARTER])
def test_from_a_file_to_the_lit_page(page: Page, tmp_path: Path, folder: str, name: str, question: str) -> None:
    given = (ROOT / "data" / "demo" if folder == "demo" else eval_set("starter") / "pdfs") / name
    visit(page, "/")
    go(page, "Documents", "stFileUploaderDropzoneInput")
    document = upload(page, Path(shutil.copy(given, tmp_path)))
    expect(document.locator(".st, .chip").first).to_be_visible()
    expect(document.get_by_role("button", name="Open")).to_be_visible(timeout=90_000)  # searchable, refined or not
    go(page, "Ask", "stChatInputTextArea")
    choose_engine(page, "No model")
    answer = finished(ask(page, question))
    expect(answer.locator(".legend")).to_contain_text("supported")
    expect(page.locator(".st-key-run .ev").first).to_be_visible()
    answer.locator(".cite").first.click()
    lit = page.locator(".st-key-run .panel .page")
    expect(lit.locator("rect.lit").first).to_be_visible()
    expect(lit.locator("img")).to_have_js_property("complete", True)
    box, picture = lit.locator("rect.lit").first.bounding_box(), lit.bounding_box()
    assert box is not None
    assert picture is not None
    assert picture["x"] <= box["x"] < box["x"] + box["width"] <= picture["x"] + picture["width"] + 1
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-run .ev").first).to_be_visible()


@pytest.mark.usefixtures("tide")
def test_a_reload_in_mid_run_loses_nothing(page: Page, context: BrowserContext, app: Served) -> None:
    come_back = threading.Event()
    app.model.then = judged_or(says(BEGINS, until=come_back))
    asked = ask(page, QUESTION)
    expect(asked.locator(".text")).to_contain_text("harbour")
    expect(page.locator(".st-key-run .ev").first).to_be_visible()  # evidence shows before the text is written
    page.reload()
    settled(page)
    answer = page.locator(".st-key-chat .a")
    expect(answer).to_have_attribute("aria-busy", "true")
    expect(answer.locator(".text")).to_contain_text("harbour authority measured the tide")
    other = context.new_page()
    visit(other, page.url)
    page.close()
    come_back.set()
    done = finished(other.locator(".st-key-chat .a"))
    expect(done.locator(".text")).to_contain_text("patient and careful")
    expect(done.locator(".s-full").first).to_be_visible()
    assert other.locator(".st-key-chat .turn").count() == 1


@pytest.mark.usefixtures("tide")
def test_a_run_whose_tab_was_closed_goes_on(page: Page, context: BrowserContext, app: Served) -> None:
    closed = threading.Event()
    app.model.then = judged_or(says(BEGINS, until=closed))
    expect(ask(page, QUESTION).locator(".text")).to_contain_text("harbour")
    address = page.url
    page.close()
    closed.set()
    later = context.new_page()
    visit(later, address)
    expect(finished(later.locator(".st-key-chat .a")).locator(".text")).to_contain_text("patient and careful")


@pytest.mark.usefixtures("tide")
def test_a_run_goes_on_where_the_tabs_socket_is_cut(page: Page, app: Served) -> None:
    sockets: list[WebSocketRoute] = []

    def through(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    page.route_web_socket(re.compile("/v1/tabs/"), through)
    visit(page, "/")
    app.model.then = judged_or(SLOW)
    answer = ask(page, QUESTION)
    expect(answer.locator(".text")).to_contain_text("harbour")
    sockets[-1].close()
    text = finished(answer).locator(".text").text_content() or ""
    assert text.count("patient and careful") == 4


@pytest.mark.usefixtures("tide")
def test_a_run_is_followed_though_the_chat_loads_late(page: Page, app: Served) -> None:
    """The page draws its run before the first drawing of the empty chat has loaded."""
    waiting: list[Route] = []
    asked = threading.Event()
    page.route("**/chat.js", lambda route: route.continue_() if asked.is_set() else waiting.append(route))
    page.goto("/")
    settled(page)
    app.model.then = judged_or(says(f"{TIDE.split('.')[0]} [1]."))
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(QUESTION)
    box.press("Enter")
    expect(page).to_have_url(re.compile("run="))
    settled(page)
    assert waiting
    asked.set()
    for route in waiting:
        route.continue_()
    finished(page.locator(".st-key-chat .a"))


@pytest.mark.usefixtures("tide")
def test_stop_ends_a_run_and_keeps_what_was_written(page: Page, app: Served) -> None:
    app.model.then = judged_or(LONG)
    answer = ask(page, QUESTION)
    expect(answer.locator(".text")).to_contain_text("harbour")
    answer.get_by_role("button", name="Stop").click()
    expect(answer).to_have_class("card a stopped")
    expect(answer).to_be_focused()
    expect(answer).to_contain_text("stopped")


@pytest.mark.usefixtures("tide")
def test_a_stop_that_is_lost_on_its_way_is_said_again(page: Page, app: Served) -> None:
    lost: list[bytes | str] = []

    def through(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def passed_on(message: bytes | str) -> None:
            if lost or b"stop" not in (message if isinstance(message, bytes) else message.encode()):
                server.send(message)
            else:
                lost.append(message)

        socket.on_message(passed_on)

    page.route_web_socket(re.compile("/_stcore/stream"), through)
    visit(page, "/")
    app.model.then = judged_or(LONG)
    answer = ask(page, QUESTION)
    expect(answer.locator(".text")).to_contain_text("harbour")
    settled(page)
    answer.get_by_role("button", name="Stop").click()
    expect(answer).to_have_class("card a stopped")
    assert lost


@pytest.mark.usefixtures("tide")
def test_nothing_is_drawn_anew_under_a_press(page: Page, app: Served) -> None:
    app.model.then = judged_or(LONG)
    answer = ask(page, QUESTION)
    text = answer.locator(".text")
    expect(text).to_contain_text("patient")
    stop = answer.get_by_role("button", name="Stop").element_handle()
    before = text.text_content()
    expect(text).not_to_have_text(before or "")
    assert stop.evaluate("button => button.isConnected")
    page.mouse.down()
    page.wait_for_timeout(150)  # a drawing that was under way
    held = text.text_content()
    page.wait_for_timeout(400)  # words of the answer come meanwhile
    assert text.text_content() == held
    page.mouse.up()
    expect(text).not_to_have_text(held or "")
    stop.evaluate("button => button.click()")
    expect(answer).to_have_class("card a stopped")


def test_a_step_of_a_run_is_drawn_and_the_others_are_left_alone(page: Page) -> None:
    sockets: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("/v1/tabs/"), lambda socket: sockets.append(socket))
    visit(page, "/")
    expect(page.locator(".st-key-chat .empty")).to_be_visible()
    while not sockets:
        page.wait_for_timeout(20)
    run = page.locator(".st-key-run")

    def told(**what: object) -> None:
        sockets[-1].send(json.dumps({"run": "made", **what}))

    def step(number: int) -> None:
        opened = {
            "span_id": number,
            "parent_id": None,
            "name": f"step_{number}",
            "phase": "retrieve",
            "start_s": number,
        }
        closed = {**opened, "duration_s": 0.5, "attributes": {"query": "the tide"}}
        for kind, data in (("open", opened), ("close", closed)):
            told(events=[{"n": 2 * number + (kind == "close"), "kind": kind, "data": data}])
        expect(run.locator(".lane")).to_have_count(number + 1)

    told(question=QUESTION)
    step(0)
    first = run.locator("details.step")
    first.locator("summary").click()
    expect(first).to_have_attribute("open", "")
    drawn = [one.element_handle() for one in (first, run.locator(".lanes"))]
    for number in (1, 2, 3):
        step(number)
    assert [one.evaluate("one => one.isConnected") for one in drawn] == [True, True]
    expect(first.first).to_have_attribute("open", "")


@pytest.mark.usefixtures("tide")
def test_the_keys_go_from_citation_to_citation(page: Page, app: Served) -> None:
    app.model.then = judged_or(says("The tide was measured twice a day [1]. The keeper counted forty ships [2]."))
    chips = finished(ask(page, QUESTION)).locator(".cite")
    expect(chips).to_have_count(2)
    settled(page)
    chips.first.press("Enter")
    heading = page.locator(".st-key-run .where-lit")
    expect(heading).to_contain_text("1 ·")
    page.keyboard.press("ArrowRight")
    expect(chips.nth(1)).to_be_focused()
    expect(heading).to_contain_text("2 ·")
    page.keyboard.press("Escape")
    expect(heading).to_have_count(0)


@pytest.mark.usefixtures("tide")
def test_an_answer_can_be_called_good_and_that_stays_or_wrong_and_that_says_what_to_try(page: Page) -> None:
    choose_engine(page, "No model")
    answer = finished(ask(page, QUESTION))
    answer.get_by_role("button", name="Good").click()
    expect(answer.get_by_role("button", name="Good")).to_have_attribute("aria-pressed", "true")
    settled(page)
    page.reload()
    settled(page)
    expect(answer.get_by_role("button", name="Good")).to_have_attribute("aria-pressed", "true")
    answer.get_by_role("button", name="Wrong").click()
    expect(answer.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
    hints = answer.get_by_role("region", name="What to try")
    expect(hints.get_by_role("listitem").first).to_contain_text("Self-correct.")
    settled(page)
    hints.get_by_role("button", name="Try self-correct").click()
    columns = page.locator(".st-key-columns .col")
    expect(columns.locator(".status", has_text="grade")).to_have_count(2, timeout=120_000)
    expect(page.get_by_role("combobox", name="Plan of column 2")).to_have_value(re.compile("with self-correct"))


@pytest.mark.usefixtures("tide")
def test_what_is_not_in_the_documents_is_an_answer(page: Page) -> None:
    choose_engine(page, "No model")
    page.route("**/v1/runs/*/hints", lambda route: route.abort())
    answer = finished(ask(page, "Which pope crowned Charlemagne?"))
    expect(answer).to_contain_text("not in your documents")
    expect(answer.locator(".missing").first).to_be_visible()
    hints = answer.get_by_role("region", name="What to try")
    expect(hints).to_contain_text("could not be looked at")
    page.unroute("**/v1/runs/*/hints")
    hints.get_by_role("button", name="Try again").click()
    expect(hints).to_contain_text("No evidence speaks of: ")


def test_a_locked_file_asks_for_its_password(page: Page, tmp_path: Path) -> None:
    visit(page, "/documents")
    locked = upload(page, a_pdf(tmp_path / "locked.pdf", TIDE, password="sesame"))
    locked.get_by_role("button", name="Password").click()
    page.get_by_role("dialog").locator("input[type=password]").fill("sesame")
    page.get_by_role("dialog").get_by_role("button", name="Index it").click()
    expect(row(page, "locked.pdf").locator(".chip", has_text="ready")).to_be_visible(timeout=120_000)


def test_deleting_asks_first(page: Page, tmp_path: Path) -> None:
    have(page, a_pdf(tmp_path / "gone.pdf", "This page will not be here for long."))
    choose(page, "gone.pdf", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row(page, "gone.pdf")).to_be_visible()
    choose(page, "gone.pdf", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page, "gone.pdf")).to_have_count(0)


def test_what_is_not_a_pdf_is_refused_in_one_sentence(page: Page, tmp_path: Path) -> None:
    visit(page, "/documents")
    (tmp_path / "notes.pdf").write_text("no pdf at all")
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(tmp_path / "notes.pdf")
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile("not a PDF", re.IGNORECASE))


def test_the_test_button_says_that_an_endpoint_is_down(page: Page) -> None:
    visit(page, "/settings")
    page.get_by_role("radio", name="OpenAI-compatible").or_(
        page.get_by_role("button", name="OpenAI-compatible")
    ).click()
    settled(page)
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.get_by_label("Address").press("Enter")
    settled(page)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator(".st-key-tested")).to_contain_text("Nothing answers at http://127.0.0.1:9/v1")


@pytest.mark.parametrize("address", ["/", "/documents", "/settings"])
@pytest.mark.parametrize("width", [1440, 800])
def test_nothing_scrolls_sideways(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, address)
    expect(page.get_by_role("combobox", name="Collection")).to_have_value(COLLECTION)
    wide = "main => main.scrollWidth > main.clientWidth"
    assert not page.get_by_test_id("stMain").evaluate(wide)
