"""Small PDFs made on the spot."""

from __future__ import annotations

from pathlib import Path

import pymupdf


def a_pdf(path: Path, *pages: str, password: str | None = None) -> Path:
    """A PDF with a page of text for each argument."""
    document = pymupdf.open()
    for text in pages:
        page = document.new_page()
        page.insert_textbox(pymupdf.Rect(72, 72, 523, 770), text, fontsize=11)
    if password:
        document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw=password)
    else:
        document.save(path)
    return path
