"""Two plans side by side in a real browser, what each technique bought, and a plan taken over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import TIDE, Served, go, have, judged_or, settled, visit
from tests.model_server import says
from tests.papers import a_pdf

QUESTION = "How often was the tide measured?"


@pytest.fixture
def screen(page: Page, tmp_path: Path) -> Locator:
    """Compare over a searchable document, both columns without a model."""
    have(page, a_pdf(tmp_path / "tide.pdf", TIDE, "The lighthouse keeper counted forty ships."))
    visit(page, "/compare")
    found = page.locator(".st-key-columns")
    for number in (1, 2):
        found.get_by_role("combobox", name=f"Engine of column {number}").select_option("keyless")
    settled(page)
    return found


def asked(screen: Locator) -> Locator:
    """Run the columns; gives them."""
    box = screen.get_by_role("textbox", name="Question")
    box.fill(QUESTION)
    box.press("Enter")
    columns = screen.locator(".col")
    expect(columns.locator(".totals")).to_have_count(2)
    return columns


def test_two_plans_side_by_side_a_plan_taken_over_and_a_ledger_of_it(page: Page, screen: Locator) -> None:
    simple, balanced = (asked(screen).nth(at) for at in (0, 1))
    for column in (simple, balanced):
        expect(column.locator(".status")).to_contain_text("grade", timeout=120_000)
        expect(column.locator(".totals")).to_contain_text("1/1")
        expect(column.locator(".sq.cited")).to_have_text(["1"])
    expect(balanced.locator(".answer")).to_contain_text("as Simple")
    expect(simple.locator(".steps", has_text="Sub-questions")).to_contain_text("not in this run")

    balanced.get_by_role("button", name="Citation 1").click()
    dialog = screen.get_by_role("dialog")
    expect(dialog).to_contain_text("Balanced rank 1")
    expect(dialog.locator(".page.drawn")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    ledger = screen.get_by_role("region", name="What did each technique buy?")
    ledger.get_by_role("button", name="Balanced").click()
    ledger.get_by_role("button", name="more").press("Enter")
    expect(ledger.get_by_role("status")).to_contain_text("No difference: ", timeout=120_000)
    expect(ledger.get_by_role("button", name="Ask again")).to_be_focused()
    rows = ledger.locator("tbody tr")
    expect(rows.filter(has_text="multi-hop")).to_contain_text("1/1 → 1/1")
    expect(rows.filter(has_not=page.locator(".chip"))).to_have_count(0)

    balanced.get_by_role("button", name="Make this my plan").click()
    expect(screen.get_by_role("status").first).to_contain_text("Ask uses this plan")
    go(page, "Ask", "stChatInputTextArea")
    expect(page.locator(".st-key-switches").get_by_role("radio", name="Balanced")).to_have_attribute(
        "aria-checked", "true"
    )
    page.get_by_role("link", name="Compare").click()
    expect(screen.locator(".totals")).to_have_count(2)
    expect(ledger).to_contain_text("No difference: ")
    settled(page)

    rows.filter(has_text="multi-hop").get_by_role("button", name="See both").press("Enter")
    expect(screen.get_by_role("combobox", name="Plan of column 2")).to_have_value(re.compile("without multi-hop"))
    expect(screen.get_by_role("region", name="The columns")).to_be_focused()
    settled(page)
    screen.get_by_role("button", name="Add a plan").press("Enter")
    expect(screen.get_by_role("combobox", name="Plan of column 3")).to_be_focused()
    settled(page)
    aside = screen.locator(".aside")
    expect(aside).to_be_hidden()
    page.set_viewport_size({"width": 800, "height": 900})
    aside.get_by_role("button", name="Later columns").press("Enter")
    expect(aside).to_contain_text("Columns 2–3 of 3")
    aside.get_by_role("button", name="Earlier columns").press("Enter")
    expect(aside).to_contain_text("Columns 1–2 of 3")


def test_a_column_that_is_stopped_spoils_no_other(page: Page, screen: Locator, app: Served) -> None:
    app.model.then = judged_or(says("Twice a day. [1]\nCONFIDENCE: 0.9", pause_s=20))
    screen.get_by_role("combobox", name="Engine of column 2").select_option("model")
    settled(page)
    quick, slow = (asked(screen).nth(at) for at in (0, 1))
    expect(quick.locator(".status")).to_contain_text("grade", timeout=120_000)
    slow.get_by_role("button", name="Stop").press("Enter")
    expect(slow.locator(".status")).to_contain_text("◐ stopped", timeout=120_000)
    expect(slow.locator(".status")).to_be_focused()
    expect(quick.locator(".answer")).to_contain_text("twice a day")
    page.reload()
    settled(page)
    expect(screen.locator(".col").nth(1).locator(".status")).to_contain_text("stopped")
    expect(screen.get_by_role("textbox", name="Question")).to_have_value(QUESTION)
