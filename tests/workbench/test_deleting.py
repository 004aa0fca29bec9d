"""What goes with a document, a collection and a run, and what stays where they cannot be deleted."""

from __future__ import annotations

import json
import threading
import time
import uuid
from pathlib import Path

import pytest

from rag_core.errors import RagError
from rag_core.workbench import Workbench


@pytest.fixture
def crew(workbench: Workbench, tmp_path: Path) -> str:
    """A collection of two documents with a graph and a tree."""
    collection = f"Crew {uuid.uuid4().hex[:6]}"
    for name, text in (("ada", "Ada Lovelace met Charles Babbage."), ("alan", "Alan Turing read Ada Lovelace.")):
        lines = [json.dumps({"id": str(at), "text": f"{text} It was day {at}."}) for at in range(3)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    workbench.ingest(*sorted(tmp_path.glob("*.jsonl")), collection=collection)
    workbench.graphs.build_graph(collection, engine="keyless")
    workbench.trees.build_tree(collection, engine="keyless")
    return collection


def entities(workbench: Workbench, collection: str) -> set[str]:
    graph = workbench.graphs.graph(collection)
    assert graph is not None
    return {entity.name for entity in graph.entities()}


def test_a_deleted_document_takes_its_facts_along(workbench: Workbench, crew: str) -> None:
    workbench.remove("alan.jsonl", crew)
    assert "Alan Turing" not in entities(workbench, crew)
    assert "Ada Lovelace" in entities(workbench, crew)


def test_a_collection_that_cannot_be_deleted_yet_keeps_its_graph_and_its_tree(workbench: Workbench, crew: str) -> None:
    workbench.create_collection(f"{crew} 2")
    leaving = workbench.documents(crew)[0].id
    workbench._ledger.note_move(leaving, f"{crew} 2")
    with pytest.raises(RagError, match="being moved"):
        workbench.delete_collection(crew)
    assert "Ada Lovelace" in entities(workbench, crew)
    assert workbench._ledger.tenant(crew) in workbench.trees._trees._trees.grown()


def test_a_deleted_collection_leaves_no_graph(workbench: Workbench, crew: str) -> None:
    files = workbench.settings.data_dir / "graphs"
    tenant = workbench._ledger.tenant(crew)
    assert [*files.glob(f"{tenant}*")]
    workbench.delete_collection(crew)
    assert not [*files.glob(f"{tenant}*")]


def test_a_collection_made_again_does_not_share_the_tenant_of_a_build_that_still_ends(workbench: Workbench) -> None:
    name, answered = f"Crew {uuid.uuid4().hex[:6]}", threading.Event()
    workbench.create_collection(name)
    old = workbench._ledger.tenant(name)
    workbench.graphs._builds.start(old, lambda: answered.wait(60))
    try:
        workbench.delete_collection(name)
        workbench._ingest._drop_emptied()
        workbench.create_collection(name)
        assert workbench._ledger.tenant(name) != old
    finally:
        answered.set()
    until = time.monotonic() + 60
    while workbench.graphs.holds(old):
        assert time.monotonic() < until
        time.sleep(0.01)
    workbench._ingest._drop_emptied()
    assert old not in workbench._ledger.emptied(), "it goes once nothing is built over it any more"
