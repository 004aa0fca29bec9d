"""Takes the pictures of this folder: `python -m docs.pictures`, from the project's root, where Chromium is.

The demo documents are indexed in a data directory of its own, and no model is asked.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.screens import CHROMIUM, ask, serve, visit
from rag_core.settings import ROOT, Settings
from rag_core.workbench import DEMO_COLLECTION, Workbench

HERE = Path(__file__).parent
QUESTION = "What new product was launched by the company that InnovateCorp acquired?"
VOTE = "Who voted against the acquisition of DataWeave?"


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": data}), say=print) as workbench:
            workbench.ingest(ROOT / "data" / "demo", collection=DEMO_COLLECTION)
        server, url = serve(Path(data))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
                ask_picture(page, url)
                documents_picture(page, url)
                compare_picture(page, url)
                browser.close()
        finally:
            server.terminate()
            server.wait(30)


def ask_picture(page: Page, url: str) -> None:
    """An answer, and beside it its run: hops and parts as lanes, the evidence with its pages lit."""
    visit(page, f"{url}/", shows=".st-key-switches .sw")
    page.locator(".st-key-switches").get_by_role("radio", name="Balanced").click()
    ask(page, QUESTION)
    page.locator(".st-key-chat .card.a.done").wait_for()
    taken(page, ".st-key-run .page.drawn rect.lit", "ask.png")


def documents_picture(page: Page, url: str) -> None:
    """The library, with the report open at its tables."""
    visit(page, f"{url}/documents", shows=".st-key-library li")
    page.locator(".st-key-library li", has_text="innovatecorp-q3").get_by_role("button", name="Open").click()
    taken(page, ".st-key-reader .page.drawn rect.el", "documents.png")


def compare_picture(page: Page, url: str) -> None:
    """A question with two plans, and under them what each technique of the larger one bought."""
    page.set_viewport_size({"width": 1440, "height": 1700})
    visit(page, f"{url}/compare", shows=".st-key-columns .col")
    columns = page.locator(".st-key-columns")
    columns.get_by_role("combobox", name="Plan of column 2").select_option("quality")
    box = columns.get_by_role("textbox", name="Question")
    box.fill(VOTE)
    box.press("Enter")
    ledger = columns.get_by_role("region", name="What did each technique buy?")
    ledger.get_by_role("button", name="Quality").click()
    ledger.get_by_role("button", name="more").click()
    ledger.get_by_role("button", name="Ask again").wait_for(timeout=120_000)
    taken(page, ".st-key-columns .totals", "compare.png")


def taken(page: Page, shown: str, name: str) -> None:
    page.locator(shown).first.wait_for()
    page.wait_for_timeout(500)  # what fades in is in
    page.screenshot(path=HERE / name)


if __name__ == "__main__":
    main()
