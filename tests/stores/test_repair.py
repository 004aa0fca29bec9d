"""What is verified after an unclean stop, and how it is put right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.stores.weaviate.journal import KEEP_S, LOOK_BACK_S, PRUNE_EVERY, Journal, Write
from rag_core.stores.weaviate.repair import Repair, repair
from rag_core.stores.weaviate.schema import to_properties
from tests.stores.samples import make_chunk, random_vectors


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Journal:
    return Journal(tmp_path / "journal.sqlite", clock)


def writes(*ids: str, tenant: str = "t") -> list[Write]:
    return [Write("Chunks_test", tenant, one) for one in ids]


def test_suspect_is_what_was_written_last_and_what_was_never_acknowledged(journal: Journal, clock: Clock) -> None:
    journal.begin(writes("never"))
    journal.begin(writes("old", "late"))
    journal.settle(writes("old"))
    clock.now += LOOK_BACK_S + 1
    journal.settle(writes("late"))
    clock.now += 3_600  # the look goes back from the last write, not from now
    assert journal.suspects() == [(writes("late")[0], True), (writes("never")[0], False)]


def test_a_write_that_begins_again_is_unacknowledged_again(journal: Journal) -> None:
    journal.settle(writes("a"))
    journal.begin(writes("a"))
    assert journal.suspects() == [(writes("a")[0], False)]
    journal.forget(writes("a"))
    assert journal.suspects() == []


def test_the_journal_stays_small(journal: Journal, clock: Clock) -> None:
    journal.settle(writes("a"))
    clock.now += KEEP_S + 1
    for _ in range(PRUNE_EVERY):
        journal.begin(writes("b"))
    assert [write.id for write, _ in journal.suspects()] == ["b"]


def test_another_process_reads_the_same_journal(journal: Journal, tmp_path: Path) -> None:
    journal.begin(writes("a"))
    journal.rescue([(writes("b")[0], "{}")])
    other = Journal(tmp_path / "journal.sqlite")
    assert other.suspects() == [(writes("a")[0], False)]
    assert other.rescued() == [(writes("b")[0], "{}")]
    other.returned(writes("b"))
    assert journal.rescued() == []


def run(store: ChunkStore, journal: Journal) -> Repair:
    address = store._connection._address
    assert address is not None
    return repair(store._connection._clients[-1], address, journal, print)


def test_repeated_vectors_are_told_from_lost_ones(store: ChunkStore, tenant: str, journal: Journal) -> None:
    chunks = [make_chunk("this page is left blank", order=order) for order in range(60)]
    store.put(tenant, chunks, np.repeat(random_vectors(1), 60, axis=0))
    journal.settle(writes(*(chunk.id for chunk in chunks), tenant=tenant))
    assert run(store, journal) == Repair(verified=60)
    assert journal.suspects() == []


def test_what_was_never_acknowledged_is_written_again_as_it_stands(
    store: ChunkStore, tenant: str, journal: Journal
) -> None:
    chunks, vectors = [make_chunk(f"w{order}x", order=order) for order in range(4)], random_vectors(3)
    store.put(tenant, chunks[:2], vectors[:2])
    store.put(tenant, chunks[2:3])
    journal.begin(writes(*(chunk.id for chunk in chunks), tenant=tenant))
    assert run(store, journal) == Repair(verified=4, rewritten=3)
    assert store.get(tenant, [chunk.id for chunk in chunks]) == chunks[:3]
    for chunk, vector in zip(chunks[:2], vectors[:2], strict=True):
        assert store.near_vector(tenant, vector, limit=1)[0].chunk == chunk
    assert [hit.chunk for hit in store.bm25(tenant, "w2x", limit=5)] == [chunks[2]]


def test_a_repair_that_was_cut_short_is_finished_by_the_next(store: ChunkStore, tenant: str, journal: Journal) -> None:
    chunk, vector = make_chunk("rescued"), random_vectors(1)[0]
    kept = {"properties": to_properties(chunk), "vector": {"text": vector.tolist()}}
    journal.rescue([(writes(chunk.id, tenant=tenant)[0], json.dumps(kept))])
    run(store, journal)
    assert store.near_vector(tenant, vector, limit=1)[0].chunk == chunk
    assert journal.rescued() == []


def test_what_was_dropped_meanwhile_is_left_alone(store: ChunkStore, journal: Journal) -> None:
    gone = [Write("Chunks_test", "gone", make_chunk("a").id), Write("Chunks_gone", "t", make_chunk("b").id)]
    journal.begin(gone)
    journal.rescue([(write, "{}") for write in gone])
    assert run(store, journal).rewritten == 0
    assert journal.suspects() == journal.rescued() == []
