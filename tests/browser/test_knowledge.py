"""The Knowledge screen in a real browser: a graph is built, walked to a page, asked in Cypher; a tree to its leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import choose_engine, go, have, settled
from tests.papers import a_pdf

STORY = (
    "Nordwind acquired Seaglass Analytics in May. Seaglass Analytics makes TideBoard. TideBoard measures the harbour.",
    "Ada Marsh leads Seaglass Analytics. Ada Marsh met Nordwind in Bergen. Nordwind has an office in Bergen.",
)
HOSTILE = "The board of <img src=//evil.example/x onerror=alert(1)> met Ada Marsh and Nordwind in Bergen again."


def show(page: Page, view: str) -> None:
    page.locator(".st-key-knowledge_view").get_by_text(view, exact=True).click()
    settled(page)


@pytest.mark.timeout(600)  # it builds over whatever documents the tests before it left
def test_a_graph_is_built_and_walked_to_a_page_asked_in_cypher_and_a_tree_to_its_leaves(
    page: Page, tmp_path: Path
) -> None:
    have(page, a_pdf(tmp_path / "seaglass.pdf", *STORY, HOSTILE))
    choose_engine(page, "No model")
    go(page, "Knowledge", "stMain")
    page.get_by_role("button", name="Build the graph").click()
    entities = page.locator(".st-key-entities")
    expect(entities.get_by_role("button", name="Nordwind")).to_be_visible(timeout=240_000)
    expect(page.locator(".st-key-network canvas").first).to_be_visible()

    page.get_by_role("searchbox", name="Find an entity").fill("seaglass")
    expect(entities.get_by_role("button")).to_have_count(1)
    entities.get_by_role("button", name="Seaglass Analytics").press("Enter")
    about = page.locator(".st-key-entity")
    expect(about.get_by_role("heading", name="Seaglass Analytics")).to_be_visible()
    about.get_by_role("button", name="Ada Marsh").click()
    expect(about.get_by_role("heading", name="Ada Marsh")).to_be_visible()
    page.get_by_text("1 step around", exact=True).click()
    settled(page)

    show(page, "Query")
    page.get_by_role("button", name="Most mentioned").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    box = page.get_by_role("textbox", name="Cypher, to read only")
    box.fill("MATCH (e:Entity) DETACH DELETE e")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".st-key-refused")).to_be_visible()

    show(page, "Tree")
    page.get_by_role("button", name="Build the tree").click()
    summaries = page.locator(".st-key-summaries")
    expect(summaries.locator("button.pick").first).to_be_visible(timeout=240_000)
    summaries.locator("button.pick").first.click()
    leaf = page.locator(".st-key-summary-side").get_by_role("article").first
    expect(leaf).to_be_visible()

    show(page, "Graph")
    about.get_by_role("article").first.get_by_role("button", name="Open page").click()
    expect(page.locator(".st-key-reader .page.drawn").first).to_be_visible()
    expect(page.locator(".st-key-reader .lit").first).to_be_attached()
