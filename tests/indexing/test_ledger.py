import sqlite3
from pathlib import Path

import pytest

from rag_core.errors import RagError, Stopped, UnknownCollection
from rag_core.indexing.ledger import Ledger, Reading, count_stems
from rag_core.types import Box, Element, Place


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create_collection("Papers")
    return made


def a_reading(*stems: str, chunks: int = 1, fingerprint: str = "f1") -> Reading:
    place = Place(page=1, boxes=(Box(x0=0, y0=0, x1=9, y1=9),))
    return Reading(
        title="A paper",
        pages=1,
        page_sizes=((595.0, 842.0),),
        elements=(Element(id="e", kind="table", text="a | b", place=place),),
        failed=(),
        chunks=chunks,
        stems=dict.fromkeys(stems, 1),
        fingerprint=fingerprint,
    )


def add(ledger: Ledger, name: str = "a.pdf", sha256: str = "1" * 64) -> tuple[str, bool]:
    return ledger.add("Papers", name, sha256, 10, None)


def test_the_same_file_again_changes_nothing(ledger: Ledger) -> None:
    document, first = add(ledger)
    assert (document, False) == add(ledger)
    assert first


def test_a_file_that_failed_is_tried_again(ledger: Ledger) -> None:
    document, _ = add(ledger)
    ledger.fail(document, "locked", "It is locked.")
    assert add(ledger) == (document, True)
    record = ledger.document(document)
    assert record is not None
    assert (record.state, record.reason) == ("waiting", None)


def test_what_was_read_takes_its_place_at_once(ledger: Ledger) -> None:
    document, _ = add(ledger)
    ledger.flip(document, a_reading("fox", chunks=3), state="ready", seconds=1.5)
    record = ledger.document(document)
    assert record is not None
    assert (record.state, record.searchable, record.pages, record.chunks, record.tables) == ("ready", True, 1, 3, 1)
    assert [element.id for element in ledger.elements(document, 1)] == ["e"]
    assert ledger.page_sizes(document) == [(595.0, 842.0)]


def test_a_new_version_is_worked_on_beside_the_old_one(ledger: Ledger) -> None:
    document, _ = add(ledger)
    ledger.flip(document, a_reading(), state="ready", seconds=1)
    assert add(ledger, sha256="2" * 64) == (document, True)
    record = ledger.document(document)
    assert record is not None
    assert (record.sha256, record.searchable) == ("1" * 64, True)
    assert ledger.source(document)[0] == "2" * 64
    assert ledger.flip(document, a_reading(), state="ready", seconds=1) == "1" * 64
    assert ledger.source(document)[0] == "2" * 64


def test_a_new_version_that_fails_leaves_the_old_one_searched_and_says_so(ledger: Ledger) -> None:
    document, _ = add(ledger)
    ledger.flip(document, a_reading(), state="ready", seconds=1)
    add(ledger, sha256="2" * 64)
    ledger.fail(document, "not_pdf", "It is not a PDF.")
    record = ledger.document(document)
    assert record is not None
    assert (record.state, record.searchable, record.sha256) == ("failed", True, "1" * 64)
    assert record.reason == "It is not a PDF. Its earlier version is still searched."


def test_content_that_another_document_uses_is_not_given_up(ledger: Ledger) -> None:
    one, _ = add(ledger, "a.pdf")
    add(ledger, "b.pdf")
    assert ledger.forget(one) == []


def test_word_statistics_follow_the_documents(ledger: Ledger) -> None:
    one, _ = add(ledger, "a.pdf")
    two, _ = add(ledger, "b.pdf", "2" * 64)
    ledger.flip(one, a_reading("fox", chunks=2), state="ready", seconds=1)
    ledger.flip(two, a_reading("fox", "owl", chunks=3), state="ready", seconds=1)
    known = ledger.statistics("Papers")
    assert (known.chunks, known.chunks_with("fox"), known.chunks_with("owl")) == (5, 2, 1)
    ledger.forget(two)
    known = ledger.statistics("Papers")
    assert (known.chunks, known.chunks_with("fox"), known.chunks_with("owl")) == (2, 1, 0)


