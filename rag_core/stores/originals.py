"""The files that were given to us, kept by their SHA-256, and the page crops made of each.

A folder a file: `<sha256>/original.pdf` and `<sha256>/figures/`. The name that the user gave never becomes a path.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from rag_core.errors import DocumentError
from rag_core.settings import Settings

_BLOCK = 2**20


class Originals:
    """Keeps files under `data_dir/originals`. Safe to use from many threads and processes."""

    def __init__(self, settings: Settings) -> None:
        self._root = settings.data_dir / "originals"

    def keep(self, source: Path | BinaryIO, name: str) -> tuple[str, Path]:
        """Copy a file to its place, whole or not at all; the same content twice is kept once.

        Args:
            name: As the user knows it: for messages, and for the suffix.

        Returns:
            The SHA-256 in hex, and where the copy stands.

        Raises:
            DocumentError: The disk is full, or the file cannot be read or written; nothing half is left.
        """
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            if isinstance(source, Path):
                with source.open("rb") as file:
                    return self._keep(file, name)
            return self._keep(source, name)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DocumentError(
                    name, "disk_full", f"the disk is full; free some space under {self._root} and add it again"
                ) from error
            reason = error.strerror or str(error)
            raise DocumentError(
                name, "unreadable", f"it could not be copied ({reason}); check it and add it again"
            ) from error

    def path(self, sha256: str, name: str) -> Path:
        """Give where the original of that content stands, or would stand."""
        return self._folder(sha256) / f"original{_suffix(name)}"

    def figures(self, sha256: str) -> Path:
        """Give the folder of its page crops, made if need be."""
        folder = self._folder(sha256) / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def drop(self, sha256: str) -> None:
        """Remove the original and its crops; one that is not there is no error."""
        shutil.rmtree(self._folder(sha256), ignore_errors=True)

    def _keep(self, source: BinaryIO, name: str) -> tuple[str, Path]:
        digest = hashlib.sha256()
        handle, new = tempfile.mkstemp(dir=self._root, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                while block := source.read(_BLOCK):
                    digest.update(block)
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            target = self.path(digest.hexdigest(), name)
            target.parent.mkdir(exist_ok=True)
            Path(new).replace(target)
        finally:
            Path(new).unlink(missing_ok=True)
        return digest.hexdigest(), target

    def _folder(self, sha256: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise ValueError(f"{sha256!r} is no SHA-256 in lower-case hex")
        return self._root / sha256


def _suffix(name: str) -> str:
    """The name's last suffix, if it is a plain one: letters and digits, at most eight."""
    found = re.search(r"\.[A-Za-z0-9]{1,8}$", name)
    return found[0].lower() if found else ""
