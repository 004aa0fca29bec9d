"""Growing a tree: cluster, summarise each cluster, and again over the summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rag_core.techniques.raptor.clustering import soft_clusters
from rag_core.techniques.raptor.nodes import Node, Tree, node_id, tokens_of
from rag_core.techniques.raptor.settings import TreeSettings


@dataclass(frozen=True)
class Written:
    """A summary with its unit vector, (dim,) float32, and the engine that wrote it."""

    text: str
    vector: np.ndarray
    made_by: str


class Write(Protocol):
    """Writes summaries, or knows them already: one for each list of texts, in that order."""

    def __call__(self, texts: Sequence[Sequence[str]]) -> Sequence[Written]: ...


def grow(below: Tree, texts: Mapping[str, str], write: Write, settings: TreeSettings) -> Tree:
    """The summaries over these nodes, level by level, until there is one or `max_levels` are made.

    Args:
        below: What is to be summarised, in the order of the documents; its nodes count as one level.
        texts: What each of them says, by id.

    Returns:
        The new nodes alone; the same ones for the same nodes below.
    """
    level = max((node.level for node in below.nodes), default=0)
    nodes, vectors = below.nodes, below.vectors
    made: list[Node] = []
    rows: list[np.ndarray] = []
    said = dict(texts)
    for _ in range(settings.max_levels):
        if len(nodes) < 2:
            break
        level += 1
        clusters = soft_clusters(vectors, threshold=settings.threshold, largest=settings.largest)
        children = [[nodes[at] for at in cluster] for cluster in clusters]
        written = write([[said[child.id] for child in group] for group in children])
        nodes = tuple(_over(group, one, level) for group, one in zip(children, written, strict=True))
        vectors = np.stack([one.vector for one in written])
        said = {node.id: node.text for node in nodes}
        made += nodes
        rows.append(vectors)
    return Tree(tuple(made), np.concatenate(rows) if rows else below.vectors[:0])


def _over(children: Sequence[Node], written: Written, level: int) -> Node:
    documents = {child.document for child in children}
    return Node(
        id=node_id([child.id for child in children]),
        level=level,
        document=documents.pop() if len(documents) == 1 else "",
        text=written.text,
        children=tuple(child.id for child in children),
        made_by=written.made_by,
        tokens=tokens_of(written.text),
    )
