"""What each part of the data takes on the disk."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rag_core.workbench import storage
from rag_core.workbench.storage import Storage


def file(folder: Path, name: str, size: int) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def test_every_file_is_counted_once_in_the_part_that_it_belongs_to(tmp_path: Path) -> None:
    data, caches = tmp_path / "data", tmp_path / "caches"
    for name, size in {
        "originals/aa/a.pdf": 1000, "originals/aa/figures/1.png": 200, "ledger.sqlite": 30, "ledger.sqlite-wal": 4,
        "weaviate/data/x/segment.db": 5000, "runs.sqlite": 60, "ledgers/r.json": 7, "trees.sqlite-shm": 8,
        "plans.json": 9,
    }.items():  # fmt: skip
        file(data, name, size)
    file(caches, "weaviate/weaviate", 11)
    found = Storage(data, caches).parts(wait_s=60)
    assert found is not None
    assert {one.part: one.bytes for one in found} == {
        "Documents": 1234, "Index": 5000, "History": 67, "Graph": 0, "Tree": 8, "Other": 9, "Caches": 11,
    }  # fmt: skip


def test_who_asks_does_not_wait_for_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path, "runs.sqlite", 5)
    told = Storage(tmp_path, tmp_path / "none")
    before = told.parts(wait_s=60)
    answers, size_of = threading.Event(), storage._size
    monkeypatch.setattr(storage, "_size", lambda entry: answers.wait(60) and size_of(entry))
    assert Storage(tmp_path, tmp_path / "none").parts(wait_s=0) is None
    file(tmp_path, "runs.sqlite", 50)
    assert told.parts(wait_s=0) == before, "what it was at the last count"
    answers.set()
    after = told.parts(wait_s=60)
    assert after is not None
    assert next(one.bytes for one in after if one.part == "History") == 50
