"""What the checks left on a run, drawn from its record: lanes, evidence, reflection, correction, healing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.records import HOSTILE, QUESTION_BEFORE, SENTENCES, SUB_QUESTIONS, WEB, kept_reflected
from tests.browser.steps import TIDE, Served, ask, choose_engine, finished, have, visit
from tests.papers import a_pdf

PAGES = (TIDE, "The lighthouse keeper counted forty ships.", "The tide tables were printed in London each year.")


@pytest.fixture
def run(page: Page, app: Served, tmp_path: Path) -> Locator:
    """The run beside a chat whose record has all checks."""
    have(page, a_pdf(tmp_path / "tables.pdf", *PAGES))
    visit(page, "/")
    choose_engine(page, "No model")
    finished(ask(page, "How often was the tide measured?"))
    made = kept_reflected(page, app, page.url.partition("run=")[2])
    visit(page, f"/?chat={made.chat}&run={made.id}")
    beside = page.locator(".st-key-run")
    expect(beside.locator(".lane").first).to_be_visible()
    return beside


def tab(run: Locator, name: str) -> Locator:
    run.locator(f"[data-tab={name}]").click()
    return run.get_by_role("tabpanel")


def test_hops_and_parts_have_lanes_and_what_is_parallel_overlaps(run: Locator) -> None:
    labels = run.locator(".lane .label").all_inner_texts()
    assert [label for label in labels if "hop" in label] == ["1 · hop 1", "1 · hop 2"]
    assert [label.strip('“”"') for label in labels if label.strip('“”"') in SUB_QUESTIONS] == list(SUB_QUESTIONS)
    bars = [run.locator(".lane", has_text=query).locator(".bar").bounding_box() for query in SUB_QUESTIONS]
    assert all(bar is not None for bar in bars)
    starts, ends = [bar["x"] for bar in bars], [bar["x"] + bar["width"] for bar in bars]  # type: ignore[index]
    assert starts == sorted(starts)
    assert max(starts) < min(ends)


def test_a_lane_opens_to_its_queries_terms_and_hypotheticals(run: Locator) -> None:
    run.locator("summary", has_text="HyDE").click()
    expect(run.locator("q", has_text="They launched an imagined product.")).to_be_visible()
    run.locator("summary", has_text="expand").click()
    expect(run.locator("dd .chip", has_text=HOSTILE)).to_be_visible()
    run.locator("summary", has_text="hop 2").click()
    expect(run.locator("q", has_text="DataWeave product")).to_be_visible()
    run.locator("summary", has_text="1 skipped").click()
    expect(run.locator("dd", has_text="The question does not ask for all of a document.")).to_be_visible()


def test_evidence_says_where_it_came_from_how_it_moved_and_what_is_remembered(run: Locator) -> None:
    panel = tab(run, "evidence")
    expect(panel.locator(".recalled")).to_contain_text(QUESTION_BEFORE)
    expect(panel.locator(".recalled")).to_contain_text("not the answer")
    second = panel.locator(".ev").nth(1)
    expect(second).to_contain_text("remembered 0.82")
    expect(second.locator(".move")).to_have_text("▲ 2")
    expect(second.locator(".move")).to_have_attribute("title", "4. before the second look, 1. of hop 1, 2. now")
    expect(panel.locator(".ev").nth(2).locator(".move")).to_have_text("＋ new")
    expect(panel.locator(".ev").nth(2)).to_contain_text("found in hop 2 by “DataWeave product”")
    expect(panel.locator(".ev").nth(0)).to_contain_text("relevant 0.94")


def test_an_address_of_the_web_is_shown_and_opened_by_a_click_alone(run: Locator) -> None:
    for panel in (tab(run, "evidence"), tab(run, "correction")):
        link = panel.locator("a", has_text=WEB)
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(link).to_have_attribute("target", "_blank")
        expect(panel.locator("a[href^=javascript]")).to_have_count(0)


def test_the_matrix_has_every_sentence_against_every_chunk(run: Locator, page: Page) -> None:
    panel = tab(run, "reflection")
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(len(SENTENCES) + 1)
    expect(rows.nth(0).get_by_role("button").nth(0)).to_have_attribute(
        "aria-label", "Chunk 1, fully .96, cited: open its page"
    )
    expect(rows.nth(1)).to_contain_text(".63")
    expect(rows.nth(2)).to_contain_text("against")
    expect(panel.locator("thead")).to_contain_text("supported")
    expect(rows.nth(3)).to_contain_text("ISREL")
    expect(panel).to_contain_text("ISUSE 4 of 5")
    expect(panel.locator("li.dropped", has_text="pay for itself")).to_contain_text("no support")
    rows.nth(0).get_by_role("button").nth(0).click()
    expect(run.locator(".panel rect.lit").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(run.locator("[data-tab=reflection]")).to_have_attribute("aria-selected", "true")


def test_strips_are_kept_or_struck_and_the_verdict_is_said(run: Locator) -> None:
    panel = tab(run, "correction")
    expect(panel).to_contain_text("ambiguous: 1 of 2 chunks relevant")
    expect(panel.locator(".chip").first).to_have_attribute("title", "Best chunk: 0.88; share of relevant chunks: 0.50")
    expect(panel).to_contain_text("2 of 3 kept")
    struck = panel.locator("li.dropped .words")
    expect(struck).to_contain_text("Cloud storage")
    assert "line-through" in struck.evaluate("one => getComputedStyle(one).textDecorationLine")


def test_healing_shows_draft_attempts_and_what_changed(run: Locator, page: Page) -> None:
    page.locator(".st-key-chat .a").get_by_role("button", name="self-check 0.71 → 0.93, healed twice").click()
    panel = run.get_by_role("tabpanel")
    expect(panel.get_by_role("img", name="Self-check 0.71, then 0.82, then 0.93; target 0.85")).to_be_visible()
    expect(panel.get_by_role("article", name="Draft")).to_contain_text("soon <img")
    second = panel.get_by_role("article", name="Attempt 2")
    expect(second).to_contain_text("0.93, shown")
    expect(second.locator("ins")).to_have_text("Inc. ")
    expect(second.locator("del")).to_contain_text(HOSTILE)
    expect(second.locator("li").first).to_contain_text("healed: “pay for itself by 2026”")
    expect(panel.get_by_role("article", name="Version 2")).to_contain_text("kept")


@pytest.mark.parametrize("width", [1440, 800])
@pytest.mark.parametrize("name", ["reflection", "correction", "healing", "evidence"])
def test_no_check_scrolls_the_page_sideways(run: Locator, page: Page, width: int, name: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    tab(run, name)
    assert not page.get_by_test_id("stMain").evaluate("main => main.scrollWidth > main.clientWidth")
