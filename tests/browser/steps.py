"""What a visitor does, as the tests say it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.model_server import ModelServer, Turn, says
from tests.web_server import WebServer

COLLECTION = "Harbour"
TIDE = "The harbour authority measured the tide twice a day in 1904. Every entry was read back by a second clerk."


@dataclass
class Served:
    """The application under test."""

    url: str
    model: ModelServer
    web: WebServer
    data: Path


def judged_or(answer: Turn) -> Callable[[str], Turn]:
    """A model that calls every answer good, and answers so itself."""
    return lambda prompt: says('{"quality": 0.9, "issues": []}') if "quality" in prompt.lower() else answer


def settled(page: Page) -> None:
    """The page's script is through, and nothing in it failed."""
    # Before it begins it does not run either; then nothing is drawn yet.
    expect(page.get_by_test_id("stMain").get_by_test_id("stElementContainer").first).to_be_attached()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stException")).to_have_count(0)


def mark(page: Page, *keys: str) -> None:
    """Mark what these components drew, for `stays`."""
    for key in keys:
        page.locator(f".st-key-{key} .root").evaluate("root => { root.dataset.marked = '' }")


def stays(page: Page, *keys: str) -> None:
    """They stand as they were marked: none was taken away and drawn from nothing, with what was typed in it lost."""
    for key in keys:
        expect(page.locator(f".st-key-{key} .root[data-marked]")).to_be_attached()


def visit(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)


def go(page: Page, name: str, shows: str) -> None:
    """Follow a link of the menu; the page is there when the part with that test id is."""
    page.get_by_role("link", name=name).click()
    expect(page.get_by_test_id(shows)).to_be_attached()
    settled(page)


def row(page: Page, name: str) -> Locator:
    return page.locator(".st-key-library li", has_text=name)


def choose(page: Page, name: str, action: str) -> None:
    """Choose an action in the menu of a document's row."""
    row(page, name).get_by_role("button", name="More for").click()
    row(page, name).get_by_role("button", name=action).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def upload(page: Page, path: Path) -> Locator:
    """Upload on the Documents page; gives the document's row."""
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(path)
    expect(row(page, path.name)).to_be_visible()
    return row(page, path.name)


def have(page: Page, path: Path) -> None:
    """Have a document ready, uploaded now if it is not there yet."""
    visit(page, "/documents")
    expect(page.locator(".st-key-library li").first).to_be_visible()
    found = row(page, path.name)
    if not found.count():
        upload(page, path)
    expect(found.locator(".chip", has_text="ready")).to_be_visible(timeout=120_000)


def choose_engine(page: Page, label: str) -> None:
    page.locator(".st-key-engine").get_by_role("combobox").click()
    page.get_by_role("option", name=label).click()
    settled(page)


def ask(page: Page, question: str) -> Locator:
    """Ask on the Ask page; gives the answer's card."""
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")
    turn = page.locator(".st-key-chat .turn", has_text=question).last
    expect(turn).to_be_visible()
    # The tab hears of its run before the page, and with it the address, is there.
    expect(page).to_have_url(re.compile(f"run={turn.get_attribute('data-run')}"))
    return turn.locator(".a")


def finished(answer: Locator) -> Locator:
    expect(answer).to_have_class("card a done", timeout=120_000)
    return answer
