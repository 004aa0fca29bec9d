from collections.abc import Sequence

import pytest

from rag_core.llm.reading.reading import Reading
from rag_core.techniques.base import Listed, Remembered
from rag_core.techniques.memory import Memory, MemorySettings, Recalled, with_recalled
from rag_core.types import Chunk, Hit, SearchFilter
from tests.fakes import WordVectors, a_chunk, a_hit

CHUNKS = {"a": a_chunk("The fee is $36 million.", id_="a"), "b": a_chunk("It is due at once.", id_="b", page=2)}


class Kept:
    def __init__(self, *memories: Remembered) -> None:
        self.memories = list(memories)

    def kept(self) -> Sequence[Remembered]:
        return self.memories

    def forget(self, runs: Sequence[str]) -> None:
        self.memories = [memory for memory in self.memories if memory.run not in runs]


class Documents:
    def __init__(self, **versions: str) -> None:
        self.versions = versions

    def documents(self) -> list[Listed]:
        return [Listed(id=id_, name=f"{id_}.pdf", version=version) for id_, version in self.versions.items()]

    def printed(self, document: str, number: str) -> list[int]:
        return []


class There:
    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [CHUNKS[id_] for id_ in ids if id_ in self.ids]


def a_memory(question: str, *, run: str = "r", version: str = "v1") -> Remembered:
    return Remembered(
        run=run, question=question, answer="$36 million.", evidence=("a", "b"), documents={"doc": version}
    )


def recalled(
    question: str,
    kept: Kept,
    *,
    ids: str = "ab",
    where: SearchFilter | None = None,
    version: str = "v1",
    **settings: float,
) -> list[Recalled]:
    memory = Memory(
        MemorySettings.model_validate(settings), kept, There(*ids), Documents(doc=version), Reading(WordVectors())
    )
    return memory.recall(question, where or SearchFilter())


def test_a_similar_question_brings_back_the_answer_with_what_it_cites() -> None:
    (found,) = recalled("how large is the break fee", Kept(a_memory("How large is the break fee?")))
    assert (found.question, found.answer, round(found.similarity, 3)) == (
        "How large is the break fee?",
        "$36 million.",
        1.0,
    )
    assert [(hit.chunk.id, round(hit.scores["memory"], 3)) for hit in found.hits] == [("a", 1.0), ("b", 1.0)]


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("How large is the break fee?", "Where do zebras live?"),
        ("What was the revenue in 2022?", "What was the revenue in 2023?"),
        ("What is the fee of Corvane for this?", "What is the fee of DataWeave for this?"),
        ("Who founded the company?", "When was the company founded?"),
        ("What are the 3 largest fees there?", "What are the 5 largest fees there?"),
    ],
)
def test_another_question_does_not_also_where_the_words_are_nearly_the_same(kept: str, asked: str) -> None:
    assert recalled(asked, Kept(a_memory(kept)), threshold=0.5) == []


def test_the_threshold_and_the_count_are_kept_to() -> None:
    kept = Kept(a_memory("the break fee", run="1"), a_memory("the break fee sum", run="2"), a_memory("fee", run="3"))
    assert [one.run for one in recalled("the break fee", kept, threshold=0.4)] == ["1", "2", "3"]
    assert [one.run for one in recalled("the break fee", kept, threshold=0.99)] == ["1"]
    assert [one.run for one in recalled("the break fee", kept, threshold=0.4, most=2)] == ["1", "2"]


def test_of_one_question_marked_twice_the_latest_stands() -> None:
    kept = Kept(a_memory("the break fee?", run="late"), a_memory("The break fee", run="early"))
    assert [one.run for one in recalled("the break fee", kept)] == ["late"]


def test_it_is_forgotten_when_its_document_has_changed() -> None:
    kept = Kept(a_memory("the break fee"))
    assert recalled("the break fee", kept, version="v2") == []
    assert kept.memories == []


def test_it_is_not_shown_but_kept_while_its_document_is_away() -> None:
    kept = Kept(a_memory("the break fee"))
    away = Memory(MemorySettings(), kept, There("a", "b"), Documents(other="v1"), Reading(WordVectors()))
    assert away.recall("the break fee", SearchFilter()) == []
    assert len(kept.memories) == 1


def test_it_is_forgotten_when_a_chunk_that_it_cites_is_gone() -> None:
    kept = Kept(a_memory("the break fee"))
    assert recalled("the break fee", kept, ids="a") == []
    assert kept.memories == []


@pytest.mark.parametrize(
    "where", [SearchFilter(documents=("other",)), SearchFilter(pages=(1,)), SearchFilter(kinds=("table",))]
)
def test_what_cites_anything_outside_of_the_search_is_left_out(where: SearchFilter) -> None:
    kept = Kept(a_memory("the break fee"))
    assert recalled("the break fee", kept, where=where) == []
    assert len(kept.memories) == 1


def test_in_the_evidence_it_labels_and_adds_and_displaces_nothing() -> None:
    (found,) = recalled("the break fee", Kept(a_memory("the break fee")))
    hits = [a_hit("Another."), Hit(chunk=CHUNKS["b"], score=0.4, scores={"dense": 0.3})]
    both = with_recalled(hits, [found])
    assert [hit.chunk.id for hit in both] == [hits[0].chunk.id, "b", "a"]
    assert both[1].scores == {"dense": 0.3, "memory": found.similarity}
    assert [hit.score for hit in both] == sorted((hit.score for hit in both), reverse=True)