def test_what_is_new_cut_short_deleted_or_stale_is_to_be_done(ledger: Ledger) -> None:
    new, _ = add(ledger, "new.pdf", "1" * 64)
    cut, _ = add(ledger, "cut.pdf", "2" * 64)
    ledger.set_state(cut, "reading")
    ready, _ = add(ledger, "ready.pdf", "3" * 64)
    ledger.flip(ready, a_reading(fingerprint="f1"), state="ready", seconds=1)
    failed, _ = add(ledger, "failed.pdf", "4" * 64)
    ledger.fail(failed, "empty", "It is empty.")
    assert documents_to_do(ledger, "f1") == {new, cut}
    assert documents_to_do(ledger, "f2") == {new, cut, ready}
    ledger.mark_deleting(failed)
    assert failed in documents_to_do(ledger, "f1")


def work(ledger: Ledger, fingerprint: str = "f1") -> list[str]:
    return [todo.work for todo in ledger.unfinished(fingerprint)]


def test_meaning_comes_after_words_then_refining_and_a_stale_index_is_made_anew(ledger: Ledger) -> None:
    document, _ = add(ledger)
    assert work(ledger) == ["words"]
    ledger.flip(document, a_reading(), state="refining", seconds=1, by_meaning=False)
    record = ledger.document(document)
    assert record is not None
    assert (record.searchable, record.by_meaning) == (True, False)
    assert work(ledger) == ["meaning"]
    ledger.has_meaning(document, state="refining", seconds=2)
    record = ledger.document(document)
    assert record is not None
    assert (record.by_meaning, record.seconds) == (True, 3)
    assert work(ledger) == ["full"]
    assert work(ledger, "f2") == ["words"]
    ledger.flip(document, a_reading(), state="ready", seconds=1)
    assert work(ledger) == []


def test_content_that_was_replaced_while_it_was_read_does_not_take_its_place(ledger: Ledger) -> None:
    document, _ = add(ledger, sha256="1" * 64)
    ledger.flip(document, a_reading(chunks=1), state="refining", seconds=1, sha256="1" * 64)
    add(ledger, sha256="2" * 64)
    with pytest.raises(Stopped):
        ledger.flip(document, a_reading(chunks=7), state="ready", seconds=1, sha256="1" * 64)
    ledger.has_meaning(document, state="refining", seconds=0)
    record = ledger.document(document)
    assert record is not None
    assert (record.state, record.chunks) == ("waiting", 1)
    assert ledger.source(document)[0] == "2" * 64
    assert work(ledger) == ["words"]


def test_a_ledger_from_before_words_came_first_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = Ledger(path)
    old.create_collection("Papers")
    ready, _ = add(old, "ready.pdf")
    old.flip(ready, a_reading(), state="ready", seconds=1)
    add(old, "new.pdf", "2" * 64)
    old.close()
    with sqlite3.connect(path) as base:
        base.execute("ALTER TABLE documents DROP COLUMN by_meaning")
    assert {record.name: record.by_meaning for record in Ledger(path).documents("Papers")} == {
        "ready.pdf": True,
        "new.pdf": False,
    }


def documents_to_do(ledger: Ledger, fingerprint: str) -> set[str]:
    return {todo.document for todo in ledger.unfinished(fingerprint)}


def test_one_of_two_processes_gets_the_work(ledger: Ledger, tmp_path: Path) -> None:
    document, _ = add(ledger)
    other = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.claim(document, "me", None)
    assert not other.claim(document, "you", None)
    assert other.claim(document, "you", "me")


def test_a_collection_that_is_not_there_is_named_with_those_that_are(ledger: Ledger) -> None:
    with pytest.raises(UnknownCollection, match="'Books'; there are: Papers"):
        ledger.tenant("Books")


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_a_collection_needs_a_name(ledger: Ledger, name: str) -> None:
    with pytest.raises(RagError, match="1 to 80"):
        ledger.create_collection(name)


def test_names_that_look_alike_have_tenants_of_their_own(ledger: Ledger) -> None:
    for name in ("Ä", "Ö", "a b", "a-b"):
        ledger.create_collection(name)
    tenants = [ledger.tenant(name) for name in ("Ä", "Ö", "a b", "a-b")]
    assert len(set(tenants)) == 4
    assert all(tenant.replace("-", "").isalnum() and tenant.isascii() for tenant in tenants)


def test_stems_are_counted_once_a_chunk() -> None:
    assert count_stems([["fox", "fox"], ["fox", "owl"]]) == {"fox": 2, "owl": 1}


def test_a_file_that_comes_again_while_its_deletion_runs_begins_anew(ledger: Ledger) -> None:
    leaving, _ = add(ledger)
    ledger.mark_deleting(leaving)
    document, changed = add(ledger)
    assert changed
    assert document != leaving
    assert ledger.forget(leaving) == []  # its content is the new one's, too
    assert [record.id for record in ledger.documents("Papers")] == [document]
