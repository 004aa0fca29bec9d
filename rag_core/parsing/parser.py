"""Reads PDFs in processes of their own, with a clock on every page."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_core.errors import PdfParseError
from rag_core.parsing.pool import Lost, Message, Pool
from rag_core.parsing.reading import Reading
from rag_core.parsing.records import FileFacts, Level, Parsed
from rag_core.settings import Settings

LOG = logging.getLogger(__name__)


def _never() -> bool:
    return False


def _quiet(done: int, pages: int) -> None:
    pass


class Parser:
    """Reads PDFs. Safe to use from several threads; `workers` documents are read at a time.

    Page views and facts have a process of their own, so they do not wait behind a long document.
    """

    def __init__(self, settings: Settings, workers: int = 1) -> None:
        self._settings = settings
        self._readers = Pool(workers, nice=5)
        self._viewer = Pool(1, nice=0)

    def inspect(self, path: Path, password: str | None = None) -> FileFacts:
        """Open a file and say what it is.

        Raises:
            PdfParseError: It cannot be indexed. `code` is not_pdf, empty, locked, wrong_password, no_pages,
                too_large, too_many_pages or unreadable.
        """
        return FileFacts.model_validate(self._view(path, password, do="inspect")["facts"])

    def render(self, path: Path, page: int, *, dpi: int = 110, password: str | None = None) -> bytes:
        """Draw a page, counted from 1, as PNG; a page too large for `dpi` is drawn smaller.

        Raises:
            PdfParseError: As `inspect`; no_such_page where the file has no such page.
        """
        return base64.b64decode(self._view(path, password, do="render", page=page, dpi=dpi)["png"])

    def parse(
        self,
        path: Path,
        *,
        level: Level,
        figures: Path,
        password: str | None = None,
        on_page: Callable[[int, int], None] = _quiet,
        stopped: Callable[[], bool] = _never,
    ) -> Parsed:
        """Read a document. A page that takes too long or crashes its reader is named in `failed`; the rest is read.

        Args:
            level: 'quick' gives text by fonts; 'full' gives layout, tables, figures and scanned text too.
            figures: Folder for the crops of figures, which are named by their content.
            on_page: Told the pages done and the pages there are, after each page.
            stopped: Asked ten times a second; true ends the work.

        Raises:
            PdfParseError: As `inspect`.
            Stopped: `stopped` said so.
        """
        self._check_size(path)
        request = self._request(path, password, do="parse", level=level, figures=str(figures.absolute()))
        reading = Reading()
        while not reading.complete:
            where = {"first": reading.done, "text_only": reading.done if reading.lost else None}
            try:
                with self._readers.worker() as worker:
                    for message in worker.ask({**request, **where}, self._settings.page_seconds, stopped):
                        reading.take(message)
                        if message.get("trace"):
                            LOG.warning("%s, page %d:\n%s", path.name, reading.done, message["trace"])
                        on_page(reading.done, reading.page_count)
            except Lost as lost:
                if reading.facts is None:
                    raise PdfParseError(path, f"It cannot be opened: it {lost}. Save it again as a PDF.") from lost
                reading.lose(str(lost), again=level == "full")
        return reading.parsed()

    def close(self) -> None:
        """End all workers."""
        self._readers.end()
        self._viewer.end()

    def _view(self, path: Path, password: str | None, **wanted: Any) -> Message:
        self._check_size(path)
        request = self._request(path, password, **wanted)
        try:
            with self._viewer.worker() as worker:
                answer, *_ = list(worker.ask(request, self._settings.page_seconds, _never))
        except Lost as lost:
            raise PdfParseError(path, f"It cannot be shown: it {lost}.", page=wanted.get("page")) from lost
        return answer

    def _request(self, path: Path, password: str | None, **wanted: Any) -> Message:
        limits = {"page_seconds": self._settings.page_seconds, "max_pages": self._settings.max_pages}
        return {"path": str(path.absolute()), "password": password, **limits, **wanted}

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
