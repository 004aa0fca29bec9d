"""The plan card in a real browser: it answers at once, by mouse and by keys, and a question is asked as it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import TIDE, ask, choose_engine, finished, have, settled, visit
from tests.papers import a_pdf

QUESTION = "How often was the tide measured?"

# Whether a click shows before anything else can happen. The card is in a shadow root of its own.
CLICKED = """(one) => {
  const [root, key] = [one.getRootNode(), one.dataset.key];
  const was = one.getAttribute("aria-checked");
  one.click();
  return root.querySelector(`[data-key="${key}"]`).getAttribute("aria-checked") !== was;
}"""


@pytest.fixture
def card(page: Page, tmp_path: Path) -> Locator:
    """The card on the Ask page, over a searchable document, asked without a model."""
    have(page, a_pdf(tmp_path / "tide.pdf", TIDE, "The lighthouse keeper counted forty ships."))
    visit(page, "/")
    choose_engine(page, "No model")
    return page.locator(".st-key-switches")


def asked_plan(page: Page, question: str) -> dict:
    finished(ask(page, question))
    run = page.url.partition("run=")[2]
    return json.loads(page.request.get(f"/v1/runs/{run}").text())["plan"]


def test_a_question_is_asked_with_what_the_card_shows(page: Page, card: Locator) -> None:
    card.get_by_role("radio", name="Balanced").click()
    card.get_by_role("switch", name="HyDE").click()
    card.get_by_role("switch", name="check support").click()
    card.get_by_role("button", name="Settings of HyDE").click()
    card.get_by_role("spinbutton", name="num hypotheticals").fill("2")
    card.get_by_role("spinbutton", name="num hypotheticals").press("Enter")
    expect(card).to_contain_text("Balanced, changed")
    plan = asked_plan(page, QUESTION)
    assert plan["name"] == "custom"
    assert plan["techniques"]["hyde"]["num_hypotheticals"] == 2
    assert "multi_hop" in plan["techniques"]
    assert "validate" not in plan["techniques"]
    card.get_by_role("button", name="Reset").click()
    expect(card.get_by_role("radio", name="Balanced")).to_have_attribute("aria-checked", "true")
    assert asked_plan(page, "How many ships were counted?")["name"] == "balanced"


def test_every_switch_answers_at_once_whatever_the_server_does(card: Locator) -> None:
    card.get_by_role("radio", name="Quality").click()
    switches = card.locator("[role=switch][data-key^=on-]")
    keys = switches.evaluate_all("all => all.map(one => one.dataset.key)")
    assert len(keys) >= 12
    assert all(card.locator(f'[data-key="{key}"]').evaluate(CLICKED) for key in keys)


def test_the_keys_choose_a_plan_and_open_and_close_settings(page: Page, card: Locator) -> None:
    card.get_by_role("radio", name="Simple").focus()
    page.keyboard.press("ArrowRight")
    expect(card.get_by_role("radio", name="Fast")).to_be_focused()
    expect(card.get_by_role("radio", name="Fast")).to_have_attribute("aria-checked", "true")
    expect(card.locator(".takes")).to_contain_text("model calls")
    opener = card.get_by_role("button", name="Settings of multi-hop")
    opener.focus()
    page.keyboard.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(card.get_by_role("group", name="Settings of multi-hop")).to_contain_text("Searches that follow one another")
    card.get_by_role("slider", name="max hops").focus()
    page.keyboard.press("ArrowRight")
    expect(card.get_by_role("spinbutton", name="max hops")).to_have_value("3")
    page.keyboard.press("Escape")
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(opener).to_be_focused()


def test_the_techniques_can_be_put_away_and_stay_away_in_this_tab(page: Page, card: Locator) -> None:
    card.get_by_role("button", name="6 techniques").click()
    expect(card.get_by_role("switch")).to_have_count(0)
    page.reload()
    settled(page)
    card.get_by_role("radio", name="Fast").click()
    expect(card.get_by_role("switch")).to_have_count(0)
    card.get_by_role("button", name="techniques").click()
    expect(card.get_by_role("switch", name="multi-hop")).to_have_attribute("aria-checked", "true")


def test_what_is_out_of_range_becomes_the_nearest_that_is_allowed(card: Locator) -> None:
    card.get_by_role("radio", name="Fast").click()
    card.get_by_role("button", name="Settings of multi-hop").click()
    hops = card.get_by_role("spinbutton", name="max hops")
    hops.fill("99")
    hops.press("Enter")
    expect(hops).to_have_value("8")


def test_a_plan_outlives_another_page_and_a_reload_of_its_chat(page: Page, card: Locator) -> None:
    card.get_by_role("radio", name="Fast").click()
    settled(page)
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_text("Your data")).to_be_visible()
    page.get_by_role("link", name="Ask").click()
    expect(card.get_by_role("radio", name="Fast")).to_have_attribute("aria-checked", "true")
    finished(ask(page, QUESTION))
    page.reload()
    settled(page)
    expect(card.get_by_role("radio", name="Fast")).to_have_attribute("aria-checked", "true")


def test_a_saved_plan_is_one_of_the_choices_until_it_is_deleted(page: Page, card: Locator) -> None:
    card.get_by_role("switch", name="rerank").click()
    card.get_by_role("button", name="Save as").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("Second <b>look")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    own = card.get_by_role("radio", name="Second <b>look")
    expect(own).to_have_attribute("aria-checked", "true")
    card.get_by_role("radio", name="Simple").click()
    expect(card.get_by_role("switch", name="rerank")).to_have_attribute("aria-checked", "false")
    own.click()
    expect(card.get_by_role("switch", name="rerank")).to_have_attribute("aria-checked", "true")
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(own).to_have_count(0)
    expect(card.get_by_role("switch", name="rerank")).to_have_attribute("aria-checked", "true")


def test_a_picture_without_clip_is_refused_in_a_sentence(page: Page, card: Locator) -> None:
    picture = Path(__file__).parents[2] / "docs" / "ask.png"
    page.locator(".st-key-question input[type=file]").set_input_files(picture)
    expect(page.get_by_test_id("stFileChipImagePreview")).to_be_visible()
    page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
    page.get_by_test_id("stChatInputTextArea").press("Enter")
    expect(page.get_by_test_id("stAlert")).to_contain_text("needs CLIP")
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_value(QUESTION)
