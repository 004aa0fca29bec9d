"""The trees of summaries, for questions and for the screens: how they are, what building would take, building them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rag_core.indexing.ledger import Ledger
from rag_core.indexing.tree import Told, TreeEstimate, Trees, TreeStatus
from rag_core.llm.engine import Engine
from rag_core.techniques.raptor.nodes import Node, Tree
from rag_core.types import Chunk, Value
from rag_core.workbench.builds import Builds
from rag_core.workbench.searched import Tenants


class TreeView(Value):
    """A tree as a screen draws it."""

    status: TreeStatus
    levels: tuple[tuple[Node, ...], ...]
    """The summaries, the topmost level first. A child that is none of them is a chunk: `leaves` gives it."""
    documents: Mapping[str, str]
    """The names of the documents, by id."""


class Searched:
    """The tree over some collections, and the chunks under it, for one question."""

    def __init__(self, trees: Trees, collections: Sequence[str], chunks: Tenants) -> None:
        self._trees = trees
        self._collections = collections
        self._chunks = chunks

    def tree(self) -> Tree:
        return self._trees.tree(self._collections)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return self._chunks.get(ids)

    def vectors(self, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        return self._chunks.vectors(ids)


class SummaryTrees:
    """The trees of one workbench. Safe for threads."""

    def __init__(self, trees: Trees, ledger: Ledger, chunks: Callable[[str], Tenants], engine: Callable[..., Engine]):
        """Wire them.

        Args:
            chunks: Gives the chunks of a collection.
            engine: Gives the engine of a name, as the models are set now.
        """
        self._trees = trees
        self._ledger = ledger
        self._chunks = chunks
        self._engine = engine
        self._builds = Builds("tree")

    def close(self) -> None:
        """Stop what is being built; it goes on at the next build."""
        self._builds.close()
        self._trees.close()

    def status(self, collection: str) -> TreeStatus:
        """How the tree of a collection is.

        Raises:
            UnknownCollection: There is no such collection.
        """
        return self._trees.status(collection)

    def failed(self, collection: str) -> str | None:
        """Why the last build that was started here came to no end, in a sentence."""
        return self._builds.failed(self._ledger.tenant(collection))

    def estimate(self, collection: str, engine: str | None = None) -> TreeEstimate:
        """What building would take; to be shown before it begins.

        Args:
            engine: 'keyless' or 'model'; the model where there is one, when not given.
        """
        return self._trees.estimate(collection, self._engine(engine))

    def build_tree(
        self,
        collection: str,
        *,
        engine: str | None = None,
        anew: bool = False,
        told: Told = lambda progress: None,
    ) -> TreeStatus:
        """Bring the tree of a collection up to date, here and now.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: It is being built already, nothing is there to be summarised, or the model failed; the message
                says what to do, and what was made is kept.
        """
        tenant = self._ledger.tenant(collection)
        return self._trees.build(
            collection,
            self._engine(engine),
            anew=anew,
            told=told,
            stopped=lambda: self._builds.stopped(tenant),
        )

    def start(self, collection: str, *, engine: str | None = None, anew: bool = False) -> None:
        """Bring it up to date in the background; `status` says how far it is, `failed` why it came to no end."""
        tenant = self._ledger.tenant(collection)
        self._builds.start(tenant, lambda: self.build_tree(self._ledger.collection(tenant), engine=engine, anew=anew))

    def under_way(self, collection: str) -> bool:
        """Whether a build that was started here goes on; `status` knows it a moment later."""
        return self._builds.under_way(self._ledger.tenant(collection))

    def holds(self, tenant: str) -> bool:
        """Whether a build that was started here still uses a tenant, be its collection deleted or not."""
        return self._builds.holds(tenant)

    def stop(self, collection: str) -> None:
        """Stop the build that was started here; what is made is kept."""
        self._builds.stop(self._ledger.tenant(collection))

    def tree(self, collection: str) -> TreeView:
        """The tree of a collection, of what it holds now.

        Raises:
            UnknownCollection: There is no such collection.
        """
        tree = self._trees.tree([collection])
        levels = tuple(tuple(node for node in tree.nodes if node.level == level) for level in range(tree.levels, 0, -1))
        names = {record.id: record.name for record in self._ledger.documents(collection)}
        return TreeView(status=self.status(collection), levels=levels, documents=names)

    def leaves(self, collection: str, node: str) -> list[Chunk]:
        """The chunks under a node, with document, page and boxes, in order."""
        return self._chunks(collection).get(self._trees.tree([collection]).leaves(node))

    def over(self, collections: Sequence[str], chunks: Tenants) -> Searched:
        """What a question over these collections searches."""
        return Searched(self._trees, collections, chunks)

    def forget_document(self, document: str) -> None:
        """Forget everything that was summarised of a document."""
        self._trees.forget_document(document)

    def forget_collection(self, tenant: str) -> None:
        """Forget what was summarised over the documents of a collection, once nothing builds it any more."""
        self._builds.end(tenant, lambda: self._trees.forget_collection(tenant))
