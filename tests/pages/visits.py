"""What the tests of the pages share: small PDFs, waiting, a visitor's look at a page."""

from __future__ import annotations

import time

import pymupdf
from streamlit.testing.v1 import AppTest

from rag_core.settings import ROOT
from rag_core.workbench import Workbench

COLLECTION = "Harbour"
TIDE = "The harbour authority measured the tide twice a day in 1904. Every entry was read back by a second clerk."


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a paragraph a page."""
    document = pymupdf.open()
    for text in pages:
        document.new_page().insert_textbox((72, 72, 520, 760), text, fontsize=11)
    if password is None:
        return document.tobytes()
    return document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw=password)


def wait_until_read(workbench: Workbench, collection: str, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while any(record.state in ("waiting", "reading", "refining") for record in workbench.documents(collection)):
        assert time.monotonic() < until, workbench.documents(collection)
        time.sleep(0.1)


def screen(page: str = "") -> AppTest:
    """A visitor's first look at a page, by its file name; the first one where none is named."""
    app = AppTest.from_file(str(ROOT / "pages" / "_shell.py"), default_timeout=60).run()
    return app.switch_page(f"{page}.py").run() if page else app
