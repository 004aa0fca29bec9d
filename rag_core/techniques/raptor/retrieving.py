"""Searching the tree: nodes of all levels at once, or from the top down; what they stand over becomes evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from pydantic import Field

from rag_core.techniques.base import Embedder
from rag_core.techniques.raptor.nodes import Node, Tree, tokens_of
from rag_core.techniques.raptor.settings import RaptorSettings
from rag_core.types import Chunk, Hit, SearchFilter, Value

NO_TREE = (
    "The collection has no tree of summaries: build it on the Knowledge screen or by `python -m rag_core tree build`."
)
_NO_ROOM = "No summary was nearer than the chunks that fill the budget, or none fits into it."
_OVER = 0.3
"""What the node above counts for a chunk, beside its own score."""
_UNSEEN = 0.5
"""What closeness counts for a chunk that the search did not find."""


class Summaries(Protocol):
    """The tree over the searched collections, and the chunks under it."""

    def tree(self) -> Tree: ...

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Those of these chunks that are there."""
        ...

    def vectors(self, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The unit vectors, (dim,), of those of these chunks that have one."""
        ...


class Used(Value):
    """A summary that was found near the question."""

    id: str
    level: int
    score: float = Field(description="Its nearness to the question, about 0..1.")
    text: str
    document: str = Field(description="Empty where it is over several.")
    leaves: tuple[str, ...] = Field(description="Ids of the chunks under it that were looked at, nearest first.")


class Retrieved(Value):
    """What a question took from the tree."""

    nodes: tuple[Used, ...] = Field(default=(), description="In the order they were chosen.")
    hits: tuple[Hit, ...] = Field(default=(), description="Chunks under them, best first; scores in 0..1.")
    tokens: int = Field(default=0, description="Of the nodes that were chosen, chunks included.")
    why: str = Field(default="", description="Why nothing was taken, where nothing was.")

    def as_json(self) -> dict[str, Any]:
        """What the trace keeps: the chunks by their ids."""
        shown = self.model_dump(mode="json", include={"nodes", "tokens"}) | ({"why": self.why} if self.why else {})
        return shown | {"chunks": [hit.chunk.id for hit in self.hits]}


class Raptor:
    """Finds summaries near the question, and what they were made of."""

    def __init__(self, settings: RaptorSettings, summaries: Summaries, embedder: Embedder) -> None:
        self._settings = settings
        self._summaries = summaries
        self._embedder = embedder

    @property
    def weight(self) -> float:
        """How much its hits count beside those of the search."""
        return self._settings.weight

    def retrieve(self, query: str, found: Sequence[Hit], where: SearchFilter) -> Retrieved:
        """Take nodes from the tree, and chunks under them as evidence: a summary itself is never cited.

        Args:
            found: What the usual search brought: the chunks that nodes of all levels are compared with.
            where: Only summaries of these documents are looked at, and only such chunks are given.

        Returns:
            Nodes of `token_budget` tokens at most, and as many tokens of chunks.

        Raises:
            StoreError: The chunks could not be read.
        """
        tree = self._summaries.tree()
        if where.documents:
            tree = tree.only(lambda node: node.document in where.documents)
        if not tree.levels:
            return Retrieved(why=NO_TREE)
        vector = self._embedder.embed_one(query)
        close = dict(zip((node.id for node in tree.nodes), (tree.vectors @ vector).tolist(), strict=True))
        worth = _worth(tree, close, found, self._settings.found_weight)
        collapsed = self._settings.mode == "collapsed"
        chosen, spent = self._collapsed(tree, worth, found) if collapsed else self._from_the_top(tree, worth)
        # On the way from the top every node below that is near was chosen itself.
        under = {node.id: self._descend(tree, [node], worth, deeper=collapsed) for node in chosen}
        near = self._near(vector, {leaf for leaves in under.values() for leaf in leaves})
        nodes = tuple(
            Used(
                id=node.id,
                level=node.level,
                score=round(worth[node.id], 4),
                text=node.text,
                document=node.document,
                leaves=tuple(sorted((leaf for leaf in under[node.id] if leaf in near), key=lambda leaf: -near[leaf])),
            )
            for node in chosen
        )
        hits = tuple(self._evidence(nodes, near, found, where))
        return Retrieved(nodes=nodes, hits=hits, tokens=spent, why="" if nodes else _NO_ROOM)

    def _collapsed(self, tree: Tree, worth: Mapping[str, float], found: Sequence[Hit]) -> tuple[list[Node], int]:
        """The nearest nodes of all levels within the budget, and the tokens of all that were taken."""
        chunks = [
            (hit.scores["dense"], Node(id=hit.chunk.id, level=0, document="", tokens=tokens_of(hit.chunk.text)))
            for hit in found
            if "dense" in hit.scores
        ]
        summaries = [(worth[node.id], node) for node in tree.nodes if node.level]
        ranked = sorted([*summaries, *chunks], key=lambda pair: -pair[0])
        taken = self._within_budget([node for _, node in ranked])
        return [node for node in taken if node.level], sum(node.tokens for node in taken)

    def _from_the_top(self, tree: Tree, worth: Mapping[str, float]) -> tuple[list[Node], int]:
        """The nearest of the topmost nodes, then the nearest of their children, and so on down to the last summaries.

        Tops of trees of unequal height come in at their own level.
        """
        tops = [node for node in tree.tops.nodes if node.level]
        ways: list[Node] = []
        below: list[Node] = []
        for level in range(tree.levels, 0, -1):
            here = [node for node in [*tops, *below] if node.level == level]
            best = sorted(dict.fromkeys(here), key=lambda node: -worth[node.id])[: self._settings.most_of_a_level]
            ways += best
            below += [tree.nodes[tree.row[child]] for node in best for child in node.children if child in tree.row]
        # Where not all fit, those nearest to the chunks stay.
        taken = self._within_budget(ways[::-1])[::-1]
        return taken, sum(node.tokens for node in taken)

    def _within_budget(self, ranked: Sequence[Node]) -> list[Node]:
        left, levels, taken = self._settings.token_budget, Counter[int](), []
        for node in ranked:
            if levels[node.level] < self._settings.most_of_a_level and node.tokens <= left:
                left -= node.tokens
                levels[node.level] += 1
                taken.append(node)
        return taken

    def _descend(self, tree: Tree, nodes: Sequence[Node], worth: Mapping[str, float], *, deeper: bool) -> list[str]:
        """The chunks under some nodes: all of their own, and those of the nodes below that stay nearest.

        A top may stand over thousands.
        """
        leaves: dict[str, None] = {}
        while nodes:
            children = dict.fromkeys(child for node in nodes for child in node.children)
            inner = [tree.nodes[tree.row[child]] for child in children if child in tree.row]
            leaves |= dict.fromkeys(child for child in children if child not in tree.row)
            leaves |= dict.fromkeys(node.id for node in inner if not node.level)
            summaries = sorted((node for node in inner if node.level), key=lambda node: -worth[node.id])
            nodes = summaries[: self._settings.most_of_a_level] if deeper else []
        return [*leaves]

    def _near(self, vector: np.ndarray, leaves: set[str]) -> dict[str, float]:
        """The cosine of each chunk that is there and has a vector."""
        return {id_: float(own @ vector) for id_, own in self._summaries.vectors(sorted(leaves)).items()}

    def _evidence(
        self, nodes: Sequence[Used], near: Mapping[str, float], found: Sequence[Hit], where: SearchFilter
    ) -> list[Hit]:
        """The chunks under the nodes, by their own score and that of the best node above them.

        A chunk that the search did not find has its closeness, beside that of the nearest that it did, at a discount.
        """
        above: dict[str, Used] = {}
        for node in sorted(nodes, key=lambda node: node.score):
            above |= dict.fromkeys(node.leaves, node)
        own, known = _own(near, found), {hit.chunk.id: hit.scores for hit in found}
        most = max((node.score for node in nodes), default=1.0) or 1.0
        scores = {leaf: (own[leaf] + _OVER * node.score / most) / (1 + _OVER) for leaf, node in above.items()}
        ranked = sorted(scores, key=lambda leaf: (-scores[leaf], leaf))
        left, hits = self._settings.token_budget, []
        for chunk in self._summaries.get(ranked):
            tokens = tokens_of(chunk.text)
            if where.admits(chunk) and tokens <= left:
                left -= tokens
                beside = {"dense": near[chunk.id], **known.get(chunk.id, {}), "tree": above[chunk.id].score}
                hits.append(Hit(chunk=chunk, score=min(1.0, max(0.0, scores[chunk.id])), scores=beside))
        return hits


def _worth(tree: Tree, close: Mapping[str, float], found: Sequence[Hit], weight: float) -> dict[str, float]:
    """How near each node is to the question: its own closeness, and what the search found under it.

    A summary says little by its words: names and numbers of the question stand in the chunks under it. The hits count
    as they do for a page, the second for a half, the third for a third, and beside other nodes of the same level.

    Source: Liu and Croft 2004, "Cluster-based retrieval using language models", https://doi.org/10.1145/1008992.1009026
    """
    under: dict[str, list[float]] = {}
    for hit in found:
        for node in tree.over(hit.chunk.id):
            under.setdefault(node.id, []).append(hit.score)
    mass = {id_: sum(s / rank for rank, s in enumerate(sorted(of, reverse=True), 1)) for id_, of in under.items()}
    most: dict[int, float] = {}
    for node in tree.nodes:
        most[node.level] = max(most.get(node.level, 0.0), mass.get(node.id, 0.0))
    nearest = max(close.values(), default=0.0)
    return {
        node.id: (1 - weight) * close[node.id] + weight * nearest * mass.get(node.id, 0.0) / (most[node.level] or 1.0)
        for node in tree.nodes
    }


def _own(near: Mapping[str, float], found: Sequence[Hit]) -> dict[str, float]:
    """The score of each chunk by itself: 0..1."""
    dense = max((hit.scores.get("dense", 0.0) for hit in found), default=0.0) or max(near.values(), default=1.0)
    known = {hit.chunk.id: hit.score for hit in found}
    return {id_: known.get(id_, _UNSEEN * max(0.0, close) / (dense or 1.0)) for id_, close in near.items()}
