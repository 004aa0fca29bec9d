"""Branches over a real collection: kept, followed, of routed runs, and told when documents changed."""

import uuid
from pathlib import Path

import pytest

from rag_core.errors import RagError
from rag_core.pipeline.plan import PRESETS
from rag_core.workbench import Workbench
from tests.papers import a_pdf
from tests.workbench.waiting import finished

FOX = "The red fox lives in the old forest near Lake Wanaka. It hunts at night."
OWL = "The barn owl sleeps in the old mill. The fox does not go there."
QUESTION = "Where does the fox live?"


@pytest.fixture
def animals(workbench: Workbench, tmp_path: Path) -> str:
    collection = f"Animals {uuid.uuid4().hex[:6]}"
    workbench.create_collection(collection)
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), a_pdf(tmp_path / "owl.pdf", OWL), collection=collection)
    return collection


def test_a_branch_is_a_run_of_its_own_beside_the_chat(workbench: Workbench, animals: str) -> None:
    chat = uuid.uuid4().hex
    first = finished(workbench, workbench.start(QUESTION, collection=animals, chat=chat, engine="keyless"))
    fox = next(hit.chunk.id for hit in first.evidence if hit.chunk.name == "fox.pdf")
    branch = finished(workbench, workbench.fork(first.id, {"kind": "drop", "chunk": fox}))
    assert branch.status == "done"
    assert {hit.chunk.name for hit in branch.evidence} == {"owl.pdf"}
    assert workbench.run(branch.id) == branch
    assert [run.id for run in workbench.chat(chat)] == [first.id]
    again = finished(workbench, workbench.fork(branch.id, {"kind": "again"}, 1))
    assert {hit.chunk.name for hit in again.evidence} == {"owl.pdf"}
    before_it = finished(workbench, workbench.fork(branch.id, {"kind": "again"}, 0))
    assert {hit.chunk.name for hit in before_it.evidence} == {"fox.pdf", "owl.pdf"}
    root, branches = workbench.family(again.id)
    assert root == first.id
    assert [(one.run, one.parent, one.edited) for one in branches] == [
        (branch.id, first.id, "dropped fox.pdf p.1"),
        (again.id, branch.id, "nothing changed"),
        (before_it.id, branch.id, "nothing changed"),
    ]
    assert [point.step for point in workbench.points(again.id)] == [point.step for point in workbench.points(first.id)]


def test_a_branch_says_so_when_documents_changed_since(workbench: Workbench, animals: str) -> None:
    first = workbench.ask(QUESTION, collection=animals, engine="keyless")
    workbench.remove("fox.pdf", animals)
    branch = finished(workbench, workbench.fork(first.id, {"kind": "again"}, 1))
    assert branch.final_answer == first.final_answer
    assert branch.note is not None
    assert branch.note.startswith("Since the first run fox.pdf changed: 1 of the 2 passages")
    searched = finished(workbench, workbench.fork(first.id, {"kind": "again"}, 0))
    assert (searched.note, {hit.chunk.name for hit in searched.evidence}) == (None, {"owl.pdf"})


def test_a_branch_of_a_routed_run_stays_in_its_collection(workbench: Workbench, animals: str) -> None:
    first = workbench.ask(QUESTION, plan=PRESETS["simple"].on("route"), engine="keyless")
    branch = finished(workbench, workbench.fork(first.id, {"kind": "again"}, 0))
    assert (branch.collection, branch.final_answer) == (first.collection, first.final_answer)
    assert branch.techniques["route"].ran


def test_what_cannot_be_branched_from_is_refused(workbench: Workbench, animals: str) -> None:
    with pytest.raises(RagError, match="no such run"):
        workbench.fork("nothing", {"kind": "again"})
    first = workbench.ask(QUESTION, collection=animals, engine="keyless")
    with pytest.raises(RagError, match="cannot be edited so"):
        workbench.fork(first.id, {"kind": "drop"})
    workbench.delete_collection(animals)
    with pytest.raises(RagError, match="no collection"):
        workbench.fork(first.id, {"kind": "again"}, 0)
