"""Reads PDFs in processes of their own, with a clock on every page."""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from rag_core.errors import PdfParseError
from rag_core.parsing.formats.kinds import is_pdf, is_view, view_of
from rag_core.parsing.kept import KeptPages
from rag_core.parsing.pool import Lost, Message, Pool
from rag_core.parsing.reading import Reading
from rag_core.parsing.records import FileFacts, Level, Parsed
from rag_core.settings import Settings

LOG = logging.getLogger(__name__)
SPAN: dict[Level, int] = {"quick": 16, "full": 2}
"""Pages in a request: about a second of work at either level, so that nobody waits longer than that for a turn."""


def _never() -> bool:
    return False


def _quiet(done: int, pages: int) -> None:
    pass


class Parser:
    """Reads PDFs, several pages at a time. Safe to use from several threads, which take turns.

    Page views and facts have a process of their own, so they do not wait behind a long document.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._readers = Pool(settings.parse_workers, nice=5)
        self._viewer = Pool(1, nice=0)

    def inspect(self, path: Path, password: str | None = None) -> FileFacts:
        """Open a file and say what it is.

        Raises:
            PdfParseError: It cannot be indexed. `code` is not_pdf, empty, locked, wrong_password, no_pages,
                too_large, too_many_pages, protected, unsupported, unwritable or unreadable.
        """
        return FileFacts.model_validate(self._view(self._shown(path), password, do="inspect", level="quick")["facts"])

    def render(self, path: Path, page: int, *, dpi: int = 110, password: str | None = None) -> bytes:
        """Draw a page, counted from 1, as PNG; a page too large for `dpi` is drawn smaller.

        Raises:
            PdfParseError: As `inspect`; no_such_page where the file has no such page.
        """
        return base64.b64decode(self._view(self._shown(path), password, do="render", page=page, dpi=dpi)["png"])

    def parse(
        self,
        path: Path,
        *,
        level: Level,
        figures: Path,
        password: str | None = None,
        kept: KeptPages | None = None,
        on_page: Callable[[int, int], None] = _quiet,
        stopped: Callable[[], bool] = _never,
    ) -> Parsed:
        """Read a document. A page that takes too long or crashes its reader is named in `failed`; the rest is read.

        Args:
            level: 'quick' gives text by fonts; 'full' gives layout, tables, figures and scanned text too.
            figures: Folder for the crops of figures, which are named by their content.
            kept: Pages read in full before: they are taken from there at either level. 'full' adds those that it reads.
            on_page: Told the pages done and the pages there are, after each page; one call at a time.
            stopped: Asked ten times a second; true ends the work.

        Raises:
            PdfParseError: As `inspect`.
            Stopped: `stopped` said so.
        """
        path = self._shown(path, stopped)
        opened = self._opened(path, password, level, stopped)
        reading = Reading(
            facts=FileFacts.model_validate(opened["facts"]),
            span=SPAN[level],
            again=level == "full",
            seconds=self._settings.document_seconds,
            kept=kept,
        )
        known = kept.digests if kept and (level == "full" or kept.digests) else None
        request = self._request(
            path,
            password,
            do="read",
            level=level,
            figures=str(figures.absolute()),
            repeated=opened["repeated"],
            known=known,
        )
        telling, failed = threading.Lock(), threading.Event()

        def told(message: Message) -> None:
            if message.get("trace"):
                LOG.warning("%s, page %d:\n%s", path.name, message["number"], message["trace"])
            with telling:
                on_page(reading.done, reading.facts.pages)

        def read() -> None:
            self._read(reading, request, told, lambda: failed.is_set() or stopped())

        with ThreadPoolExecutor(self._readers.size, thread_name_prefix="parse") as pool:
            threads = [pool.submit(read) for _ in range(self._readers.size)]
            ended, _ = wait(threads, return_when=FIRST_EXCEPTION)
            failed.set()  # the others give up, if one has
        for thread in sorted(threads, key=lambda thread: thread not in ended):
            thread.result()
        return reading.parsed()

    def warm(self) -> None:
        """Have readers ready before there is something to read: they take two seconds to start."""
        self._readers.warm(2)

    def close(self) -> None:
        """End all workers."""
        self._readers.end()
        self._viewer.end()

    def _shown(self, path: Path, stopped: Callable[[], bool] = _never) -> Path:
        """The PDF to read for a file: itself or, where it is none, the one that is typeset of it at first need."""
        self._check_size(path)
        if is_view(path) or is_pdf(path):
            return path
        view = view_of(path)
        if view.exists() and view.stat().st_mtime_ns >= path.stat().st_mtime_ns:
            return view
        request = self._request(path, None, do="typeset", view=str(view.absolute()))
        try:
            with self._readers.worker(urgent=True) as worker:
                for _ in worker.ask(request, self._settings.page_seconds, stopped):
                    pass
        except Lost as lost:
            raise PdfParseError(path, f"It cannot be opened: it {lost}. Save it as a PDF.") from lost
        return view

    def _opened(self, path: Path, password: str | None, level: Level, stopped: Callable[[], bool]) -> Message:
        """Give the facts of the file, and the pictures that come again in it."""
        request = self._request(path, password, do="inspect", level=level)
        try:
            with self._readers.worker(urgent=level == "quick") as worker:
                (answer,) = worker.ask(request, self._settings.page_seconds, stopped)
        except Lost as lost:
            raise PdfParseError(path, f"It cannot be opened: it {lost}. Save it again as a PDF.") from lost
        return answer

    def _read(
        self, reading: Reading, request: Message, told: Callable[[Message], None], stopped: Callable[[], bool]
    ) -> None:
        """Bring pages to a document until there are none left to begin; several threads do so at once."""
        while span := reading.next_span():
            asked = {**request, "pages": span.pages, "text_only": span.lost is not None}
            try:
                with self._readers.worker(urgent=request["level"] == "quick") as worker:
                    began = time.monotonic()
                    try:
                        for message in worker.ask(asked, self._settings.page_seconds, stopped):
                            reading.take(span, message)
                            told(message)
                    finally:
                        reading.spend(time.monotonic() - began)
            except Lost as lost:
                reading.lose(span, str(lost))

    def _view(self, path: Path, password: str | None, **wanted: Any) -> Message:
        request = self._request(path, password, **wanted)
        try:
            with self._viewer.worker() as worker:
                answer, *_ = list(worker.ask(request, self._settings.page_seconds, _never))
        except Lost as lost:
            raise PdfParseError(path, f"It cannot be shown: it {lost}.", page=wanted.get("page")) from lost
        return answer

    def _request(self, path: Path, password: str | None, **wanted: Any) -> Message:
        limits = {"page_seconds": self._settings.page_seconds, "max_pages": self._settings.max_pages}
        ocr = {"engine": self._settings.ocr_engine, "languages": self._settings.ocr_languages}
        return {"path": str(path.absolute()), "password": password, "ocr": ocr, **limits, **wanted}

    def _check_size(self, path: Path) -> None:
        try:
            size = path.stat().st_size
        except OSError as error:
            raise PdfParseError(path, "It is not there, or may not be read. Choose it again.") from error
        if size == 0:
            raise PdfParseError(path, "It is empty. Check that it was saved or copied whole.", code="empty")
        if size > self._settings.max_file_mb * 1_000_000:
            raise PdfParseError(
                path,
                f"It has {size / 1e6:,.0f} MB, more than {self._settings.max_file_mb}. "
                "Split it, or raise RAGSCOPE_MAX_FILE_MB.",
                code="too_large",
            )
