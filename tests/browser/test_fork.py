"""Branches of a run on the screen: made where the thing to edit stands, drawn as a tree, switched between."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import TIDE, Served, ask, choose_engine, finished, have, settled, visit
from tests.papers import a_pdf

LIGHT = "The lighthouse keeper counted forty ships in 1904 and wrote them in a book."
QUESTION = "How often was the tide measured?"


def test_a_run_is_branched_by_its_chunks_its_query_and_its_draft(page: Page, app: Served, tmp_path: Path) -> None:
    have(page, a_pdf(tmp_path / "branches.pdf", TIDE, LIGHT))
    visit(page, "/")
    choose_engine(page, "No model")
    finished(ask(page, QUESTION))
    settled(page)
    run = page.locator(".st-key-run")
    tree = run.locator(".tree")
    first = page.url.partition("run=")[2]

    # A chunk dropped: the branch is shown with its answer, without the chunk.
    before = run.locator(".ev").count()
    dropped = run.locator(".ev").first
    chunk = dropped.get_attribute("data-chunk")
    dropped.hover()
    dropped.get_by_role("button", name="Drop").click()
    expect(tree.locator("[aria-current]")).to_contain_text("dropped")
    expect(run.locator(".branching .a.done")).to_be_visible()
    expect(run.locator(f'.ev[data-chunk="{chunk}"]')).to_have_count(0)
    assert before > 0
    expect(page).not_to_have_url(re.compile(first))
    expect(tree.locator("[aria-current]")).to_be_focused()
    branch = page.url.partition("run=")[2]

    # The query of the search edited, by keyboard, from the step's own lane.
    lane = run.get_by_role("button", name="Branch from here").first
    lane.focus()
    lane.press("Enter")
    query = run.get_by_role("textbox", name="Query")
    expect(query).to_be_focused()
    query.press("Escape")
    expect(lane).to_be_focused()
    lane.press("Enter")
    expect(query).to_be_focused()
    query.fill("")
    query.press_sequentially("lighthouse keeper")
    query.press("Enter")
    expect(tree.locator("[aria-current]")).to_contain_text("searched for “lighthouse keeper”")
    expect(run.locator(".ev").first).to_contain_text("forty ships")

    # A branch of the first run: its draft, edited from the answer in the chat.
    page.locator(".st-key-chat .turn").last.get_by_role("button", name="Edit").click()
    draft = run.get_by_role("textbox", name="Draft")
    draft.fill("The tide was measured nine times a day.")
    run.get_by_role("button", name="Run the branch").click()
    expect(tree.locator("[aria-current]")).to_have_text("edited the draft")
    expect(run.locator(".branching .a .text")).to_contain_text("nine times")

    # Back to the first branch, whose address is its own; a reload brings it again.
    tree.get_by_role("button", name="dropped").click()
    expect(page).to_have_url(re.compile(branch))
    page.reload()
    settled(page)
    expect(tree.locator("li")).to_have_count(4)
    expect(tree.locator("[aria-current]")).to_contain_text("dropped")
    run.get_by_role("button", name="Save its plan").click()
    expect(page.get_by_role("dialog")).to_be_visible()
