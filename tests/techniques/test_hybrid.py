import numpy as np

from rag_core.techniques.hybrid import Hybrid, HybridSettings
from rag_core.types import Hit, SearchFilter
from tests.fakes import WordVectors, a_chunk


class Found:
    def __init__(self, *hits: Hit) -> None:
        self.hits = list(hits)
        self.asked: dict = {}

    def hybrid(self, query: str, vector: np.ndarray, **asked: object) -> list[Hit]:
        self.asked = {"query": query, "vector": vector, **asked}
        return self.hits


def a_hit(text: str, **scores: float) -> Hit:
    return Hit(chunk=a_chunk(text), score=1, scores=scores)


def test_the_settings_reach_the_search() -> None:
    found = Found()
    where = SearchFilter(documents=("d",))
    Hybrid(HybridSettings(alpha=0.2, fusion="ranked", limit=7), found, WordVectors()).search("fox", where)
    assert (found.asked["alpha"], found.asked["fusion"], found.asked["limit"]) == (0.2, "ranked", 7)
    assert found.asked["where"] is where
    assert (found.asked["vector"] == WordVectors().embed_one("fox")).all()


def test_what_is_less_close_than_the_threshold_goes_and_what_only_words_found_stays() -> None:
    found = Found(a_hit("near", dense=0.8), a_hit("far", dense=0.3), a_hit("by words", lexical=4.0))
    hits = Hybrid(HybridSettings(threshold=0.5), found, WordVectors()).search("fox", SearchFilter())
    assert [hit.chunk.text for hit in hits] == ["near", "by words"]
