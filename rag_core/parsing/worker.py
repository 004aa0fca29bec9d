"""The process that reads PDFs, so that no file can take the app down: `python -m rag_core.parsing.worker NICENESS`.

It takes a request a line on stdin and answers with JSON, a message a line, on stdout; for a parse one message a page,
so that what is read is kept when a later page kills it. It ends when stdin does.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_core.parsing.records import FileFacts

MEMORY_BYTES = 4 * 1024**3
RENDER_PIXELS = 4_000

Message = dict[str, Any]


class _Refused(Exception):
    """The whole file cannot be read; `code` and the sentence go to the user."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def main() -> None:
    """Serve until stdin ends."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.nice(int(sys.argv[1]))
    os.dup2(2, 1)  # MuPDF and Tesseract print: what they say must not get among the messages
    with suppress(ValueError, OSError):  # a machine with a lower limit keeps its own
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    import rag_core.parsing.vendor  # noqa: F401 (deferred: the limit must hold while the models load)

    def send(message: Message) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    send({"ready": True})
    with suppress(BrokenPipeError):
        for line in sys.stdin:
            for message in _answers(json.loads(line)):
                send(message)
            send({"done": True})


def _answers(request: Message) -> Iterator[Message]:
    # deferred: the limit is set first
    from rag_core.parsing.figures import repeated_images
    from rag_core.parsing.vendor import MupdfError

    # The parent holds the clock. Should it be gone while C code runs, the kernel ends us soon after.
    seconds = 2 * request["page_seconds"] + 5
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with _opened(request) as document:
            if request["do"] == "render":
                yield {"png": base64.b64encode(_render(document, request)).decode()}
                return
            yield {"facts": _facts(document).model_dump(mode="json")}
            if request["do"] == "parse":
                repeated = repeated_images(document) if request["level"] == "full" else frozenset()
                for number in range(request["first"], document.page_count):
                    signal.setitimer(signal.ITIMER_REAL, seconds)
                    yield _page(document, number, request, repeated)
    except _Refused as refused:
        yield {"refused": refused.code, "reason": str(refused)}
    except (MupdfError, RuntimeError, ValueError, MemoryError):
        yield {"refused": "unreadable", "reason": "It is damaged and cannot be opened. Save it again as a PDF."}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _opened(request: Message) -> Any:
    from rag_core.parsing.vendor import MupdfError, pymupdf

    path, password = Path(request["path"]), request["password"]
    try:
        document = pymupdf.open(path, filetype="pdf")
    except (MupdfError, RuntimeError, ValueError) as error:
        raise _Refused(*_why_not_open(path)) from error
    if not document.is_pdf:
        raise _Refused("not_pdf", "It is not a PDF. Save or print it as a PDF first.")
    if document.needs_pass:
        if password is None:
            raise _Refused("locked", "It is locked. Give its password to index it.")
        if not document.authenticate(password):
            raise _Refused("wrong_password", "The password does not open it. Give the right one.")
    if document.page_count == 0:
        raise _Refused("no_pages", "It has no pages. Check that the file is complete.")
    if document.page_count > request["max_pages"]:
        raise _Refused(
            "too_many_pages",
            f"It has {document.page_count} pages, more than {request['max_pages']}. "
            "Split it, or raise RAGSCOPE_MAX_PAGES.",
        )
    return document


def _why_not_open(path: Path) -> tuple[str, str]:
    with path.open("rb") as file:
        if b"%PDF-" in file.read(1024):
            return "unreadable", "It is damaged and cannot be opened. Save it again as a PDF."
    return "not_pdf", "It is not a PDF. Save or print it as a PDF first."


def _facts(document: Any) -> FileFacts:
    from rag_core.parsing.lines import clean

    title = clean((document.metadata or {}).get("title") or "")
    return FileFacts(pages=document.page_count, title=title, page_sizes=tuple(_sizes(document)))


def _sizes(document: Any) -> Iterator[tuple[float, float]]:
    for number in range(document.page_count):
        try:
            rect = document[number].rect
        except (RuntimeError, ValueError):  # the page is named as failed when it is read
            yield 612.0, 792.0
        else:
            yield rect.width, rect.height


def _page(document: Any, number: int, request: Message, repeated: frozenset[int]) -> Message:
    """Read one page; whatever goes wrong in it is said, and its text is read alone where that can be done."""
    from rag_core.parsing import full, quick

    page = reason = trace = None
    try:
        page = document[number]
        if page.rotation:
            page.remove_rotation()  # from here on all geometry is as displayed
        if request["level"] == "full" and number != request["text_only"]:
            return {"page": full.read_page(page, Path(request["figures"]), repeated).model_dump(mode="json")}
    except full.Unreadable as unreadable:
        return {"reason": str(unreadable)}
    except Exception as error:  # of any kind: PyMuPDF raises many, and one page must not cost the others
        reason, trace = _reason(error), traceback.format_exc()
    try:
        if page is not None:
            return {"page": quick.read_page(page).model_dump(mode="json"), "reason": reason, "trace": trace}
    except Exception as error:
        reason, trace = _reason(error), traceback.format_exc()
    return {"reason": reason, "trace": trace}


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "needs more memory than a reader may have"
    return f"could not be read whole ({type(error).__name__}: {error})"[:200]


def _render(document: Any, request: Message) -> bytes:
    if not 1 <= request["page"] <= document.page_count:
        raise _Refused("no_such_page", f"It has no page {request['page']}; it has {document.page_count}.")
    page = document[request["page"] - 1]
    longest = max(page.rect.width, page.rect.height, 1) / 72
    return page.get_pixmap(dpi=max(1, min(request["dpi"], int(RENDER_PIXELS / longest)))).tobytes("png")


if __name__ == "__main__":
    main()
