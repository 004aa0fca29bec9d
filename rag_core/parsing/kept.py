"""Pages that were read in full before, known by what they show, so that none is read twice.

A file of JSON lines `{"digest", "page"}` beside the document: what a stop or a kill cuts short goes on where it was,
and of a new version only the changed pages are read.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

from rag_core.parsing.records import PageBlocks

LOG = logging.getLogger(__name__)


class KeptPages:
    """The pages of one document that were read in full. Safe to use from many threads."""

    def __init__(self, path: Path, figures: Path) -> None:
        """Load what the file has, if it is there; half a line, from a kill, is left out.

        Args:
            figures: Folder of the crops that the pages show.
        """
        self._path, self._figures = path, figures
        self._lock = threading.Lock()
        self._pages: dict[str, str] = {}
        self._used: set[str] = set()
        self._load(path)

    @property
    def digests(self) -> list[str]:
        return list(self._pages)

    def inherit(self, path: Path, figures: Path) -> None:
        """Take over the pages of an earlier version, with their crops and what was read in those."""
        if figures.is_dir():
            for file in figures.iterdir():
                with suppress(FileExistsError):
                    os.link(file, self._figures / file.name)
        self._load(path)
        self._rewrite()

    def get(self, digest: str, number: int) -> PageBlocks:
        """Give the page with that digest, as page `number`."""
        self._used.add(digest)
        return PageBlocks.model_validate_json(self._pages[digest]).model_copy(update={"page": number})

    def add(self, digest: str, page: PageBlocks) -> None:
        """Keep a page; where the disk is full it is only not there next time."""
        with self._lock:
            self._used.add(digest)
            self._pages[digest] = page.model_dump_json()
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(self._line(digest))
            except OSError as error:
                LOG.warning("a page is not kept in %s: %s", self._path, error)

    def drop_unused(self) -> None:
        """Forget the pages that were neither asked for nor added, and the crops that only they show."""
        with self._lock:
            self._pages = {digest: page for digest, page in self._pages.items() if digest in self._used}
            self._rewrite()
            blocks = [block for page in self._pages.values() for block in json.loads(page)["blocks"]]
            shown = {_stem(block["image"]) for block in blocks if block["image"]}
            for file in self._figures.iterdir():
                if _stem(file.name) not in shown:
                    file.unlink(missing_ok=True)

    def _load(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError, KeyError):
                    kept = json.loads(line)
                    self._pages.setdefault(kept["digest"], json.dumps(kept["page"]))

    def _rewrite(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text("".join(map(self._line, self._pages)), encoding="utf-8")
        part.replace(self._path)

    def _line(self, digest: str) -> str:
        # It begins with an end of line, so that it stands apart from half a line that a kill left.
        return f'\n{{"digest": "{digest}", "page": {self._pages[digest]}}}\n'


def _stem(name: str) -> str:
    """What a crop and the files made of it have in common."""
    return name.partition(".")[0]
