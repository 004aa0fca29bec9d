"""Everything of a data directory in one file, and back.

The file is a ZIP without compression: each database as it was at one moment, what was chosen, what each technique
bought, the originals with what was read of them, and a list of all with sizes and hashes. Vectors and graphs are not in
it: what is restored is indexed anew from its originals, which needs no second truth beside the ledger, and no server
while a backup is made.

It has the key of a model and the passwords of locked PDFs, as the directory has: keep it where you would keep that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

from pydantic import Field, ValidationError

from rag_core.errors import RagError
from rag_core.indexing.ledger import Ledger
from rag_core.types import Value

VERSION = 1

_LIST = "ragscope-backup.json"
_DATABASE, _CHOICES = re.compile(r"[\w-]{1,40}\.sqlite", re.ASCII), re.compile(r"[\w-]{1,40}\.json", re.ASCII)
_LEDGER = re.compile(r"ledgers/\w{1,64}\.json", re.ASCII)
_ORIGINAL = re.compile(r"originals/[0-9a-f]{64}/(?:[\w-]{1,40}/)?[\w-][\w.-]{0,80}", re.ASCII)
_UNDER_WAY = ".restoring"
_BLOCK = 2**20
_LEFT_ON_DISK = 500_000_000
_MOST_LISTED = 50_000_000
_FETCHED_S = 24 * 3600


class BackedUp(Value):
    """One file of a backup."""

    size: int = Field(ge=0)
    sha256: str


class Contents(Value):
    """What a backup says of itself."""

    ragscope_backup: int = Field(description="The version of this form.")
    files: dict[str, BackedUp]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())


class BackupError(RagError):
    """A backup could not be made or restored; nothing half is left."""


def back_up(data_dir: Path, target: Path) -> Contents:
    """Write everything into one file that only you can read; the app may go on meanwhile.

    Raises:
        BackupError: There is nothing to back up, `target` is there already, or it cannot be written.
    """
    if not (data_dir / "ledger.sqlite").is_file():
        raise BackupError(f"There is nothing to back up in {data_dir}: no document was ever added.")
    if target.exists():
        raise BackupError(f"{target} is there already: name a new file.")
    part = target.with_name(f".{target.name}.part")
    files: dict[str, BackedUp] = {}
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, source in _sources(data_dir):
                with source, archive.open(name, "w", force_zip64=True) as into:
                    files[name] = _copied(source, into)
            contents = Contents(ragscope_backup=VERSION, files=files)
            archive.writestr(_LIST, contents.model_dump_json(indent=1))
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"The backup could not be written ({error}): make room, or name another place.") from error
    finally:
        part.unlink(missing_ok=True)
    return contents


def forget_left(data_dir: Path) -> None:
    """Remove backups beside the data that nobody fetched to the end, because the app or the browser was ended."""
    for pattern in (".backup-*.zip", "..backup-*.zip.part"):
        for path in data_dir.glob(pattern):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _FETCHED_S:
                    path.unlink()


def restore(source: Path, data_dir: Path) -> Contents:
    """Put everything back into an empty or new directory; the app indexes the documents anew when it starts.

    Raises:
        BackupError: It is no whole backup of this version, the directory is not empty, or the disk is full.
    """
    there = [entry.name for entry in data_dir.iterdir()] if data_dir.is_dir() else []
    if [name for name in there if name != _UNDER_WAY]:
        raise BackupError(
            f"{data_dir} is not empty, and nothing in it is overwritten: name an empty place with RAGSCOPE_DATA_DIR."
        )
    new = data_dir / _UNDER_WAY
    try:
        with _opened(source) as archive:
            contents = _contents(archive, source)
            _check_room(contents, data_dir)
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True, mode=0o700)
            for name, wanted in contents.files.items():
                _unpack(archive, name, wanted, new / name)
        _check_files(new)
        Ledger.index_anew(new / "ledger.sqlite")
        for entry in new.iterdir():
            entry.rename(data_dir / entry.name)
    except (OSError, sqlite3.Error, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise BackupError(f"{source.name} could not be restored: {error}. Take another copy of it.") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return contents


# what goes in


def _sources(data_dir: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Every file of a backup by its name in it; the databases come first, so that no record is newer than its file."""
    for path in sorted(data_dir.glob("*.sqlite")):
        yield path.name, _snapshot(path)
    for path in sorted(data_dir.glob("*.json")):
        yield path.name, path.open("rb")
    for folder, form in (("ledgers", _LEDGER), ("originals", _ORIGINAL)):
        for path in sorted((data_dir / folder).rglob("*")):
            name = path.relative_to(data_dir).as_posix()
            if path.is_file() and form.fullmatch(name):
                yield name, path.open("rb")


