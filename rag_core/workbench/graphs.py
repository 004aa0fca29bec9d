"""The knowledge graphs of a workbench: built in the foreground or in the background, stopped, looked at."""

from __future__ import annotations

from collections.abc import Callable

from rag_core.indexing.graph import GraphEstimate, Graphs, GraphStatus, Making, Told
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques.graph.communities import Reporter
from rag_core.techniques.graph.extraction import EXTRACT, Extractor, made_by
from rag_core.types import Chunk
from rag_core.workbench.builds import Builds
from rag_core.workbench.searched import Tenants

_PASSAGES = """\
MATCH (c:Chunk)-[m:MENTIONS]->(e:Entity) WHERE e.id = $entity RETURN c.id ORDER BY m.weight DESC"""


def making(engine: Engine, reading: Reading) -> Making:
    """What a graph is made with by this engine."""
    return Making(
        name=made_by(engine),
        extractor=lambda watch: Extractor(engine, reading, watch),
        reporter=lambda watch: Reporter(engine, reading, watch),
        asks_model=engine.name != KeylessEngine.name,
        prompt_tokens=len(EXTRACT.prompt) // 4,
    )


class KnowledgeGraphs:
    """The graphs of one workbench. Safe for threads."""

    def __init__(
        self, graphs: Graphs, making: Callable[[str, str | None], Making], chunks: Callable[[str], Tenants]
    ) -> None:
        """Wire them.

        Args:
            making: Gives what the graph of a collection is made with, by an engine's name, as the models are set now.
            chunks: Gives the chunks of a collection.
        """
        self._graphs = graphs
        self._chunks = chunks
        self._making = making
        self._builds = Builds("graph")

    def close(self) -> None:
        """Stop what is being built; it goes on at the next build."""
        self._builds.close()
        self._graphs.close()

    def graph(self, collection: str) -> GraphStore | None:
        """The graph of a collection; None where none was built.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: It cannot be opened.
        """
        return self._graphs.graph(collection)

    def passages(self, collection: str, entity: str, *, limit: int = 20) -> list[Chunk]:
        """The chunks that mention an entity, with document, page and boxes; those that are about it first.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: The graph cannot be opened.
            StoreError: The chunks could not be read.
        """
        graph = self.graph(collection)
        if graph is None:
            return []
        rows = graph.cypher(_PASSAGES, limit=limit, parameters={"entity": entity}).rows
        return self._chunks(collection).get([id_ for (id_,) in rows])

    def status(self, collection: str) -> GraphStatus:
        """How the graph of a collection is.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: It cannot be opened.
        """
        return self._graphs.status(collection)

    def failed(self, collection: str) -> str | None:
        """Why the last build that was started here came to no end, in a sentence."""
        return self._builds.failed(self._graphs.tenant(collection))

    def estimate(self, collection: str, engine: str | None = None) -> GraphEstimate:
        """What building would take; to be shown before it begins.

        Args:
            engine: 'keyless' or 'model'; the model where there is one, when not given.
        """
        return self._graphs.estimate(collection, self._making(collection, engine))

    def build_graph(
        self,
        collection: str,
        *,
        engine: str | None = None,
        anew: bool = False,
        told: Told = lambda progress: None,
    ) -> GraphStatus:
        """Bring the graph of a collection up to date, here and now.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: It is being built already, nothing is there to be read, or the model or the store failed; the
                message says what to do, and what was made is kept.
        """
        tenant = self._graphs.tenant(collection)
        return self._graphs.build(
            collection,
            self._making(collection, engine),
            anew=anew,
            told=told,
            stopped=lambda: self._builds.stopped(tenant),
        )

    def start(self, collection: str, *, engine: str | None = None, anew: bool = False) -> None:
        """Bring it up to date in the background; `status` says how far it is, `failed` why it came to no end.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: It cannot be opened.
        """
        self._graphs.status(collection)
        tenant = self._graphs.tenant(collection)
        self._builds.start(tenant, lambda: self.build_graph(self._graphs.name(tenant), engine=engine, anew=anew))

    def under_way(self, collection: str) -> bool:
        """Whether a build that was started here goes on; `status` knows it a moment later."""
        return self._builds.under_way(self._graphs.tenant(collection))

    def holds(self, tenant: str) -> bool:
        """Whether a build that was started here still uses a tenant, be its collection deleted or not."""
        return self._builds.holds(tenant)

    def stop(self, collection: str) -> None:
        """Stop the build that was started here; what is made is kept."""
        self._builds.stop(self._graphs.tenant(collection))

    def forget_left(self) -> None:
        """Remove graphs of collections that are gone."""
        self._graphs.forget_left()

    def forget_document(self, collection: str, document: str) -> None:
        """Forget what a document said."""
        self._graphs.forget_document(collection, document)

    def forget_collection(self, tenant: str) -> None:
        """Remove the graph of a collection, once nothing builds it any more."""
        self._builds.end(tenant, lambda: self._graphs.forget_collection(tenant))
