"""Takes the pictures of this folder: `python -m docs.pictures`, from the project's root, where Chromium is.

The demo documents are indexed in a data directory of its own, and no model is asked.
"""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.screens import CHROMIUM, ask, serve, visit
from rag_core.settings import ROOT, Settings
from rag_core.workbench import DEMO_COLLECTION, Workbench

HERE = Path(__file__).parent
QUESTION = "What new product was launched by the company that InnovateCorp acquired?"
CODE_NAME = "What was the code name of the DataWeave acquisition in the board's papers?"
VOTE = "Who voted against the acquisition of DataWeave?"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ragscope-") as data:
        with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": data}), say=print) as workbench:
            workbench.ingest(ROOT / "data" / "demo", collection=DEMO_COLLECTION)
            workbench.graphs.build_graph(DEMO_COLLECTION, engine="keyless")
        server, url = serve(Path(data))
        try:
            take_all(url)
        finally:
            server.terminate()
            server.wait(30)


def take_all(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
        ask_picture(page, url)
        wrong_picture(page, url)
        documents_picture(page, url)
        settings_picture(page, url)
        knowledge_picture(page, url, "knowledge.png")
        compare_picture(page, url)
        runs_picture(page, url)
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="dark")
        knowledge_picture(page, url, "knowledge-dark.png")
        browser.close()


def ask_picture(page: Page, url: str) -> None:
    """An answer, and beside it its run: hops and parts as lanes, the evidence with its pages lit."""
    visit(page, f"{url}/", shows=".st-key-switches .sw")
    page.locator(".st-key-switches").get_by_role("radio", name="Balanced").click()
    ask(page, QUESTION)
    page.locator(".st-key-chat .card.a.done").wait_for()
    taken(page, ".st-key-run .page.drawn rect.lit", "ask.png")


def wrong_picture(page: Page, url: str) -> None:
    """An answer that was called wrong, and what to try."""
    visit(page, f"{url}/", shows=".st-key-switches .sw")
    page.locator(".st-key-switches").get_by_role("radio", name="Simple").click()
    ask(page, CODE_NAME)
    answer = page.locator(".st-key-chat .card.a.done")
    answer.get_by_role("button", name="Wrong").click()
    taken(page, ".st-key-chat .try li", "wrong.png")


def runs_picture(page: Page, url: str) -> None:
    """The runs, with one of them open."""
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, f"{url}/runs", shows=".st-key-history .open")
    page.locator(".st-key-history .open", has_text=QUESTION).first.click()
    taken(page, ".st-key-inspector .page.drawn rect.lit", "runs.png")


def settings_picture(page: Page, url: str) -> None:
    """The engine, the data, and how every part is."""
    visit(page, f"{url}/settings", shows=".st-key-title-row, h1")
    taken(page, "text=Health", "settings.png")


def knowledge_picture(page: Page, url: str, name: str) -> None:
    """The graph, and what is said of one of its entities."""
    visit(page, f"{url}/knowledge", shows=".st-key-entities button")
    page.locator(".st-key-entities").get_by_role("button", name="DataWeave").first.click()
    taken(page, ".st-key-entity .page.drawn", name)


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
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    # 256 colours hold all that these screens have, at less than half the size.
    picture.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


if __name__ == "__main__":
    main()
