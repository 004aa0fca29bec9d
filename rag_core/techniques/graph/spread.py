"""Spread: a random walk over entities and passages that starts at the question.

It starts at the entities that the question names, the rarer the more, and a little at the first hits of the search; it
goes from entities to the passages that mention them and back, and where it passes most often are the passages that
matter to all of these at once, also those that share no word with the question. Costs some milliseconds and no model.

Sources: Gutiérrez et al. 2024, "HippoRAG", https://arxiv.org/abs/2405.14831; Page et al. 1999, "The PageRank Citation
Ranking", http://ilpubs.stanford.edu:8090/422/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from rag_core.stores.graph.facts import Edges, Entity, GraphStore
from rag_core.techniques.graph.extraction import ABOUT
from rag_core.techniques.graph.lexicon import Lexicon

_STEPS = 10
"""Steps of the walk that are taken: forty found the same on two sets and cost four times as much."""
_RELATED = 0.3
"""What a relation weighs beside a mention: 0 to 1 found the same, and 0.3 keeps what a model says of relations."""
_ALIAS = 5.0
"""What it weighs that two entities share a name: the walk passes on to those that are written otherwise."""

_HEADINGS = 3
"""Chunks whose heading names an entity that they are about, at most: what more have is in half of their collection."""


@dataclass(frozen=True)
class Walked:
    """How often the walk was where: shares, `(n,)` each, in the order of the graph's entities and chunks."""

    entities: np.ndarray
    chunks: np.ndarray


class GraphIndex:
    """A graph as a walk needs it: its names, and a matrix of where each step may go."""

    def __init__(self, edges: Edges, entities: Sequence[Entity]) -> None:
        """Take in a graph.

        Args:
            entities: At least those of `edges`, in any order.
        """
        known = {entity.id: entity for entity in entities}
        self.version = edges.version
        self.entities = [known.get(id_) or Entity(id_, id_) for id_ in edges.entities]
        self.chunks = edges.chunks
        self.lexicon = Lexicon((at, (one.name, *one.aliases)) for at, one in enumerate(self.entities))
        self._at_entity = {id_: at for at, id_ in enumerate(edges.entities)}
        self._at_chunk = {id_: at for at, id_ in enumerate(edges.chunks)}
        shape = (len(edges.entities), len(edges.chunks))
        at_entity, at_chunk, weights = edges.mentioned
        self._mentioned = sparse.csr_array((weights, (at_entity, at_chunk)), shape=shape, dtype=np.float32)
        self._by_chunk = self._mentioned.tocsc()
        self._chunks_with = np.maximum(1, np.diff(self._mentioned.indptr))
        headings = np.bincount(at_entity[weights >= ABOUT], minlength=len(self.entities))
        self._subject = (headings > 0) & (headings <= _HEADINGS)
        self._steps = _stochastic(self._between(edges), self._mentioned)

    def spread(
        self, entities: Sequence[int], passages: Mapping[str, float], *, passage_weight: float, damping: float
    ) -> Walked:
        """Walk from these entities and passages.

        Args:
            entities: Positions; each counts by how few chunks mention it.
            passages: Scores of chunks by id, 0 or more; those that the graph does not have are left out.
            passage_weight: What all passages together weigh, where all entities together weigh 1.
            damping: How likely the walk goes on at each step rather than back to its start.
        """
        count = len(self.entities)
        start = np.zeros(count + len(self.chunks), np.float32)
        for at in entities:
            start[at] = 1 / self._chunks_with[at]
        start[:count] /= start.sum() or 1
        total = sum(passages.values()) or 1
        for id_, score in passages.items():
            if id_ in self._at_chunk:
                start[count + self._at_chunk[id_]] = passage_weight * score / total
        start /= start.sum() or 1
        there = start
        for _ in range(_STEPS):
            there = damping * (self._steps @ there) + (1 - damping) * start
        return Walked(there[:count], there[count:])

    def known(self, chunk: str) -> bool:
        return chunk in self._at_chunk

    def subject(self, entities: Sequence[int]) -> bool:
        """Whether any of these entities is what a few chunks are about, by their headings."""
        return bool(self._subject[list(entities)].any())

    def mentions_of(self, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        """`(entities, weights)` that a chunk, by position, mentions; `(n,)` each."""
        there = slice(self._by_chunk.indptr[chunk], self._by_chunk.indptr[chunk + 1])
        return self._by_chunk.indices[there], self._by_chunk.data[there]

    def named(self, ids: Iterable[str]) -> list[Entity]:
        """Those of these entities that are there."""
        return [self.entities[self._at_entity[id_]] for id_ in ids if id_ in self._at_entity]

    def chunks_of(self, entities: Iterable[str], most: int) -> list[str]:
        """The chunks that speak most of these entities: so many at most."""
        rows = [self._at_entity[id_] for id_ in entities if id_ in self._at_entity]
        if not rows:
            return []
        weights = np.asarray(self._mentioned[rows].sum(axis=0)).ravel()
        best = np.argsort(-weights, kind="stable")[:most]
        return [self.chunks[at] for at in best if weights[at] > 0]

    def _between(self, edges: Edges) -> sparse.csr_array:
        """Entity to entity: what passages relate, and what shares a name."""
        sources, targets, weights = edges.related
        pairs = [(first, other) for first, *others in self.lexicon.shared() for other in others]
        alike = np.array(pairs, np.int64).reshape(-1, 2)
        rows = np.concatenate([sources, alike[:, 0]])
        columns = np.concatenate([targets, alike[:, 1]])
        data = np.concatenate([_RELATED * np.minimum(weights, 1), np.full(len(alike), _ALIAS)])
        shape = (len(edges.entities), len(edges.entities))
        one_way = sparse.csr_array((data, (rows, columns)), shape=shape, dtype=np.float32)
        return sparse.csr_array(one_way + one_way.T)


def _stochastic(between: sparse.csr_array, mentioned: sparse.csr_array) -> sparse.csr_array:
    """Where a step from each node (a column) may go: columns that sum to 1, entities first, then chunks."""
    edges = sparse.block_array([[between, mentioned], [mentioned.T, None]], format="csr")
    going = np.asarray(edges.sum(axis=0)).ravel()
    steps = sparse.csr_array(edges @ sparse.diags_array(1 / np.where(going > 0, going, 1)), dtype=np.float32)
    steps.indices, steps.indptr = steps.indices.astype(np.int32), steps.indptr.astype(np.int32)  # half the memory
    return steps


_kept: WeakKeyDictionary[GraphStore, GraphIndex] = WeakKeyDictionary()
_making = Lock()


def index_of(store: GraphStore) -> GraphIndex:
    """The graph of a store as a walk needs it, made once for each of its versions.

    Raises:
        GraphError: The store is out.
    """
    with _making:
        kept = _kept.get(store)
        if kept is None or kept.version != store.version:
            _kept[store] = kept = GraphIndex(store.edges(), store.entities())
        return kept
