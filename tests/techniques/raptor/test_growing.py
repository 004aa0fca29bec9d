from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.techniques.raptor.growing import Written, grow
from rag_core.techniques.raptor.nodes import Node, Tree, joined
from rag_core.techniques.raptor.settings import TreeSettings
from tests.fakes import WordVectors

WORDS = WordVectors()


def leaves(n: int, of: str = "d") -> tuple[Tree, dict[str, str]]:
    """Chunks on one of three themes each, and what they say."""
    texts = {f"{of}{at}": f"{('harbour ship', 'forest fox', 'tax diesel')[at % 3]} {at} {at // 3}" for at in range(n)}
    nodes = tuple(Node(id=id_, level=0, document=of) for id_ in texts)
    return Tree(nodes, WORDS.embed([*texts.values()]) if n else np.zeros((0, 64), np.float32)), texts


def write(texts: Sequence[Sequence[str]]) -> list[Written]:
    said = [" ".join(" ".join(group).split()[:12]) for group in texts]
    return [Written(text, WORDS.embed_one(text), "keyless") for text in said]


@settings(max_examples=20, deadline=None)
@given(n=st.integers(0, 60), max_levels=st.integers(1, 4), largest=st.integers(4, 12))
def test_every_leaf_is_under_a_top_and_levels_get_smaller(n: int, max_levels: int, largest: int) -> None:
    below, texts = leaves(n)
    tree = grow(below, texts, write, TreeSettings(max_levels=max_levels, largest=largest))
    if n < 2:
        assert not tree.nodes
        return
    assert tree.levels <= max_levels
    for top_level in range(1, tree.levels + 1):
        at = [node for node in tree.nodes if node.level == top_level]
        under = {leaf for node in at for leaf in tree.leaves(node.id)}
        assert under == set(texts), "each level stands over all leaves"
        assert all(1 < len(node.children) <= largest for node in at)
    sizes = [sum(node.level == level for node in tree.nodes) for level in range(1, tree.levels + 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert tree.levels == max_levels or sizes[-1] == 1


def test_the_same_leaves_give_the_same_nodes_and_another_leaf_leaves_the_ids_of_other_clusters() -> None:
    one, again = (grow(*leaves(30), write, TreeSettings()) for _ in range(2))
    assert [node.id for node in one.nodes] == [node.id for node in again.nodes]
    other = grow(*leaves(30, of="e"), write, TreeSettings())
    assert not {node.id for node in one.nodes} & {node.id for node in other.nodes}


def test_over_trees_of_two_documents_stand_nodes_of_several_documents() -> None:
    trees = [grow(*leaves(12, of=of), write, TreeSettings()) for of in "de"]
    tops = joined(tree.tops for tree in trees)
    over = grow(tops, {node.id: node.text for node in tops.nodes}, write, TreeSettings())
    whole = joined([*trees, over])
    assert {node.document for node in over.nodes} <= {"", "d", "e"}
    top = whole.tops.nodes[-1]
    assert {leaf[0] for leaf in whole.leaves(top.id)} == {"d", "e"}
    assert top.level > max(tree.levels for tree in trees)
