from pathlib import Path

from rag_core.pipeline.memories import MemoryStore, memory_of
from rag_core.pipeline.run import Run
from rag_core.techniques.base import Remembered
from rag_core.trace import TraceEvent
from rag_core.types import Sentence
from tests.fakes import a_hit


def a_memory(run: str, *documents: str) -> Remembered:
    versions = dict.fromkeys(documents or ("d",), "v1")
    return Remembered(run=run, question=f"{run}?", answer="Yes.", evidence=("c",), documents=versions)


def runs(memories: list[Remembered]) -> list[str]:
    return [memory.run for memory in memories]


def test_memories_are_there_after_a_restart_the_latest_first_and_by_collection(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.sqlite")
    for run, tenant in (("one", "papers"), ("two", "papers"), ("three", "other")):
        store.keep(tenant, a_memory(run))
    store.close()
    again = MemoryStore(tmp_path / "memories.sqlite")
    assert again.of("papers").kept() == [a_memory("two"), a_memory("one")]
    assert runs(again.kept("other")) == ["three"]


def test_a_run_marked_twice_is_remembered_once(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.sqlite")
    store.keep("papers", a_memory("one"))
    store.keep("papers", a_memory("one").model_copy(update={"answer": "No."}))
    assert [memory.answer for memory in store.kept("papers")] == ["No."]


def test_what_is_forgotten_is_gone_and_the_rest_stays(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.sqlite")
    for run in ("one", "two"):
        store.keep("papers", a_memory(run))
    store.of("papers").forget(["one", "never there"])
    assert runs(store.kept("papers")) == ["two"]


def test_with_a_document_go_all_answers_that_cite_it(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.sqlite")
    store.keep("papers", a_memory("one", "d", "e"))
    store.keep("papers", a_memory("two", "e"))
    store.keep("papers", a_memory("three", "f"))
    store.forget_document("e")
    assert runs(store.kept("papers")) == ["three"]


def a_run(**fields: object) -> Run:
    hit = a_hit("The fee is $36 million.", id_="c")
    known = {
        "id": "r",
        "chat": "",
        "question": "the fee?",
        "plan": {},
        "engine": "keyless",
        "collection": "Papers",
        "created_at": "2026-01-01",
        "status": "done",
        "final_answer": "$36 million.",
        "sentences": (Sentence(text="$36 million.", citations=("c", "gone")),),
        "evidence": (hit, a_hit("Something else.", document="other")),
    }
    return Run.model_validate({**known, **fields})


def test_a_run_leaves_its_question_its_answer_and_what_it_cites() -> None:
    assert memory_of(a_run(), {"doc": "v1", "other": "v1"}) == Remembered(
        run="r", question="the fee?", answer="$36 million.", evidence=("c",), documents={"doc": "v1"}
    )


def test_a_run_without_evidence_that_is_still_there_leaves_nothing() -> None:
    assert memory_of(a_run(), {"other": "v1"}) is None
    assert memory_of(a_run(sentences=()), {"doc": "v1"}) is None
    assert memory_of(a_run(refused=True), {"doc": "v1"}) is None


def test_a_follow_up_is_remembered_as_it_was_made_to_stand_alone() -> None:
    rewritten = TraceEvent(
        span_id=1, parent_id=None, name="rewrite", phase="question", start_s=0, duration_s=0,
        attributes={"query": "What was the revenue in 2022?"},
    )  # fmt: skip
    memory = memory_of(a_run(question="And in 2022?", spans=(rewritten,)), {"doc": "v1"})
    assert memory is not None
    assert memory.question == "What was the revenue in 2022?"
