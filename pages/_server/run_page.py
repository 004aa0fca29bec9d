"""A run as one page that opens offline: the inspector's own modules and styles, the record, and pictures of its pages.

Nothing of the record is written as markup: it stands in the page as data, and goes on the screen through `textContent`.
The page's policy allows the one script and the one style that are in it, pictures in it, and nothing else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import quote

from pages._look.bundle import bundled
from pages._look.files import INSPECTOR_SHEETS, styles
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.pipeline.run import Run
from rag_core.techniques import TECHNIQUES
from rag_core.types import Chunk

PAGE_DPI, THUMBNAIL_DPI = 110, 40
MOST_BYTES = 12_000_000
"""Of pictures, before they are written as text."""


def page_of(run: Run) -> str:
    """The page; pictures that would make it too large are left out, those of citations last."""
    pictures, left = pictures_of(run)
    kept = {
        "record": run.model_dump(mode="json"),
        "pictures": pictures,
        "left": left,
        "labels": {name: technique.label for name, technique in TECHNIQUES.items()},
        "saved_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    # An end tag in a text must not end the block of data.
    data = json.dumps(kept, ensure_ascii=False).replace("<", "\\u003c")
    style, script = styles("tokens.css", "parts.css", *INSPECTOR_SHEETS, "kept.css"), bundled("kept")
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(run.question[:120])}</title>
<style>{style}</style>
</head>
<body>
<main class="page-of-run">
<small class="told"></small>
<div class="root"></div>
<noscript>This page draws itself: allow its script. The record of the run stands in this file as JSON.</noscript>
</main>
<script type="application/json" id="kept">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def pictures_of(run: Run) -> tuple[dict[str, dict[str, Any]], int]:
    """Pictures by their addresses, {src, dpi}, and how many had no room."""
    pictures: dict[str, dict[str, Any]] = {}
    room, left = MOST_BYTES, set[str]()
    for address, document, wanted in _wanted(run):
        if address in pictures:
            continue
        try:
            picture = _drawn(document, wanted)
        except RagError:  # the document is not here any more: the page says so in its place
            continue
        if len(picture) > room:
            left.add(address)
            continue
        room -= len(picture)
        dpi = wanted[1] if isinstance(wanted, tuple) else None
        pictures[address] = {"src": f"data:image/png;base64,{b64encode(picture).decode()}", "dpi": dpi}
    return pictures, len(left)


def _drawn(document: str, wanted: tuple[int, int] | str) -> bytes:
    workbench = get_workbench()
    return workbench.figure(document, wanted) if isinstance(wanted, str) else workbench.page_image(document, *wanted)


def _wanted(run: Run) -> Iterator[tuple[str, str, tuple[int, int] | str]]:
    """The pictures that the page shows, as (address, document, (page, dpi) or name of a figure), dearest first."""
    cited = {chunk for sentence in run.sentences for chunk in sentence.citations}
    chunks = [hit.chunk for hit in run.evidence if hit.chunk.document]
    chunks.sort(key=lambda chunk: chunk.id not in cited)
    for chunk in chunks:
        if chunk.id in cited:
            yield from (
                (_address(chunk, f"pages/{place.page}.png"), chunk.document, (place.page, PAGE_DPI))
                for place in chunk.places
            )
    for chunk in chunks:
        if chunk.image:
            yield _address(chunk, f"figures/{quote(chunk.image, safe='')}"), chunk.document, chunk.image
        if chunk.page:
            yield _address(chunk, f"pages/{chunk.page}.png"), chunk.document, (chunk.page, THUMBNAIL_DPI)


def _address(chunk: Chunk, what: str) -> str:
    """As the inspector would ask for it."""
    return f"/v1/documents/{quote(chunk.document, safe='')}/{what}"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
