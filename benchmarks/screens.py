"""How fast the screens are, in a real Chromium: milliseconds, p50 and p95, beside what they are meant to be.

    python -m benchmarks.screens [--rounds 20]

- first event: Enter in the question box -> the first step of the run on the screen (no model, demo documents)
- event to screen: a scripted model sends a piece of text with its time -> the piece is on the screen, on one clock;
  between them are the model client, the run's thread, the event stream and the drawing
- 100 chunks: a click on another question, on the Evidence tab -> its 100 cards painted; on a citation -> the lit page
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright

from benchmarks.table import machine, percentile, print_table
from rag_core.pipeline.history import History
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
    history = History(data / "runs.sqlite")
    for run in runs:
        history.keep(run.model_copy(update={"chat": HUNDRED}))
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


def measure(rounds: int, data: Path) -> list[tuple[str, list[float], float]]:
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
            browser.close()
        finally:
            server.terminate()
            server.wait(30)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the screens are.")
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as data:
        rows = measure(rounds, Path(data))
    cells = [
        [what, str(len(taken)), f"{percentile(taken, 50):.0f}", f"{percentile(taken, 95):.0f}", f"{aim:.0f}"]
        for what, taken, aim in rows
    ]
    print_table(f"Screens, milliseconds ({machine()})", ["what", "n", "p50", "p95", "aim p95"], cells)


if __name__ == "__main__":
    main()
