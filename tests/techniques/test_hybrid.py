from collections.abc import Iterator

import numpy as np

from rag_core.techniques.hybrid import Hybrid, HybridSettings, weighed
from rag_core.types import Chunk, Hit, SearchFilter
from tests.fakes import WordVectors, a_chunk


class Found:
    def __init__(self, *hits: Hit) -> None:
        self.hits = list(hits)
        self.asked: dict = {}

    def hybrid(self, query: str, vector: np.ndarray, **asked: object) -> list[Hit]:
        self.asked = {"query": query, "vector": vector, **asked}
        return self.hits

    def document(self, document: str) -> Iterator[Chunk]:
        return iter([])


def a_hit(text: str, **scores: float) -> Hit:
    return Hit(chunk=a_chunk(text), score=1, scores=scores)


def on_page(page: int, score: float, document: str = "doc", *, lexical: float = 0.0) -> Hit:
    chunk = a_chunk(f"{document} {page} {score}", page=page, document=document)
    return Hit(chunk=chunk, score=score, scores={"lexical": lexical} if lexical else {})


def test_the_settings_reach_the_search() -> None:
    found = Found()
    where = SearchFilter(documents=("d",))
    Hybrid(HybridSettings(alpha=0.2, fusion="ranked", limit=50), found, WordVectors()).search("fox", where)
    assert (found.asked["alpha"], found.asked["fusion"], found.asked["limit"]) == (0.2, "ranked", 50)
    assert found.asked["where"] is where
    assert (found.asked["vector"] == WordVectors().embed_one("fox")).all()


def test_what_is_less_close_than_the_threshold_goes_and_what_only_words_found_stays() -> None:
    found = Found(a_hit("near", dense=0.8), a_hit("far", dense=0.3), a_hit("by words", lexical=4.0))
    hits = Hybrid(HybridSettings(threshold=0.5), found, WordVectors()).search("fox", SearchFilter())
    assert [hit.chunk.text for hit in hits] == ["near", "by words"]


def test_without_a_threshold_even_what_points_the_other_way_stays() -> None:
    found = Found(a_hit("against", dense=-0.1))
    assert len(Hybrid(HybridSettings(), found, WordVectors()).search("fox", SearchFilter())) == 1


def test_a_page_whose_chunks_hold_the_words_comes_before_one_with_a_single_better_chunk() -> None:
    lone, first, second = on_page(1, 0.8, lexical=9), on_page(2, 0.75, lexical=8), on_page(2, 0.7, lexical=8)
    ranked = weighed([lone, first, second], page_weight=0.5, document_weight=0)
    assert [hit.chunk.page for hit in ranked] == [2, 2, 1]
    assert [hit.scores["page"] for hit in ranked] == [1.0, 1.0, 9 / (8 + 8 / 2)]
    assert ranked[0].score == (0.75 + 0.5) / 1.5
    assert weighed([lone, first, second], page_weight=0, document_weight=0)[0].chunk == lone.chunk


def test_chunks_that_only_vectors_found_add_nothing_to_their_page() -> None:
    hits = [on_page(1, 0.8, lexical=9), on_page(2, 0.78), on_page(2, 0.76), on_page(2, 0.74)]
    assert weighed(hits, page_weight=0.5, document_weight=0)[0].chunk.page == 1
    assert all(hit.scores["page"] == 0 for hit in weighed(hits[1:], page_weight=0.5, document_weight=0))


def test_a_document_with_more_hits_counts_too() -> None:
    hits = [on_page(1, 0.8, "a"), on_page(1, 0.78, "b"), on_page(2, 0.77, "b"), on_page(3, 0.76, "b")]
    assert weighed(hits, page_weight=0, document_weight=0.3)[0].chunk.document == "b"


def test_passages_without_pages_keep_their_order() -> None:
    hits = [
        Hit(chunk=a_chunk(f"passage {n}", places=()), score=1 - n / 10, scores={"lexical": float(n)}) for n in range(5)
    ]
    assert [hit.chunk for hit in weighed(hits, 0.5, 0.3)] == [hit.chunk for hit in hits]


def test_both_ends_of_alpha_rank_by_their_side_alone() -> None:
    hits = [on_page(1, 0.8), on_page(2, 0.75), on_page(2, 0.7)]
    for alpha in (0.0, 1.0):
        found = Hybrid(HybridSettings(alpha=alpha), Found(*hits), WordVectors()).search("fox", SearchFilter())
        assert [hit.chunk for hit in found] == [hit.chunk for hit in hits]


def test_a_search_brings_no_more_than_its_limit() -> None:
    found = Found(*(on_page(n, 1 - n / 100) for n in range(1, 40)))
    assert len(Hybrid(HybridSettings(limit=7), found, WordVectors()).search("fox", SearchFilter())) == 7
    assert found.asked["limit"] > 7, "pages are weighed over a deeper list"


def test_what_a_question_abbreviates_is_searched_for_in_full() -> None:
    hybrid = Hybrid(HybridSettings(), Found(), WordVectors())
    assert hybrid.query("What was the capex in FY18?").endswith(
        "capital expenditures purchases of property plant equipment 2018"
    )
    assert hybrid.query("How red is the fox?") == "How red is the fox?"
    assert Hybrid(HybridSettings(wordings=False), Found(), WordVectors()).query("capex?") == "capex?"
