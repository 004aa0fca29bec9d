"""Everything in one file and back; what is no whole backup is refused, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.indexing.ledger import Ledger
from rag_core.workbench.backup import BackupError, back_up, forget_left, restore

ORIGINAL = f"originals/{'ab' * 32}/original.pdf"
LIST = "ragscope-backup.json"
Files = dict[str, bytes]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / ORIGINAL).parent.mkdir(parents=True)
    (folder / ORIGINAL).write_bytes(b"%PDF-1.7 a paper")
    (folder / "plans.json").write_text('{"mine": {}}')
    (folder / "ledgers").mkdir()
    (folder / "ledgers" / "0a1b.json").write_text("{}")
    (folder / "weaviate").mkdir()
    (folder / "weaviate" / "api-key").write_text("secret")
    Ledger(folder / "ledger.sqlite").close()
    return folder


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    back_up(data, tmp_path / "all.zip")
    return tmp_path / "all.zip"


def changed(backup: Path, change: Callable[[Files], None], compression: int = zipfile.ZIP_STORED) -> Path:
    """The backup with its files changed, in its place."""
    with zipfile.ZipFile(backup) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(backup, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return backup


def relisted(files: Files, /, **changes: object) -> None:
    files[LIST] = json.dumps({**json.loads(files[LIST]), **changes}).encode()


def renamed(name: str) -> Callable[[Files], None]:
    """The original under another name, in the list too."""

    def change(files: Files) -> None:
        files[name] = files.pop(ORIGINAL)
        listed = json.loads(files[LIST])["files"]
        relisted(files, files={name if old == ORIGINAL else old: value for old, value in listed.items()})

    return change


def test_the_files_come_back_as_they_were_and_the_servers_own_do_not(data: Path, backup: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    restore(backup, new)
    assert (new / ORIGINAL).read_bytes() == (data / ORIGINAL).read_bytes()
    assert (new / "plans.json").read_text() == '{"mine": {}}'
    assert (new / "ledgers" / "0a1b.json").read_text() == "{}"
    assert sorted(entry.name for entry in new.iterdir()) == ["ledger.sqlite", "ledgers", "originals", "plans.json"]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE((new / "plans.json").stat().st_mode) == 0o600


def test_what_is_written_during_a_backup_does_not_break_it(data: Path, tmp_path: Path) -> None:
    ledger = Ledger(data / "ledger.sqlite")
    ledger.create_collection("Written", "not yet in the main file of the database")
    with sqlite3.connect(data / "ledger.sqlite") as other:
        other.execute("INSERT INTO collections (name, tenant, description, created_at) VALUES ('Half', 't', '', '')")
        back_up(data, tmp_path / "all.zip")
        other.rollback()
    ledger.close()
    restore(tmp_path / "all.zip", tmp_path / "new")
    restored = Ledger(tmp_path / "new" / "ledger.sqlite")
    assert [info.name for info in restored.collections()] == ["Written"]
    restored.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (renamed("../../outside.json"), "no backup has"),
        (renamed("/tmp/outside.json"), "no backup has"),
        (renamed(f"originals/{'ab' * 32}/../../../outside"), "no backup has"),
        (renamed("weaviate/api-key"), "no backup has"),
        (renamed("originals\\outside.pdf"), "no backup has"),
        (lambda files: files.update({"more.json": b"{}"}), "no backup has"),
        (lambda files: files.pop(ORIGINAL), "no backup has"),
        (lambda files: files.update({ORIGINAL: b"%PDF-1.7 a paper!"}), "not as it was written"),
        (lambda files: files.update({"ledger.sqlite": b"no database at all"}), "not as it was written"),
        (lambda files: relisted(files, ragscope_backup=2), "version 2"),
        (lambda files: relisted(files, files=[]), "list that cannot be read"),
        (lambda files: files.update({LIST: b"[" * 100_000}), "list that cannot be read"),
        (lambda files: files.pop(LIST), "no backup of Ragscope"),
    ],
)
def test_a_backup_that_was_changed_is_refused(
    backup: Path, tmp_path: Path, change: Callable[[Files], None], says: str
) -> None:
    refused(changed(backup, change), tmp_path / "new", says)
    assert not (tmp_path / "outside.json").exists()


def test_what_would_grow_is_not_unpacked(backup: Path, tmp_path: Path) -> None:
    bomb = changed(backup, lambda files: files.update({ORIGINAL: bytes(20_000_000)}), zipfile.ZIP_DEFLATED)
    refused(bomb, tmp_path / "new", "claims to hold more")


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_backup_that_was_cut_off_is_refused(backup: Path, tmp_path: Path, kept: float) -> None:
    whole = backup.read_bytes()
    backup.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else int(kept)])
    refused(backup, tmp_path / "new", "a part of it is missing")


def test_a_damaged_database_is_refused_before_the_app_reads_it(data: Path, tmp_path: Path) -> None:
    (data / "plans.json").write_text("{half")
    back_up(data, tmp_path / "all.zip")
    refused(tmp_path / "all.zip", tmp_path / "new", "plans.json")


def refused(backup: Path, into: Path, says: str) -> None:
    with pytest.raises(BackupError) as told:
        restore(backup, into)
    assert says in str(told.value)
    assert "\n" not in str(told.value)
    assert not into.exists() or not any(into.iterdir())


def test_nothing_is_overwritten(data: Path, backup: Path) -> None:
    with pytest.raises(BackupError, match="is there already"):
        back_up(data, backup)
    before = backup.read_bytes()
    with pytest.raises(BackupError, match="is not empty"):
        restore(backup, data)
    assert backup.read_bytes() == before
    with pytest.raises(BackupError, match="nothing to back up"):
        back_up(data / "weaviate", data / "new.zip")


def test_a_backup_that_nobody_fetched_does_not_stay(data: Path) -> None:
    old, part, new = data / ".backup-0a.zip", data / "..backup-0b.zip.part", data / ".backup-0c.zip"
    for path in (old, part, new):
        path.write_bytes(b"PK")
    for path in (old, part):
        os.utime(path, (0, 0))
    forget_left(data)
    assert (old.exists(), part.exists(), new.exists()) == (False, False, True)
