from rag_core.indexing.waiting import Waiting
from tests.fakes import a_chunk


def some(*pages: int) -> Waiting:
    return Waiting(a_chunk(f"chunk {number}", id_=f"c{number}", page=page) for number, page in enumerate(pages))


def test_chunks_get_their_vectors_in_order() -> None:
    waiting = some(1, 1, 2)
    assert (waiting.take(2), waiting.take(2), waiting.take(2)) == (["c0", "c1"], ["c2"], [])
    assert (waiting.total, len(waiting)) == (3, 0)


def test_what_a_question_hits_comes_first_with_its_page() -> None:
    waiting = some(1, 1, 2, 3, 3, 4)
    waiting.hurry(["c4", "unknown"])
    assert waiting.take(6) == ["c4", "c3", "c0", "c1", "c2", "c5"]


def test_what_has_its_vector_already_hurries_nothing() -> None:
    waiting = some(1, 2, 3)
    waiting.take(1)
    waiting.hurry(["c0"])
    assert waiting.take(2) == ["c1", "c2"]


def test_passages_without_pages_hurry_alone() -> None:
    waiting = Waiting(a_chunk(f"{number}", id_=f"c{number}", places=()) for number in range(3))
    waiting.hurry(["c2"])
    assert waiting.take(3) == ["c2", "c0", "c1"]
