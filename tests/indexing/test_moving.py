"""Documents go to another collection, collections are renamed and deleted; a crash in between loses nothing."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from rag_core.errors import RagError
from rag_core.indexing import moving
from rag_core.indexing.ledger import Ledger
from rag_core.workbench import Workbench
from tests.indexing.test_ledger import a_reading
from tests.papers import a_pdf

FOX = "The red fox lives in the old forest near Lake Wanaka. It hunts at night."
OWL = "The barn owl sleeps in the church tower of Queenstown. It eats 1,460 mice a year."


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create_collection("Papers", "All of them.")
    made.create_collection("Books")
    return made


def add(ledger: Ledger, name: str = "a.pdf", collection: str = "Papers") -> str:
    document, _ = ledger.add(collection, name, uuid.uuid4().hex * 2, 10, None)
    ledger.flip(document, a_reading("fox"), state="ready", seconds=1)
    return document


def names(ledger: Ledger, collection: str) -> list[str]:
    return [record.name for record in ledger.documents(collection)]


def test_a_renamed_collection_keeps_its_documents_and_knows_them_again(ledger: Ledger) -> None:
    document, tenant = add(ledger), ledger.tenant("Papers")
    ledger.change_collection("Papers", " My  papers ", "Mine.")
    assert [(info.name, info.description) for info in ledger.collections()] == [("My papers", "Mine."), ("Books", "")]
    assert ledger.tenant("My papers") == tenant
    sha256, _ = ledger.source(document)
    assert ledger.add("My papers", "a.pdf", sha256, 10, None) == (document, False)


def test_the_earlier_name_of_a_collection_can_be_given_again(ledger: Ledger) -> None:
    document, tenant = add(ledger), ledger.tenant("Papers")
    ledger.change_collection("Papers", "Old papers", "")
    ledger.create_collection("Papers")
    assert ledger.tenant("Papers") != tenant
    assert add(ledger) != document


@pytest.mark.parametrize("name", ["Books", " ", "x" * 81])
def test_a_name_that_cannot_be_given_changes_nothing(ledger: Ledger, name: str) -> None:
    with pytest.raises(RagError):
        ledger.change_collection("Papers", name, "")
    assert next((info.name, info.description) for info in ledger.collections()) == ("Papers", "All of them.")


def test_a_deleted_collection_is_out_of_sight_at_once_and_ends_with_its_documents(ledger: Ledger) -> None:
    document, tenant = add(ledger), ledger.tenant("Papers")
    ledger.delete_collection("Papers")
    assert [info.name for info in ledger.collections()] == ["Books"]
    assert [todo.document for todo in ledger.unfinished("f1")] == [document]
    assert ledger.emptied() == []
    ledger.create_collection("Papers")
    assert names(ledger, "Papers") == []
    ledger.forget(document)
    assert ledger.emptied() == [tenant]
    ledger.forget_collection(tenant)
    assert ledger.emptied() == []
    assert ledger.tenant("Papers") != tenant


def test_a_document_is_moved_once_and_keeps_its_id(ledger: Ledger) -> None:
    document = add(ledger)
    ledger.note_move(document, "Books")
    assert ledger.moves() == {document: "Books"}
    assert [todo.document for todo in ledger.unfinished("f1")] == [document]
    assert ledger.flip_move(document)
    assert (names(ledger, "Papers"), names(ledger, "Books")) == ([], ["a.pdf"])
    move = ledger.move(document)
    assert move is not None
    assert move.flipped
    ledger.end_move(document)
    assert ledger.unfinished("f1") == []
    assert (ledger.statistics("Papers").chunks_with("fox"), ledger.statistics("Books").chunks_with("fox")) == (0, 1)


def test_a_move_onto_a_name_that_is_taken_is_refused(ledger: Ledger) -> None:
    first = add(ledger)
    add(ledger, collection="Books")
    with pytest.raises(RagError, match=r"a\.pdf.*'Books'"):
        ledger.note_move(first, "Books")
    assert ledger.moves() == {}


def test_a_collection_that_documents_leave_is_not_deleted_under_them(ledger: Ledger) -> None:
    document = add(ledger)
    ledger.note_move(document, "Books")
    with pytest.raises(RagError, match="moved"):
        ledger.delete_collection("Papers")
    ledger.delete_collection("Books")
    assert ledger.moves() == {}
    assert names(ledger, "Papers") == ["a.pdf"]


@pytest.fixture
def two(workbench: Workbench) -> tuple[str, str]:
    """The names of two collections."""
    made = (f"from {uuid.uuid4().hex}", f"to {uuid.uuid4().hex}")
    for name in made:
        workbench.create_collection(name)
    return made


def test_a_moved_document_is_found_where_it_went_with_the_same_chunks(
    workbench: Workbench, two: tuple[str, str], tmp_path: Path
) -> None:
    source, target = two
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), a_pdf(tmp_path / "owl.pdf", OWL), collection=source)
    fox = next(record for record in workbench.documents(source) if record.name == "fox.pdf")
    before = workbench.chunks(fox.id)
    workbench.move(fox.id, target)
    assert [record.moving_to for record in workbench.documents(source) if record.id == fox.id] == [target]
    workbench._ingest.work(fox.id)
    assert workbench.chunks(fox.id) == before
    assert [record.name for record in workbench.documents(source)] == ["owl.pdf"]
    found = workbench.ask("Where does the red fox live?", collection=target).evidence
    assert {hit.chunk.name for hit in found} == {"fox.pdf"}
    assert found[0].scores["dense"] > 0.3, "the vector went with it"
    left = workbench.ask("Where does the red fox live?", collection=source).evidence
    assert "fox.pdf" not in {hit.chunk.name for hit in left}


@pytest.mark.parametrize("cut", ["copying", "copied", "flipped"])
def test_a_move_that_was_cut_short_goes_on_and_leaves_nothing_double(
    workbench: Workbench, two: tuple[str, str], tmp_path: Path, cut: str
) -> None:
    source, target = two
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX, OWL), collection=source)
    (fox,) = workbench.documents(source)
    ledger, store = workbench._ledger, workbench._store
    tenants = ledger.tenant(source), ledger.tenant(target)
    chunks = workbench.chunks(fox.id)
    ledger.note_move(fox.id, target)
    if cut == "copying":
        store.ensure_tenant(tenants[1])
        store.put(tenants[1], chunks[:1])
    else:
        moving._copy(store, fox.id, *tenants)
    if cut == "flipped":
        ledger.flip_move(fox.id)
    workbench._ingest.work(fox.id)
    assert (store.count(tenants[0], fox.id), store.count(tenants[1], fox.id)) == (0, len(chunks))
    assert len(store.vectors(tenants[1], [chunk.id for chunk in chunks])) == len(chunks)
    assert [record.moving_to for record in workbench.documents(target)] == [None]


def test_a_document_that_is_deleted_on_its_way_is_gone_from_both(
    workbench: Workbench, two: tuple[str, str], tmp_path: Path
) -> None:
    source, target = two
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=source)
    (fox,) = workbench.documents(source)
    ledger, store = workbench._ledger, workbench._store
    tenants = ledger.tenant(source), ledger.tenant(target)
    ledger.note_move(fox.id, target)
    moving._copy(store, fox.id, *tenants)
    workbench.delete(fox.id)
    workbench._ingest.work(fox.id)
    assert (store.count(tenants[0]), store.count(tenants[1])) == (0, 0)
    assert workbench.document(fox.id) is None
    assert ledger.moves() == {}
