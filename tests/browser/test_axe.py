"""What axe-core calls a serious or critical fault: on every screen, light and dark, and where it is narrow."""

from __future__ import annotations

import re
import tarfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rag_core.download import sha256_of
from rag_core.indexing.ledger import Ledger
from rag_core.settings import Settings
from tests.browser.records import kept_reflected
from tests.browser.steps import TIDE, Served, choose_engine, go, settled, upload, visit
from tests.papers import a_pdf

AXE = Settings.from_env().cache_dir / "axe-core-4.14.1.tgz"
SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
MORE = ("Ada Marsh met the harbour authority in Bergen.", "The lighthouse keeper counted forty ships.")
LOOK = """async () => {
  const found = await axe.run(document, { iframes: false, resultTypes: ["violations"] });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
}"""


@dataclass
class Inspection:
    """A page that is looked at light and dark wherever it stands; `faults` is what was found."""

    page: Page
    axe: str
    faults: list[str] = field(default_factory=list)

    def look(self, screen: str, width: int = 1440) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("dark", "light"):
            self.page.emulate_media(color_scheme=scheme)
            expect(self.page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
            settled(self.page)
            if not self.page.evaluate("() => 'axe' in window"):
                self.page.evaluate(self.axe)
            self.faults += [f"{screen}, {scheme}, {width} px: {fault}" for fault in self.page.evaluate(LOOK)]


@pytest.fixture
def inspection(page: Page) -> Inspection:
    if not AXE.exists():
        pytest.skip(f"{AXE.name} is not in the cache: make browser fetches it, with npm")
    assert sha256_of(AXE) == SHA256, f"{AXE} is another file than the one that was looked through: delete it"
    with tarfile.open(AXE) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        return Inspection(page, script.read().decode())


@pytest.mark.timeout(600)  # two dozen looks, each of seconds where the machine is slow
def test_no_screen_has_a_serious_fault(inspection: Inspection, app: Served, tmp_path: Path) -> None:
    page = inspection.page
    collection = f"Quay {uuid.uuid4().hex[:6]}"  # one that has no graph yet, also where this is tried once more
    ledger = Ledger(app.data / "ledger.sqlite")
    ledger.create_collection(collection, "")
    ledger.close()
    visit(page, "/documents")
    page.locator(".st-key-collection").get_by_role("combobox").click()
    page.get_by_role("option", name=collection).click()
    settled(page)
    choose_engine(page, "No model")
    document = upload(page, a_pdf(tmp_path / "quay.pdf", TIDE, *MORE))
    expect(document.locator(".chip", has_text="ready")).to_be_visible(timeout=120_000)
    document.get_by_role("button", name="Open").click()
    expect(page.locator(".st-key-reader rect.el").first).to_be_visible()
    inspection.look("Documents")

    go(page, "Knowledge", "stMain")
    build = page.get_by_role("button", name="Build the graph")
    expect(build).to_be_visible()
    inspection.look("Knowledge, empty")
    build.click()
    expect(page.locator(".st-key-entities").get_by_role("button").first).to_be_visible(timeout=90_000)
    inspection.look("Knowledge")

    go(page, "Compare", "stMain")
    columns = page.locator(".st-key-columns")
    question = columns.get_by_role("textbox", name="Question")
    question.fill("How often was the tide measured?")
    question.press("Enter")
    for column in columns.locator(".col").all():
        expect(column.locator(".status")).to_contain_text("grade", timeout=120_000)
    inspection.look("Compare")
    inspection.look("Compare", width=800)
    real = re.search(r"runs=(\w+)", page.url)
    assert real is not None

    go(page, "Settings", "stMain")
    inspection.look("Settings")

    # Every check is on this run, so that every part of the inspector has something to show.
    run = kept_reflected(page, app, real[1])
    visit(page, f"/runs?run={run.id}")
    expect(page.locator(".st-key-inspector .lane").first).to_be_visible()
    inspection.look("Runs")
    visit(page, f"/?chat={run.chat}&run={run.id}")
    inspector = page.locator(".st-key-run")
    expect(inspector.locator(".lane").first).to_be_visible()
    inspection.look("Ask", width=800)
    for name in ("Reflection", "Correction", "Healing", "Prompts"):
        tab = inspector.get_by_role("tab", name=name)
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        inspection.look(f"Ask, {name}")
    assert inspection.faults == []
