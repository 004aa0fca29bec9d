"""How fast the screens are, in a real Chromium: milliseconds, p50 and p95, beside what they are meant to be.

    python -m benchmarks.screens [--rounds 20]

- first event: Enter in the question box -> the first step of the run on the screen (no model, demo documents)
- event to screen: a scripted model sends a piece of text with its time -> the piece is on the screen, on one clock;
  between them are the model client, the run's thread, the event stream and the drawing
- 100 chunks: a click on another question, on the Evidence tab -> its 100 cards painted; on a citation -> the lit page
- pages: a click in the menu -> the page is there and its script through, with 500 documents in the collection and 2,000
  runs in the history; Runs with all of them to look through
- toggle: a click on a technique's switch -> it is painted as switched
- 60 steps: elements that an event of a run puts on the screen or takes off it, all redraws between two events counted,
  beside those that the inspector has at the end
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from playwright.sync_api import Page, WebSocketRoute, sync_playwright

from benchmarks.table import machine, percentile, print_table
from rag_core.embedding.weights import MODEL
from rag_core.indexing.job import fingerprint_of
from rag_core.indexing.ledger import Ledger, Reading
from rag_core.parsing.chunking import ChunkSettings
from rag_core.pipeline.history import History
from rag_core.pipeline.run import Run
from rag_core.settings import ROOT, Settings
from rag_core.workbench import DEMO_COLLECTION, Workbench
from tests.model_server import Turn, model_server

QUESTIONS = (
    "What was InnovateCorp's revenue in the third quarter of 2023?",
    "When did the acquisition of DataWeave close?",
    "Who founded DataWeave?",
    "Which sector grew the most in the third quarter?",
)
CHROMIUM = shutil.which("chromium")
HUNDRED = "hundred"
PIECES = 60
PIECE_EVERY_S = 0.05
MANY = "Many"
DOCUMENTS = 500
RUNS = 2_000
STEPS = 60
STEP_EVERY_MS = 60
PAGES = {
    "Documents": ".st-key-library li.f",
    "Compare": ".st-key-columns .col",
    "Knowledge": ".st-key-graph-none button",
    "Runs": ".st-key-history .one",
    "Settings": ".st-key-settings h1",
    "Ask": ".st-key-chat .empty",
}

# Predicates of Playwright are evaluated as strings, which the app's content policy forbids: each script is a promise.
ROOTS = "[...document.querySelectorAll('.st-key-run *, .st-key-chat *')].map((one) => one.shadowRoot).filter(Boolean)"

SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'

IN_TIME = """(name) => Promise.race([window[name],
  new Promise((_, refuse) => setTimeout(() => refuse(new Error(`no ${name} within 30 s`)), 30_000))])"""

FIRST_STEP = f"""() => {{
  const roots = {ROOTS};
  let entered;
  document.addEventListener('keydown', (event) => {{
    if (event.key === 'Enter') entered = performance.now();
  }}, true);
  window.first = new Promise((done) => {{
    const look = (_, watch) => {{
      if (!roots.some((root) => root.querySelector('.lane'))) return;
      watch.disconnect();
      requestAnimationFrame(() => done(performance.now() - entered));
    }};
    for (const root of roots) new MutationObserver(look).observe(root, {{ childList: true, subtree: true }});
  }});
}}"""

PIECES_SEEN = f"""(count) => {{
  const roots = {ROOTS}, late = new Map();
  window.pieces = new Promise((done) => {{
    const look = () => {{
      const now = Date.now(), texts = roots.map((root) => root.querySelector('.text')?.textContent ?? '');
      for (const [, sent] of texts.join(' ').matchAll(/t(\\d{{13}})/g)) {{
        if (!late.has(sent)) late.set(sent, now - Number(sent));
      }}
      if (late.size >= count) done([...late.values()]);
    }};
    const all = {{ childList: true, subtree: true, characterData: true }};
    for (const root of roots) new MutationObserver(look).observe(root, all);
  }});
}}"""

CLICK_AND_PAINT = f"""([selector, ready]) => new Promise((done, refuse) => {{
  setTimeout(() => refuse(new Error(`no ${{ready}} within 30 s of a click on ${{selector}}`)), 30_000);
  const find = (what) => {ROOTS}.map((root) => root.querySelector(what)).find(Boolean);
  const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  const look = () => (find(ready) ? painted() : setTimeout(look, 1));
  const began = performance.now();
  find(selector).click();
  look();
}})"""

# A page is there when what it shows is, and its script is through: until then a click could meet what is drawn anew.
FOLLOW = f"""([name, part, what]) => new Promise((done, refuse) => {{
  setTimeout(() => refuse(new Error(`no ${{part}} ${{what}} within 30 s`)), 30_000);
  const seen = () => document.querySelector(`${{part}} ${{what}}`)
    ?? [...document.querySelectorAll(`${{part}} *`)].find((one) => one.shadowRoot?.querySelector(what));
  const here = () => document.querySelector('.st-key-here a')?.textContent === name; // not what is left of a visit
  const look = () => (here() && seen() && document.querySelector('{SETTLED}')
    ? setTimeout(() => done(performance.now() - began)) : requestAnimationFrame(look));
  const began = performance.now();
  [...document.querySelectorAll('[data-testid="stSidebar"] a')].find((one) => one.textContent === name).click();
  requestAnimationFrame(look);
}})"""

SWITCH = """(one) => new Promise((done) => {
  const root = one.getRootNode(), { key } = one.dataset;
  const was = one.getAttribute("aria-checked"), began = performance.now();
  const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  const look = () => (root.querySelector(`[data-key="${key}"]`).getAttribute("aria-checked") !== was
    ? painted() : setTimeout(look, 1));
  one.click();
  look();
})"""

REPLACED = f"""() => {{
  const elements = (nodes) => [...nodes].filter((one) => one.nodeType === Node.ELEMENT_NODE)
    .reduce((sum, one) => sum + 1 + one.querySelectorAll("*").length, 0);
  window.replaced = 0;
  const look = (changes) => {{
    for (const one of changes) window.replaced += elements(one.addedNodes) + elements(one.removedNodes);
  }};
  for (const root of {ROOTS}) new MutationObserver(look).observe(root, {{ childList: true, subtree: true }});
}}"""
TAKE_REPLACED = "() => [window.replaced, window.replaced = 0][0]"
IN_INSPECTOR = "one => one.getRootNode().querySelectorAll('*').length"


class Stamps:
    """Pieces of text that carry the time at which they are sent, in milliseconds."""

    def __len__(self) -> int:
        return PIECES

    def __iter__(self) -> Iterator[str]:
        for _ in range(PIECES):
            time.sleep(PIECE_EVERY_S)
            yield f"t{time.time() * 1000:.0f} "


def prepare(data: Path) -> None:
    """Index the demo, and keep a chat of two runs with 100 chunks of evidence each."""
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(data)}), say=print) as workbench:
        workbench.ingest(ROOT / "data" / "demo", collection=DEMO_COLLECTION)
        asked = QUESTIONS[:2]
        runs = [workbench.ask(one, collection=DEMO_COLLECTION, engine="keyless", contexts=100) for one in asked]
        usual = workbench.ask(QUESTIONS[2], collection=DEMO_COLLECTION, engine="keyless")
    fill(data, usual)
    history = History(data / "runs.sqlite")
    for run in runs:
        history.keep(run.model_copy(update={"chat": HUNDRED}))
    history.close()


def fill(data: Path, usual: Run) -> None:
    """A collection of 500 documents as they stand in the ledger, and 2,000 runs, four a chat, as one usual run is."""
    fingerprint = fingerprint_of(ChunkSettings(), f"{MODEL}/{Settings.from_env().precision}")
    ledger = Ledger(data / "ledger.sqlite")
    ledger.create_collection(MANY, "Reports of many years.")
    for number in range(DOCUMENTS):
        document, _ = ledger.add(MANY, f"report {number:03}.pdf", f"{number:064x}", 300_000, None)
        read = Reading(
            title=f"Report {number}", pages=12, page_sizes=((595, 842),) * 12, elements=(), failed=(), chunks=40,
            stems={f"term{at}": 1 for at in range(number, number + 100)}, fingerprint=fingerprint,
        )  # fmt: skip
        ledger.flip(document, read, state="ready", seconds=1)
    ledger.close()
    history, began = History(data / "runs.sqlite"), datetime(2025, 1, 1, tzinfo=UTC)
    for number in range(RUNS):
        at = (began + timedelta(minutes=number)).isoformat()
        new = {"id": f"run{number}", "chat": f"chat{number // 4}", "created_at": at, "collection": MANY}
        history.keep(usual.model_copy(update={**new, "question": f"{usual.question} ({number})"}))
    history.close()


def serve(data: Path, base_url: str | None = None) -> tuple[subprocess.Popen, str]:
    """Start the app, with a scripted model or none; gives the process and the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = {"OPENAI_BASE_URL": base_url, "OPENAI_MODEL": "scripted", "OPENAI_API_KEY": "none"} if base_url else {}
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
        cwd=ROOT, env={**os.environ, **model, "RAGSCOPE_DATA_DIR": str(data)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    while True:
        try:
            httpx.get(f"{url}/v1/health", timeout=30).raise_for_status()
            return server, url
        except httpx.TransportError:
            time.sleep(0.2)


def visit(page: Page, address: str, shows: str = ".st-key-run .nothing, .st-key-run .tl") -> None:
    page.goto(address)
    page.wait_for_selector(SETTLED)
    page.wait_for_selector(shows)


def ask(page: Page, question: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")


def first_event(page: Page, url: str, at: int) -> float:
    visit(page, f"{url}/")
    page.locator(".st-key-engine").get_by_role("combobox").click()
    page.get_by_role("option", name="No model").click()
    page.wait_for_timeout(200)  # the choice is on its way to the server
    page.wait_for_selector(SETTLED)
    page.evaluate(FIRST_STEP)
    ask(page, QUESTIONS[at % len(QUESTIONS)])
    return page.evaluate(IN_TIME, "first")


def event_to_screen(page: Page, url: str) -> list[float]:
    visit(page, f"{url}/")
    page.evaluate(PIECES_SEEN, PIECES - 1)
    ask(page, QUESTIONS[0])
    return page.evaluate(IN_TIME, "pieces")


def clicks(page: Page, url: str, rounds: int) -> dict[str, list[float]]:
    visit(page, f"{url}/?chat={HUNDRED}")
    page.wait_for_selector(".st-key-run .ev")
    taken: dict[str, list[float]] = {"another question": [], "Evidence tab": [], "citation": []}
    hundredth = ".ev:nth-child(100)"
    for at in range(rounds):
        page.evaluate(CLICK_AND_PAINT, ["[data-tab=prompts]", ".prompt"])
        turn = f".turn:nth-child({1 + at % 2})"
        taken["another question"].append(page.evaluate(CLICK_AND_PAINT, [f"{turn} .q", hundredth]))
        page.wait_for_timeout(500)
        page.evaluate(CLICK_AND_PAINT, ["[data-tab=prompts]", ".prompt"])
        taken["Evidence tab"].append(page.evaluate(CLICK_AND_PAINT, ["[data-tab=evidence]", hundredth]))
        taken["citation"].append(page.evaluate(CLICK_AND_PAINT, [f"{turn} .cite", ".where-lit ~ .page.drawn rect.lit"]))
    return taken


def pages(page: Page, url: str, rounds: int) -> dict[str, list[float]]:
    visit(page, f"{url}/")
    page.locator(".st-key-collection").get_by_role("combobox").click()
    page.get_by_role("option", name=MANY).click()
    page.get_by_text(f"Collection, {DOCUMENTS} documents").wait_for()
    page.wait_for_selector(SETTLED)
    taken: dict[str, list[float]] = {name: [] for name in PAGES}
    for _ in range(rounds + 1):
        for name, shows in PAGES.items():
            part, _, what = shows.partition(" ")
            taken[name].append(page.evaluate(FOLLOW, [name, part, what]))
            page.wait_for_timeout(300)  # what is fetched ahead is not to slow the next one
    return {name: lasted[1:] for name, lasted in taken.items()}


def toggles(page: Page, url: str) -> list[float]:
    visit(page, f"{url}/")
    switches = page.locator(".st-key-switches [role=switch][data-key^=on-]")
    keys = switches.evaluate_all("all => all.map(one => one.dataset.key)")
    taken = []
    for key in keys * 2:
        taken.append(page.locator(f'.st-key-switches [data-key="{key}"]').evaluate(SWITCH))
        page.wait_for_timeout(200)
    return taken


def steps(page: Page, url: str) -> tuple[list[float], int]:
    """Tell the tab of a run of 60 steps; gives the elements that each event replaced, and those there at the end."""
    sockets: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("/v1/tabs/"), lambda socket: sockets.append(socket))
    visit(page, f"{url}/")
    page.wait_for_selector(".st-key-chat .empty")
    page.evaluate(REPLACED)
    sockets[-1].send(json.dumps({"run": "told", "question": QUESTIONS[0]}))
    page.wait_for_selector(".st-key-run .tl")
    page.evaluate(TAKE_REPLACED)
    replaced = []
    for number, (kind, span) in enumerate(spans(), 1):
        sockets[-1].send(json.dumps({"run": "told", "events": [{"n": number, "kind": kind, "data": span}]}))
        page.wait_for_timeout(STEP_EVERY_MS)
        replaced.append(page.evaluate(TAKE_REPLACED))
    return replaced, page.locator(".st-key-run .tl").evaluate(IN_INSPECTOR)


def spans() -> Iterator[tuple[str, dict[str, object]]]:
    """The events of a run of 60 steps, one after the other, in four hops."""
    for number in range(STEPS):
        hop = number // (STEPS // 4) * (STEPS // 4)
        name, parent = ("retrieve", None) if number == hop else (f"step_{number}", hop)
        opened = {"span_id": number, "parent_id": parent, "name": name, "phase": "retrieve", "start_s": number / 10}
        yield "open", opened
        told = {"query": f"{QUESTIONS[0]} ({number})", "found": 8}
        yield "close", {**opened, "duration_s": 0.1, "attributes": told}


def measure(rounds: int, data: Path) -> tuple[list[tuple[str, list[float], float]], str]:
    prepare(data)
    with model_server() as model, sync_playwright() as playwright:
        model.then = Turn(pieces=Stamps())  # type: ignore[arg-type]  # only iterated over
        server, url = serve(data, model.base_url)
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            first_event(page, url, 0)  # the first question of a process loads what later ones have
            rows: list[tuple[str, list[float], float]] = [
                ("first event after Enter", [first_event(page, url, at) for at in range(rounds)], 300),
                ("event to screen", event_to_screen(page, url), 50),
            ]
            for what, taken in clicks(page, url, rounds).items():
                rows.append((f"100 chunks: {what}", taken, 200))
            rows.append(("toggle", toggles(page, url), 100))
            for what, taken in pages(page, url, max(1, rounds // 2)).items():
                rows.append((f"{DOCUMENTS} documents, {RUNS:,} runs: {what}", taken, 1000))
            redraws = told_of_steps(*steps(page, url))
            browser.close()
        finally:
            server.terminate()
            server.wait(30)
    return rows, redraws


def told_of_steps(replaced: list[float], there: int) -> str:
    middle, most = percentile(replaced, 50), percentile(replaced, 95)
    return (
        f"{STEPS} steps: an event puts {middle:.0f} (p95 {most:.0f}) elements on the screen or takes them off it, "
        f"of the {there:,} that the inspector has at the end."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the screens are.")
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as data:
        rows, redraws = measure(rounds, Path(data))
    cells = [
        [what, str(len(taken)), f"{percentile(taken, 50):.0f}", f"{percentile(taken, 95):.0f}", f"{aim:.0f}"]
        for what, taken, aim in rows
    ]
    print_table(f"Screens, milliseconds ({machine()})", ["what", "n", "p50", "p95", "aim p95"], cells)
    print(redraws)


if __name__ == "__main__":
    main()
