"""Two visitors at once: each has a chat, a plan and chosen documents of their own, and stops their own run alone."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.steps import TIDE, Served, ask, have, judged_or, settled, visit
from tests.model_server import says
from tests.papers import a_pdf

MINE = "How often was the tide measured?"
YOURS = "Who read every entry back?"
# Minutes, whatever else the machine does: it must go on until the other visitor has come, asked and stopped.
LONG = says(f"Twice a day [1]. {'It was a patient and careful piece of work by the clerks. ' * 360}", pause_s=0.06)


def test_nothing_of_a_visitor_is_the_others_and_a_stop_is_for_ones_own_run(
    page: Page, app: Served, chromium: Browser, tmp_path: Path
) -> None:
    document = a_pdf(tmp_path / "visitors.pdf", TIDE, "The lighthouse keeper counted forty ships.")
    have(page, document)
    app.model.then = judged_or(LONG)
    other = chromium.new_context(base_url=app.url, viewport={"width": 1440, "height": 900}).new_page()
    visit(page, "/")
    visit(other, "/")

    switch_of(page).click()
    expect(switch_of(page)).to_have_attribute("aria-checked", "false")
    settled(page)
    chosen = page.locator(".st-key-documents")
    chosen.get_by_role("combobox").click()
    page.get_by_role("option", name=document.name).click()
    expect(chosen).to_contain_text(document.name)
    settled(page)
    mine = ask(page, MINE)
    expect(mine.locator(".text")).to_contain_text("patient")
    yours = ask(other, YOURS)
    expect(yours.locator(".text")).to_contain_text("patient")

    yours.get_by_role("button", name="Stop").click()
    expect(yours).to_have_class("card a stopped")
    settled(other)
    written = mine.locator(".text").text_content() or ""
    expect(mine.locator(".text")).not_to_have_text(written)
    expect(mine).to_have_attribute("aria-busy", "true")
    for visitor, question, checked in ((page, MINE, "false"), (other, YOURS, "true")):
        expect(visitor.locator(".st-key-chat .turn .q")).to_have_text(re.compile(re.escape(question)))
        expect(switch_of(visitor)).to_have_attribute("aria-checked", checked)
    expect(chosen).to_contain_text(document.name)
    expect(other.locator(".st-key-documents")).not_to_contain_text(document.name)
    mine.get_by_role("button", name="Stop").click()
    expect(mine).to_have_class("card a stopped")
    other.context.close()


def switch_of(page: Page) -> Locator:
    return page.locator(".st-key-switches").get_by_role("switch", name="check support")