def _snapshot(path: Path) -> IO[bytes]:
    """A database as it is at this moment, whoever writes to it."""
    handle, name = tempfile.mkstemp(suffix=".sqlite")
    os.close(handle)
    try:
        with closing(sqlite3.connect(path, timeout=30)) as live, closing(sqlite3.connect(name)) as copy:
            live.backup(copy)
        return Path(name).open("rb")
    finally:
        Path(name).unlink()  # what is open stays readable until it is closed


def _copied(source: IO[bytes], into: IO[bytes], most: int | None = None) -> BackedUp:
    """Copy all, or one byte more than `most`: enough to see that there is too much."""
    digest, size = sha256(), 0
    while block := source.read(_BLOCK if most is None else min(_BLOCK, most + 1 - size)):
        digest.update(block)
        into.write(block)
        size += len(block)
    return BackedUp(size=size, sha256=digest.hexdigest())


# what comes out


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(source)
    except (OSError, zipfile.BadZipFile) as error:
        raise BackupError(f"{source} is no backup, or a part of it is missing: take another copy of it.") from error
    with archive:
        yield archive


def _contents(archive: zipfile.ZipFile, source: Path) -> Contents:
    """What the backup holds, where its list and its entries say the same."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    listed = entries.pop(_LIST, None)
    if listed is None or listed.file_size > _MOST_LISTED or len(entries) + 1 != len(archive.infolist()):
        raise BackupError(f"{source.name} is no backup of Ragscope: choose a file that “backup” has made.")
    # Without compression nothing grows: what the entries claim cannot be more than the file has.
    claimed = sum(entry.file_size for entry in archive.infolist())
    if claimed > source.stat().st_size or any(one.compress_type != zipfile.ZIP_STORED for one in archive.infolist()):
        raise BackupError(f"{source.name} claims to hold more than it has: take another copy of it.")
    data = archive.read(listed)
    try:
        version = json.loads(data)["ragscope_backup"]
        if version != VERSION:
            raise BackupError(f"{source.name} has version {version!r} of the form; this Ragscope reads {VERSION}.")
        contents = Contents.model_validate_json(data)
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise BackupError(f"{source.name} has a list that cannot be read: take another copy of it.") from error
    strange = [name for name in entries if not _may_be(name)]
    if strange or contents.files.keys() != entries.keys() or "ledger.sqlite" not in entries:
        raise BackupError(f"{source.name} holds files that no backup has, or lacks some: take another copy of it.")
    return contents


def _may_be(name: str) -> bool:
    """Whether a backup has files of that name; none of these leads out of the directory."""
    return any(form.fullmatch(name) for form in (_DATABASE, _CHOICES, _LEDGER, _ORIGINAL))


def _check_room(contents: Contents, data_dir: Path) -> None:
    there = next(folder for folder in (data_dir, *data_dir.parents) if folder.is_dir())
    if contents.size + _LEFT_ON_DISK > shutil.disk_usage(there).free:
        raise BackupError(f"The disk of {data_dir} has no room for {contents.size / 1e9:.1f} GB: choose another one.")


def _unpack(archive: zipfile.ZipFile, name: str, wanted: BackedUp, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as into, archive.open(name) as source:
        if _copied(source, into, wanted.size) != wanted:
            raise BackupError(f"{name} in the backup is not as it was written: take another copy of it.")


def _check_files(folder: Path) -> None:
    """Read what the app reads at its start, before it does."""
    for path in folder.glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as database:
            if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError(f"{path.name} is damaged")
    for path in folder.glob("*.json"):  # a ledger that cannot be read is only made again
        try:
            json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise OSError(f"{path.name} is no JSON") from error
