"""Runs: found again, opened, replayed; passed on as one file that opens without a network; taken in from a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.steps import TIDE, Served, ask, choose_engine, finished, have, mark, settled, stays, visit
from tests.papers import a_pdf

HOSTILE = "</script><img src=x onerror=alert(1)> ![p](http://127.0.0.1:1/leak)"
QUESTION = f"How often was the tide measured? {HOSTILE}"
OTHER = "Who read every entry back?"


def rows(page: Page) -> Locator:
    return page.locator(".st-key-history .one")


def test_a_run_is_found_opened_and_replayed(page: Page, app: Served, tmp_path: Path) -> None:
    asked(page, tmp_path)
    visit(page, "/runs")
    expect(rows(page).first).to_contain_text(OTHER)
    find = page.get_by_role("searchbox", name="Find in questions and answers")
    find.fill("how OFTEN measured </script>")
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".st-key-history .count")).to_contain_text("1 of ")
    mark(page, "history", "inspector")
    rows(page).get_by_role("button").focus()
    page.keyboard.press("Enter")
    run = page.locator(".st-key-inspector")
    expect(run.locator(".asked")).to_contain_text(HOSTILE)
    expect(run.locator(".asked")).to_contain_text("no model")
    expect(run.locator(".a.done")).to_contain_text("twice a day")
    expect(page).to_have_url(re.compile(r"/runs\?run="))
    settled(page)
    stays(page, "history", "inspector")
    find.fill("no run says this")
    expect(page.get_by_text("No run is so.")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    expect(find).to_be_focused()
    expect(rows(page).nth(1)).to_be_visible()

    run.get_by_role("button", name="Replay").click()
    bar = run.get_by_role("group", name="Replay")
    bar.get_by_role("button", name="Pause").click()
    expect(run.locator(".chip", has_text="replayed")).to_be_visible()
    far = bar.get_by_role("slider")
    far.focus()
    page.keyboard.press("Home")
    expect(run.locator(".ev")).to_have_count(0)
    page.keyboard.press("End")
    expect(run.locator(".a.done")).to_contain_text("twice a day")
    page.keyboard.press("ArrowLeft")
    expect(run.locator(".ev").first).to_be_visible()
    expect(run.locator(".a.running")).to_contain_text("Draft")
    bar.get_by_role("button", name="End").click()
    expect(bar).to_have_count(0)
    expect(run.get_by_role("button", name="Replay")).to_be_focused()
    expect(run.locator(".a.done")).to_be_visible()

    page.reload()
    expect(run.locator(".asked")).to_contain_text(HOSTILE)
    good = run.get_by_role("button", name="Good")
    good.press("Enter")
    expect(good).to_have_attribute("aria-pressed", "true")
    expect(good).to_be_focused()
    settled(page)
    run.get_by_role("button", name="What paid?").click()
    expect(page).to_have_url(re.compile(r"/compare\?runs=.*ledger="))


def test_a_run_goes_out_as_a_file_and_comes_in_again(
    page: Page, app: Served, chromium: Browser, tmp_path: Path
) -> None:
    asked(page, tmp_path)
    visit(page, "/runs")
    rows(page).filter(has_text="tide").first.get_by_role("button").click()
    run = page.locator(".st-key-inspector")
    files = {kind: saved(page, run, kind, tmp_path) for kind in ("HTML", "JSON")}

    opens_offline(chromium, files["HTML"])

    record = json.loads(files["JSON"].read_text())
    record["run"]["id"] = "from-elsewhere"
    record["run"]["question"] = f"What came from elsewhere? {HOSTILE}"
    for hit in record["run"]["evidence"]:
        hit["chunk"]["document"] = "unknown"
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(record))
    settled(page)
    page.get_by_role("button", name="Import").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(elsewhere)
    expect(run.locator(".asked")).to_contain_text(f"What came from elsewhere? {HOSTILE}")
    expect(run.locator(".asked")).to_contain_text("imported")
    expect(rows(page).filter(has_text="from elsewhere")).to_contain_text("imported")
    run.locator(".cite").first.click()
    expect(run.locator(".page.gone")).to_contain_text("is not here")
    expect(run.locator(".page.gone")).to_contain_text("twice a day")
    settled(page)
    run.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(rows(page).filter(has_text="from elsewhere")).to_have_count(0)
    expect(run.locator(".asked")).to_have_count(0)
    expect(page.locator(".st-key-history .open:focus")).to_have_count(1)


def test_a_run_that_is_not_here_is_said_to_be_gone_and_offers_nothing(page: Page) -> None:
    for address, shown in (("/runs?run=gone", ".st-key-inspector"), ("/?chat=gone&run=gone", ".st-key-run")):
        visit(page, address)
        run = page.locator(shown)
        expect(run.get_by_text("This run is not in the history any more")).to_be_visible()
        expect(run.get_by_role("link").or_(run.get_by_role("button", name="Delete"))).to_have_count(0)


def asked(page: Page, tmp_path: Path) -> None:
    """Both questions, answered."""
    have(page, a_pdf(tmp_path / "runs.pdf", TIDE, "The lighthouse keeper counted forty ships."))
    visit(page, "/")
    choose_engine(page, "No model")
    for question in (QUESTION, OTHER):
        finished(ask(page, question))


def saved(page: Page, run: Locator, kind: str, folder: Path) -> Path:
    expect(run.locator(".a.done")).to_be_visible()
    with page.expect_download() as download:
        run.get_by_role("link", name=kind).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def opens_offline(chromium: Browser, path: Path) -> None:
    """The whole inspector, with no network; nothing in the file but its own script runs."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    broken: list[str] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: broken.append(dialog.message) or dialog.dismiss())
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda message: broken.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    expect(page.locator(".asked")).to_contain_text(HOSTILE)
    expect(page.locator(".lane").first).to_be_visible()
    expect(page.locator(".ev").first).to_be_visible()
    page.locator(".cite").first.click()
    expect(page.locator(".panel rect.lit").first).to_be_visible()
    page.locator("[data-tab=prompts]").click()
    expect(page.locator(".prompt").first).to_be_visible()
    expect(page.get_by_role("link")).to_have_count(0)
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".chip", has_text="replayed")).to_be_visible()
    context.close()
    assert broken == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
