"""The process that reads PDFs, so that no file can take the app down: `python -m rag_core.parsing.worker NICENESS`.

It takes a request a line on stdin and answers with JSON, a message a line, on stdout; for pages one message each, so
that what is read is kept when a later page kills it. It ends when stdin does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import sys
import traceback
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_core.parsing.formats.kinds import is_view
from rag_core.parsing.records import FileFacts, OcrSettings, PageBlocks
from rag_core.parsing.refused import Refused
from rag_core.parsing.sandbox import PATIENCE, shut_in

RENDER_PIXELS = 4_000
DIGEST_DPI, DIGEST_PIXELS = 72, 1_500
HELD = 3
PAGE_CHARS, PAGE_BLOCKS = 200_000, 20_000
"""A page of a newspaper has 60,000 characters. What a page has beyond these is left out, and said."""

OUT_OF_MEMORY = re.compile(r"bad_alloc|[mc]alloc .*failed|[Oo]ut of memory")

Message = dict[str, Any]


def main() -> None:
    """Serve until stdin ends."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # MuPDF and Tesseract print: what they say must not get among the messages
    shut_in(int(sys.argv[1]))
    import rag_core.parsing.vendor  # noqa: F401 (deferred: the limit must hold while the models load)

    def send(message: Message) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    send({"ready": True})
    held = _Held()
    with suppress(BrokenPipeError):
        for line in sys.stdin:
            for message in _answers(json.loads(line), held):
                send(message)
            send({"done": True})


def _answers(request: Message, held: _Held) -> Iterator[Message]:
    # deferred: the limit is set first
    from rag_core.parsing.figures import repeated_images
    from rag_core.parsing.formats.view import make_view
    from rag_core.parsing.vendor import MupdfError

    # The parent holds the clock. Should it be gone while C code runs, the kernel ends us soon after.
    seconds = (PATIENCE + 1) * request["page_seconds"] + 5
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        if request["do"] == "typeset":
            for _ in make_view(Path(request["path"]), Path(request["view"]), request["max_pages"]):
                signal.setitimer(signal.ITIMER_REAL, seconds)
                yield {"typeset": True}
            return
        document = held.document(request)
        match request["do"]:
            case "render":
                yield {"png": base64.b64encode(_render(document, request)).decode()}
            case "inspect":
                repeated = sorted(repeated_images(document)) if request["level"] == "full" else []
                yield {"facts": _facts(document).model_dump(mode="json"), "repeated": repeated}
            case "read":
                for number in request["pages"]:
                    signal.setitimer(signal.ITIMER_REAL, seconds)
                    yield {"number": number, **_page(document, number - 1, request)}
    except Refused as refused:
        yield {"refused": refused.code, "reason": str(refused)}
    except MemoryError:
        yield {"lost": "needs more memory than a reader may have"}
    except (MupdfError, RuntimeError, ValueError, OSError):
        yield {"refused": "unreadable", "reason": "It is damaged and cannot be opened. Save it again as a PDF."}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _Held:
    """The last documents, kept open: pages come in several requests, and opening may mean mending the whole file."""

    def __init__(self) -> None:
        self._documents: OrderedDict[object, Any] = OrderedDict()

    def document(self, request: Message) -> Any:
        state = Path(request["path"]).stat()
        key = request["path"], request["password"], state.st_mtime_ns, state.st_size
        if key not in self._documents:
            self._documents[key] = _opened(request)
        self._documents.move_to_end(key)
        if len(self._documents) > HELD:
            self._documents.popitem(last=False)[1].close()
        return self._documents[key]


