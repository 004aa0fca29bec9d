"""A real server, a real Chromium, and a model that says what a test wants; every request is looked at."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from rag_core.indexing.ledger import Ledger
from rag_core.settings import ROOT
from tests.browser.steps import COLLECTION, Served
from tests.model_server import model_server
from tests.web_server import web_server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Two test files run at a time, and whoever runs them may have other things to do.
expect.set_options(timeout=45_000)
QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            # Beside a full run of tests a browser can be slower than any limit; the report names what was tried again.
            item.add_marker(pytest.mark.flaky(reruns=1))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed: apt install chromium"))


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("browser")
    # A collection of its own: in an empty place the app would index the demo first.
    ledger = Ledger(data / "ledger.sqlite")
    ledger.create_collection(COLLECTION, "Ledgers of a harbour.")
    ledger.close()
    with model_server() as model, web_server() as web, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        model_env = {"OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "scripted", "OPENAI_API_KEY": "none"}
        model_env["RAGSCOPE_MODEL_TIMEOUT_S"] = "240"  # an answer may wait for what a test does meanwhile
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT, env={**os.environ, **model_env, "RAGSCOPE_SEARXNG_URL": web.url, "RAGSCOPE_DATA_DIR": str(data)},
        )  # fmt: skip
        try:
            yield Served(wait_until_up(f"http://127.0.0.1:{port}"), model, web, data)
        finally:
            server.terminate()
            server.wait(30)


def wait_until_up(url: str, seconds: float = 90) -> str:
    until = time.monotonic() + seconds
    while True:
        try:
            if httpx.get(f"{url}/v1/health", timeout=20).status_code == 200:
                return url
        except httpx.TransportError:
            pass
        assert time.monotonic() < until, "the app did not come up"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; not for the session, since Playwright's loop would be in the way of the tests that come after."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def context(app: Served, chromium: Browser) -> Iterator[BrowserContext]:
    """A visitor. At the end: nothing was asked of any other address, no script of a document ran, no page broke."""
    opened = chromium.new_context(base_url=app.url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    opened.set_default_timeout(45_000)
    foreign: list[str] = []
    broken: list[str] = []
    inside = (app.url, app.url.replace("http", "ws"), "data:", "blob:")

    def dismissed(dialog: Dialog) -> None:
        broken.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    opened.on("request", lambda request: None if request.url.startswith(inside) else foreign.append(request.url))
    opened.on("dialog", dismissed)
    opened.on("weberror", lambda error: broken.append(str(error.error)))
    yield opened
    opened.close()
    assert foreign == []
    assert broken == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
