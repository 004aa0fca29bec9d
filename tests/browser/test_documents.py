"""The Documents page in a real browser: look into a document, keep many in order, move them, delete them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from rag_core.workbench import DEMO_FOLDER
from tests.browser.steps import Served, ask, choose, choose_engine, finished, have, mark, row, settled, stays, visit
from tests.papers import a_pdf

PRESS = "dataweave-press-release.pdf"
ROADMAP = "product-roadmap-q3-2023.pdf"


@pytest.fixture
def opened(page: Page) -> Callable[[str], Locator]:
    """Opens a demo document; gives the reader."""

    def open_document(name: str) -> Locator:
        have(page, DEMO_FOLDER / name)
        row(page, name).get_by_role("button", name="Open").click()
        reader = page.locator(".st-key-reader")
        expect(reader.locator("rect.el").first).to_be_visible()
        return reader

    return open_document


def view(page: Page, name: str) -> None:
    page.locator(".st-key-view").get_by_text(name).click()
    settled(page)


def test_every_kind_has_its_boxes_and_can_be_hidden(opened: Callable[[str], Locator]) -> None:
    reader = opened(PRESS)
    headings = reader.locator("rect.el.title")
    expect(headings.first).to_be_visible()
    headings.first.hover()
    expect(reader.locator(".said b")).to_have_text("heading")
    button = reader.get_by_role("button", name="heading")
    button.click()
    expect(headings).to_have_count(0)
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(button).to_be_focused()
    button.click()
    expect(headings.first).to_be_visible()


def test_a_document_is_leafed_through_with_keys_and_thumbnails(page: Page, opened: Callable[[str], Locator]) -> None:
    reader = opened(ROADMAP)
    number = reader.get_by_label("Page number")
    reader.locator("rect.el").first.focus()
    expect(reader.locator(".said b")).not_to_be_empty()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(number).to_have_value("2")
    reader.get_by_role("button", name="Page 4").click()
    expect(number).to_have_value("4")
    expect(reader.locator("img.pixels")).to_have_attribute("alt", re.compile("Page 4 of"))
    expect(reader.locator(".thumbnail[aria-current] img")).to_have_js_property("complete", True)
    before = reader.locator(".page").bounding_box()
    reader.get_by_role("button", name="Larger").click()
    expect(reader.locator(".pager")).to_contain_text("150 %")
    after = reader.locator(".page").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] == pytest.approx(1.5 * before["width"], rel=0.01)


def test_a_table_goes_out_as_csv_and_leads_to_its_page(page: Page, opened: Callable[[str], Locator]) -> None:
    reader = opened(PRESS)
    view(page, "Tables")
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").filter(has_text="CSV").get_by_role("button").click()
    assert len(download.value.path().read_text("utf-8").splitlines()) > 1
    page.get_by_role("button", name="Open page").click()
    expect(reader.locator("rect.lit").first).to_be_visible()


def test_a_figure_leads_to_its_page_with_its_box_lit(page: Page, opened: Callable[[str], Locator]) -> None:
    reader = opened(ROADMAP)
    view(page, "Figures")
    figure = reader.locator("figure").first
    expect(figure.locator("img")).to_have_js_property("complete", True)
    expect(figure.locator("figcaption")).to_contain_text(re.compile(r"p\. \d"))
    figure.get_by_role("button", name="Open page").click()
    expect(reader.locator("rect.lit").first).to_be_visible()
    expect(page.locator(".st-key-view [aria-checked=true], .st-key-view [kind$=Active]").first).to_have_text("Page")


def test_many_files_at_once_are_reported_found_by_name_and_deleted_together(page: Page, tmp_path: Path) -> None:
    visit(page, "/documents")
    expect(page.locator(".st-key-library li").first).to_be_visible()
    mark(page, "library")
    files = [a_pdf(tmp_path / f"letter {number}.pdf", f"Letter {number} was never sent.") for number in range(12)]
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(files)
    expect(page.locator(".st-key-report")).to_contain_text("12 added. A document can be asked as soon as")
    find = page.get_by_role("searchbox", name="Find a document")
    find.fill("letter 1")
    rows = page.locator(".st-key-library li.f")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Select").click()
    page.get_by_role("checkbox", name="All", exact=True).check()
    expect(page.locator(".st-key-library .bulk")).to_contain_text("3 documents chosen")
    page.locator(".st-key-library .bulk").get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("letter 10.pdf")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator(".st-key-library .none-yet")).to_be_visible()
    find.fill("letter")
    expect(rows).to_have_count(9)
    stays(page, "library")


def test_a_document_moves_to_a_new_collection_and_is_found_there(page: Page, tmp_path: Path) -> None:
    have(page, a_pdf(tmp_path / "moving.pdf", "The ferry left at nine."))
    choose(page, "moving.pdf", "Move")
    target = page.get_by_role("dialog").get_by_role("combobox")
    target.fill("Ferries")
    page.get_by_role("option", name="Ferries").click()
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    expect(row(page, "moving.pdf")).to_have_count(0)
    page.locator(".st-key-collection").get_by_role("combobox").click()
    page.get_by_role("option", name="Ferries").click()
    expect(row(page, "moving.pdf").locator(".chip", has_text="ready")).to_be_visible()


def test_where_there_is_no_room_the_list_gives_way_to_the_reader(page: Page, tmp_path: Path) -> None:
    name = f"{'a very long name ' * 8}.pdf"
    have(page, a_pdf(tmp_path / name, "It has a very long name."))
    page.set_viewport_size({"width": 800, "height": 900})
    row(page, name).get_by_role("button", name="Open").click()
    expect(page.locator(".st-key-reader rect.el").first).to_be_visible()
    expect(page.locator(".st-key-library")).to_be_hidden()
    assert not page.get_by_test_id("stMain").evaluate("main => main.scrollWidth > main.clientWidth")
    page.get_by_role("button", name="Close").click()
    expect(row(page, name)).to_be_visible()
    assert not page.get_by_test_id("stMain").evaluate("main => main.scrollWidth > main.clientWidth")


def test_a_citation_of_a_deleted_document_says_that_it_is_gone(
    page: Page, app: Served, chromium: Browser, tmp_path: Path
) -> None:
    have(page, a_pdf(tmp_path / "lamp.pdf", "The lamp of the lighthouse burned 31 litres of oil a night."))
    picture = f"/v1/documents/{row(page, 'lamp.pdf').get_attribute('data-document')}/pages/1.png"
    visit(page, "/")
    choose_engine(page, "No model")
    finished(ask(page, "How much oil did the lamp of the lighthouse burn?"))
    answered = page.url
    visit(page, "/documents")
    choose(page, "lamp.pdf", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page, "lamp.pdf")).to_have_count(0)
    for _ in range(100):
        if page.request.get(picture).status == 404:
            break
        page.wait_for_timeout(100)
    # Another visitor: this one's browser may have kept the picture.
    other = chromium.new_context(base_url=app.url).new_page()
    visit(other, answered)
    answer = other.locator(".st-key-chat .a")
    expect(answer).to_contain_text("31 litres")
    answer.locator(".cite").first.click()
    expect(other.locator(".st-key-run .panel .page")).to_contain_text("is not here")
    other.context.close()
