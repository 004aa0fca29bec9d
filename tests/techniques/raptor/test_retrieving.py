from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from rag_core.techniques.raptor.nodes import EMPTY, Node, Tree, tokens_of
from rag_core.techniques.raptor.retrieving import NO_TREE, Raptor
from rag_core.techniques.raptor.settings import RaptorSettings
from rag_core.types import Chunk, SearchFilter
from tests.fakes import WordVectors, a_chunk, a_hit

WORDS = WordVectors()
TEXTS = {
    "ship1": "harbour ships carry coal",
    "ship2": "harbour ships carry grain",
    "fox1": "forest foxes hunt mice",
    "fox2": "forest foxes hunt voles",
}


class Shelf:
    """A tree of two levels over four chunks of two documents."""

    def __init__(self, chunks: Mapping[str, str] = TEXTS) -> None:
        self.chunks = {
            id_: a_chunk(text, id_=id_, document=id_[:-1], page=int(id_[-1])) for id_, text in chunks.items()
        }
        nodes = (
            self.node("ships", 1, "ship", "harbour ships carry goods", "ship1", "ship2"),
            self.node("foxes", 1, "fox", "forest foxes hunt animals", "fox1", "fox2"),
            self.node("top", 2, "", "harbour ships and forest foxes", "ships", "foxes"),
        )
        self.grown = Tree(nodes, WORDS.embed([node.text for node in nodes]))

    def node(self, id_: str, level: int, document: str, text: str, *children: str) -> Node:
        return Node(id=id_, level=level, document=document, text=text, children=children, tokens=tokens_of(text))

    def tree(self) -> Tree:
        return self.grown

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [self.chunks[id_] for id_ in ids if id_ in self.chunks]

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        return {id_: WORDS.embed_one(self.chunks[id_].text) for id_ in ids if id_ in self.chunks}


def raptor(shelf: Shelf | None = None, **settings: object) -> Raptor:
    return Raptor(RaptorSettings.model_validate(settings), shelf or Shelf(), WORDS)


def test_summaries_bring_the_chunks_under_them_and_are_no_evidence_themselves() -> None:
    found = raptor(most_of_a_level=1).retrieve("harbour ships", [], SearchFilter())
    assert [(node.id, node.level) for node in found.nodes] == [("ships", 1), ("top", 2)]
    assert {hit.chunk.id for hit in found.hits[:2]} == {"ship1", "ship2"}
    assert all(0 < hit.score <= 1 and hit.chunk.page for hit in found.hits)
    assert {node.id for node in found.nodes}.isdisjoint(hit.chunk.id for hit in found.hits)


def test_what_the_search_found_under_a_summary_speaks_for_it() -> None:
    hit = a_hit(TEXTS["fox2"], id_="fox2").model_copy(update={"scores": {"dense": 0.4}})
    by_vector, by_both = (
        raptor(most_of_a_level=1, found_weight=weight).retrieve("harbour goods", [hit], SearchFilter())
        for weight in (0, 1)
    )
    assert [node.id for node in by_vector.nodes if node.level == 1] == ["ships"]
    assert [node.id for node in by_both.nodes if node.level == 1] == ["foxes"]
    assert by_both.hits[0].chunk.id == "fox2"


def test_from_the_top_only_what_lies_on_the_way_is_evidence() -> None:
    found = raptor(mode="traversal", most_of_a_level=1).retrieve("harbour ships", [], SearchFilter())
    assert [node.id for node in found.nodes] == ["top", "ships"]
    assert {hit.chunk.id for hit in found.hits} == {"ship1", "ship2"}


@pytest.mark.parametrize("mode", ["collapsed", "traversal"])
def test_no_level_gives_more_nodes_than_allowed_and_all_keep_to_the_budget(mode: str) -> None:
    wide = {f"{name}{at}": f"{name} sail {at}" * 30 for name in ("a", "b", "c", "d", "e", "f") for at in (1, 2)}
    shelf = Shelf(wide)
    nodes = tuple(
        shelf.node(name, 1, name, f"{name} sail " * 30, f"{name}1", f"{name}2") for name in sorted({k[0] for k in wide})
    )
    shelf.grown = Tree(nodes, WORDS.embed([node.text for node in nodes]))
    for budget, most in ((200, 20), (16_000, 3)):
        hits = [a_hit("sail " * 50, id_=f"h{at}").model_copy(update={"scores": {"dense": 0.1}}) for at in range(9)]
        found = raptor(shelf, mode=mode, token_budget=budget, most_of_a_level=most).retrieve(
            "sail", hits, SearchFilter()
        )
        assert 0 < len(found.nodes) <= most
        assert found.tokens <= budget
        assert sum(tokens_of(hit.chunk.text) for hit in found.hits) <= budget


def test_chunks_of_the_search_take_their_part_of_the_budget_where_they_are_nearer() -> None:
    near = a_hit("harbour ships " * 50, id_="near").model_copy(update={"scores": {"dense": 0.999}})
    assert raptor(token_budget=200).retrieve("harbour ships", [near], SearchFilter()).tokens > 175


def test_only_summaries_and_chunks_of_the_chosen_documents_are_taken() -> None:
    found = raptor().retrieve("harbour ships", [], SearchFilter(documents=("fox",)))
    assert [node.id for node in found.nodes] == ["foxes"]
    pages = raptor().retrieve("harbour ships", [], SearchFilter(pages=(2,)))
    assert {hit.chunk.id for hit in pages.hits} == {"ship2", "fox2"}


def test_a_chunk_that_is_gone_is_left_out() -> None:
    shelf = Shelf()
    del shelf.chunks["ship1"]
    found = raptor(shelf).retrieve("harbour ships", [], SearchFilter())
    assert "ship1" not in {hit.chunk.id for hit in found.hits}
    assert all("ship1" not in node.leaves for node in found.nodes)


def test_without_a_tree_it_says_how_to_get_one() -> None:
    shelf = Shelf()
    shelf.grown = EMPTY
    found = raptor(shelf).retrieve("harbour ships", [], SearchFilter())
    assert (found.nodes, found.hits, found.why) == ((), (), NO_TREE)


def test_the_trace_keeps_chunks_by_their_ids_and_a_summary_once() -> None:
    told = raptor(most_of_a_level=1).retrieve("harbour ships", [], SearchFilter()).as_json()
    assert set(told) == {"nodes", "tokens", "chunks"}
    assert set(told["chunks"]) == {"ship1", "ship2"}
    assert [node["text"] for node in told["nodes"]] == ["harbour ships carry goods", "harbour ships and forest foxes"]


def test_where_no_summary_fits_the_budget_the_reason_is_told() -> None:
    shelf = Shelf()
    nodes = tuple(node.model_copy(update={"tokens": 201}) for node in shelf.grown.nodes)
    shelf.grown = Tree(nodes, shelf.grown.vectors)
    found = raptor(shelf, token_budget=200).retrieve("harbour ships", [], SearchFilter())
    assert found.nodes == found.hits == ()
    assert "budget" in found.why
