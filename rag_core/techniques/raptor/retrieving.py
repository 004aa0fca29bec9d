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
_OVER = 0.3
"""What the closeness of the node above counts for a chunk, beside its own."""


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
    score: float = Field(description="Cosine with the question.")
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
        collapsed = self._settings.mode == "collapsed"
        chosen, spent = self._collapsed(tree, close, found) if collapsed else self._from_the_top(tree, close)
        # On the way from the top every node below that is near was chosen itself.
        under = {node.id: self._descend(tree, [node], close, deeper=collapsed) for node in chosen}
        near = self._near(vector, {leaf for leaves in under.values() for leaf in leaves})
        nodes = tuple(
            Used(
                id=node.id,
                level=node.level,
                score=round(close[node.id], 4),
                text=node.text,
                document=node.document,
                leaves=tuple(sorted((leaf for leaf in under[node.id] if leaf in near), key=lambda leaf: -near[leaf])),
            )
            for node in chosen
        )
        return Retrieved(nodes=nodes, hits=tuple(self._evidence(nodes, near, where)), tokens=spent)

    def _collapsed(self, tree: Tree, close: Mapping[str, float], found: Sequence[Hit]) -> tuple[list[Node], int]:
        """The nearest nodes of all levels within the budget, and the tokens of all that were taken."""
        chunks = [
            (hit.scores["dense"], Node(id=hit.chunk.id, level=0, document="", tokens=tokens_of(hit.chunk.text)))
            for hit in found
            if "dense" in hit.scores
        ]
        summaries = [(close[node.id], node) for node in tree.nodes if node.level]
        ranked = sorted([*summaries, *chunks], key=lambda pair: -pair[0])
        taken = self._within_budget([node for _, node in ranked])
        return [node for node in taken if node.level], sum(node.tokens for node in taken)

    def _from_the_top(self, tree: Tree, close: Mapping[str, float]) -> tuple[list[Node], int]:
        """The nearest of the topmost nodes, then the nearest of their children, and so on down to the last summaries.

        Tops of trees of unequal height come in at their own level.
        """
        tops = [node for node in tree.tops.nodes if node.level]
        ways: list[Node] = []
        below: list[Node] = []
        for level in range(tree.levels, 0, -1):
            here = [node for node in [*tops, *below] if node.level == level]
            best = sorted(dict.fromkeys(here), key=lambda node: -close[node.id])[: self._settings.most_of_a_level]
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

    def _descend(self, tree: Tree, nodes: Sequence[Node], close: Mapping[str, float], *, deeper: bool) -> list[str]:
        """The chunks under some nodes: all of their own, and those of the nodes below that stay nearest.

        A top may stand over thousands.
        """
        leaves: dict[str, None] = {}
        while nodes:
            children = dict.fromkeys(child for node in nodes for child in node.children)
            inner = [tree.nodes[tree.row[child]] for child in children if child in tree.row]
            leaves |= dict.fromkeys(child for child in children if child not in tree.row)
            leaves |= dict.fromkeys(node.id for node in inner if not node.level)
            summaries = sorted((node for node in inner if node.level), key=lambda node: -close[node.id])
            nodes = summaries[: self._settings.most_of_a_level] if deeper else []
        return [*leaves]

    def _near(self, vector: np.ndarray, leaves: set[str]) -> dict[str, float]:
        """The cosine of each chunk that is there and has a vector."""
        return {id_: float(own @ vector) for id_, own in self._summaries.vectors(sorted(leaves)).items()}

    def _evidence(self, nodes: Sequence[Used], near: Mapping[str, float], where: SearchFilter) -> list[Hit]:
        """The chunks under the nodes, by their own closeness and that of the best node above them."""
        above: dict[str, Used] = {}
        for node in sorted(nodes, key=lambda node: node.score):
            above |= dict.fromkeys(node.leaves, node)
        scores = {leaf: (1 - _OVER) * near[leaf] + _OVER * node.score for leaf, node in above.items()}
        ranked = sorted(scores, key=lambda leaf: (-scores[leaf], leaf))
        best, left, hits = max(scores.values(), default=1.0) or 1.0, self._settings.token_budget, []
        for chunk in self._summaries.get(ranked):
            if where.admits(chunk) and (left := left - tokens_of(chunk.text)) >= 0:
                known = {"dense": near[chunk.id], "tree": above[chunk.id].score}
                hits.append(Hit(chunk=chunk, score=max(0.0, scores[chunk.id] / best), scores=known))
        return hits