def _opened(request: Message) -> Any:
    from rag_core.parsing.vendor import MupdfError, pymupdf

    path, password = Path(request["path"]), request["password"]
    try:
        document = pymupdf.open(path, filetype="pdf")
    except (MupdfError, RuntimeError, ValueError) as error:
        raise Refused(*_why_not_open(path)) from error
    if not document.is_pdf:
        raise Refused("not_pdf", "It is not a PDF. Save or print it as a PDF first.")
    if document.needs_pass:
        if password is None:
            raise Refused("locked", "It is locked. Give its password to index it.")
        if not document.authenticate(password):
            raise Refused("wrong_password", "The password does not open it. Give the right one.")
    if document.page_count == 0:
        raise Refused("no_pages", "It has no pages. Check that the file is complete.")
    if document.page_count > request["max_pages"]:
        raise Refused(
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


def _page(document: Any, number: int, request: Message) -> Message:
    """Read one page; whatever goes wrong in it is said, and its text is read alone where that can be done."""
    from rag_core.parsing import full, quick
    from rag_core.parsing.formats import view

    page = digest = reason = trace = None
    try:
        page = document[number]
        if page.rotation:
            page.remove_rotation()  # from here on all geometry is as displayed
        if not request["text_only"]:
            repeated = frozenset(request["repeated"])
            if request["known"] is not None:
                digest = _digest(page, repeated, request["ocr"])
                if digest in request["known"]:
                    return {"same": digest}
            figures = Path(request["figures"])
            ocr = OcrSettings.model_validate(request["ocr"]) if request["level"] == "full" else None
            if is_view(Path(request["path"])) and (typeset := view.read_page(page, figures, ocr)):
                blocks, left_out = typeset
                found = _within_bounds(blocks)
                return {**found, "reason": left_out or found["reason"], "digest": digest}
            if ocr:
                read = full.read_page(page, figures, repeated, ocr)
                return {**_within_bounds(read), "digest": digest}
    except full.Unreadable as unreadable:
        return {"reason": str(unreadable)}
    except Exception as error:  # of any kind: PyMuPDF raises many, and one page must not cost the others
        reason, trace = _reason(error), traceback.format_exc()
    try:
        if page is not None:
            found = _within_bounds(quick.read_page(page))
            return {
                **found,
                "reason": f"{reason}; only its text was read" if reason else found["reason"],
                "trace": trace,
            }
    except Exception as error:
        reason, trace = _reason(error), traceback.format_exc()
    return {"reason": reason, "trace": trace}


def _digest(page: Any, repeated: frozenset[int], ocr: Message) -> str:
    """Name what a page shows and says, whatever file it stands in, and what OCR would read it with.

    Takes 2 % of the time that reading it in full does.
    """
    longest = max(page.rect.width, page.rect.height, 1) / 72
    pixels = page.get_pixmap(dpi=max(1, min(DIGEST_DPI, int(DIGEST_PIXELS / longest))))
    ornaments = sum(image[0] in repeated for image in page.get_images())
    seen = hashlib.sha256(pixels.samples_mv)
    seen.update(f"{page.rect}|{ornaments}|{ocr}|{page.get_text()}".encode(errors="replace"))
    return seen.hexdigest()[:32]


def _within_bounds(page: PageBlocks) -> Message:
    """The message of a page, without what is beyond all measure."""
    left, kept = PAGE_CHARS, []
    for block in page.blocks[:PAGE_BLOCKS]:
        left -= len(block.text) + len(block.html or "") // 4
        if left < 0:
            break
        kept.append(block)
    cut = len(kept) < len(page.blocks)
    page = page.model_copy(update={"blocks": tuple(kept)})
    reason = f"holds more than {PAGE_CHARS:,} characters; the rest was left out" if cut else None
    return {"page": page.model_dump(mode="json"), "reason": reason}


def _reason(error: Exception) -> str:
    """What went wrong, in plain words.

    Raises:
        MemoryError: That is what went wrong, whatever the library calls it: what comes next would fail too.
    """
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)):
        raise MemoryError from error
    return f"could not be read whole ({type(error).__name__}: {error})"[:200]


def _render(document: Any, request: Message) -> bytes:
    if not 1 <= request["page"] <= document.page_count:
        raise Refused("no_such_page", f"It has no page {request['page']}; it has {document.page_count}.")
    page = document[request["page"] - 1]
    longest = max(page.rect.width, page.rect.height, 1) / 72
    return page.get_pixmap(dpi=max(1, min(request["dpi"], int(RENDER_PIXELS / longest)))).tobytes("png")


if __name__ == "__main__":
    main()
