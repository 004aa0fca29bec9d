"""Originals on disk: kept by content, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
from pathlib import Path

import pytest

from rag_core.errors import DocumentError
from rag_core.settings import Settings
from rag_core.stores.originals import Originals


@pytest.fixture
def originals(own_settings: Settings) -> Originals:
    return Originals(own_settings)


def files_under(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "originals").rglob("*") if path.is_file()]


def test_a_file_and_a_stream_of_the_same_content_are_kept_once(
    originals: Originals, own_settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7 content")
    sha256, path = originals.keep(tmp_path / "report.pdf", "report.pdf")
    assert sha256 == hashlib.sha256(b"%PDF-1.7 content").hexdigest()
    assert path.read_bytes() == b"%PDF-1.7 content"
    assert originals.keep(io.BytesIO(b"%PDF-1.7 content"), "other name.PDF") == (sha256, path)
    assert originals.path(sha256, "x.pdf") == path
    assert files_under(own_settings) == [path]


@pytest.mark.parametrize("name", ["../../evil.pdf", "/etc/passwd", "a.b/../c", "nul\0.pdf", "x." + "y" * 300, ""])
def test_the_users_name_is_never_a_path(originals: Originals, own_settings: Settings, name: str) -> None:
    sha256, path = originals.keep(io.BytesIO(b"content"), name)
    assert path.parent == own_settings.data_dir / "originals" / sha256
    assert path.name in ("original", "original.pdf")


def test_a_full_disk_is_one_sentence_and_leaves_nothing_half(originals: Originals, own_settings: Settings) -> None:
    class Full(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().read(4)

    with pytest.raises(DocumentError, match="disk is full; free some space") as caught:
        originals.keep(Full(b"content"), "report.pdf")
    assert caught.value.code == "disk_full"
    assert files_under(own_settings) == []


def test_a_file_that_is_not_there_is_told_by_its_name(originals: Originals, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"^report\.pdf: it could not be copied"):
        originals.keep(tmp_path / "gone.pdf", "report.pdf")


def test_figures_stand_beside_their_file_and_go_with_it(originals: Originals, own_settings: Settings) -> None:
    sha256, path = originals.keep(io.BytesIO(b"content"), "report.pdf")
    (originals.figures(sha256) / "p1-1.png").write_bytes(b"png")
    originals.drop(sha256)
    originals.drop(sha256)
    assert not path.exists()
    assert files_under(own_settings) == []


@pytest.mark.parametrize("sha256", ["", "..", "../" * 20, "A" * 64])
def test_only_a_sha256_names_a_folder(originals: Originals, sha256: str) -> None:
    with pytest.raises(ValueError, match="no SHA-256"):
        originals.drop(sha256)
