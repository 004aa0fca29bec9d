from rag_core.pipeline.evidence import fused, joined
from rag_core.types import Hit
from tests.fakes import a_hit


def hits(**scores: float) -> list[Hit]:
    return [a_hit(id_, id_=id_).model_copy(update={"score": score}) for id_, score in scores.items()]


def scores_of(found: list[Hit]) -> dict[str, float]:
    return {hit.chunk.id: round(hit.score, 6) for hit in found}


def test_searches_for_the_same_are_the_weighted_mean_and_what_one_missed_has_nothing_of_it() -> None:
    found = fused([(1.0, hits(a=0.9, b=0.6)), (0.5, hits(b=0.9, c=0.6))])
    assert scores_of(found) == {"b": 0.7, "a": 0.6, "c": 0.2}
    assert [hit.chunk.id for hit in found] == ["b", "a", "c"]


def test_a_search_without_weight_changes_nothing() -> None:
    assert scores_of(fused([(1.0, hits(a=0.9)), (0.0, [])])) == {"a": 0.9}


def test_searches_for_different_things_leave_each_chunk_its_best_score() -> None:
    found = joined(hits(a=0.9, b=0.5), hits(b=0.8, c=1.0, a=1.0), weight=0.8)
    assert scores_of(found) == {"a": 0.9, "c": 0.8, "b": 0.64}


def test_what_was_known_comes_first_among_equals() -> None:
    assert [hit.chunk.id for hit in joined(hits(z=0.8), hits(a=1.0), weight=0.8)] == ["z", "a"]
