"""A tree of summaries: its nodes, their vectors, and what stands under what."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import Field

from rag_core.types import Value

CHARS_A_TOKEN = 4
"""About, in English."""


class Node(Value):
    """A summary of the nodes and chunks under it; or a chunk itself, at level 0."""

    id: str = Field(description="The chunk's own at level 0; of a summary, a hash of what is under it.")
    level: int = Field(ge=0)
    document: str = Field(description="Id of the document that all under it is of; empty where it is of several.")
    text: str = ""
    children: tuple[str, ...] = Field(default=(), description="Their ids, in the order of the documents.")
    made_by: str = Field(default="", description="The engine that wrote the summary.")
    tokens: int = Field(default=0, ge=0, description="Of the text, about.")


@dataclass(frozen=True)
class Tree:
    """Nodes, and their unit vectors, `(nodes, dim)` float32, in the same order: those below before those above.

    Chunks under a summary are only named by it; a chunk is a node where no summary of its document is over it. A node
    may stand under several, as clusters are soft.
    """

    nodes: tuple[Node, ...]
    vectors: np.ndarray

    @cached_property
    def row(self) -> dict[str, int]:
        """Where a node stands, by its id."""
        return {node.id: at for at, node in enumerate(self.nodes)}

    @cached_property
    def tops(self) -> Tree:
        """The nodes that stand under no other."""
        below = {child for node in self.nodes for child in node.children}
        return self.only(lambda node: node.id not in below)

    @cached_property
    def parents(self) -> dict[str, list[Node]]:
        """The nodes directly over a node or a chunk, by its id."""
        over: dict[str, list[Node]] = {}
        for node in self.nodes:
            for child in node.children:
                over.setdefault(child, []).append(node)
        return over

    def over(self, id_: str) -> list[Node]:
        """All nodes over a node or a chunk, each once, the nearest first."""
        found: dict[str, Node] = {}
        below = [id_]
        while below:
            new = {node.id: node for one in below for node in self.parents.get(one, ()) if node.id not in found}
            found |= new
            below = [*new]
        return [*found.values()]

    @property
    def levels(self) -> int:
        """How many levels of summaries there are."""
        return max((node.level for node in self.nodes), default=0)

    def leaves(self, id_: str) -> list[str]:
        """The ids of the chunks under a node, in order; a chunk's own."""
        at = self.row.get(id_)
        if at is None or not self.nodes[at].level:
            return [id_]
        return list(dict.fromkeys(leaf for child in self.nodes[at].children for leaf in self.leaves(child)))

    def only(self, keep: Callable[[Node], bool]) -> Tree:
        """Those nodes alone, with the children that they have."""
        rows = [at for at, node in enumerate(self.nodes) if keep(node)]
        return Tree(tuple(self.nodes[at] for at in rows), self.vectors[rows])


def joined(trees: Iterable[Tree]) -> Tree:
    """One tree of several, which share no node."""
    grown = [tree for tree in trees if tree.nodes]
    if not grown:
        return EMPTY
    return Tree(tuple(node for tree in grown for node in tree.nodes), np.concatenate([tree.vectors for tree in grown]))


EMPTY = Tree((), np.zeros((0, 0), dtype=np.float32))


def node_id(children: Sequence[str]) -> str:
    """The id of the summary of these nodes: the same for the same ones."""
    return hashlib.sha256("\n".join(children).encode()).hexdigest()[:24]


def tokens_of(text: str) -> int:
    return -(-len(text) // CHARS_A_TOKEN)
