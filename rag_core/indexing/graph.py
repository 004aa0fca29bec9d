"""Graphs over the documents of a collection: built offline, told what they would cost, taken up again.

    each document that is new or changed     chunks -> facts of those that are new or changed -> the graph
    then                                     documents that are gone go; communities, with a report each

What is done is noted in the graph itself, with the facts: a chunk knows what its facts were made from, a document
what all of its were, and the communities which documents. A build that was cut short goes on where it was, and one over
what did not change costs nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pydantic import Field

from rag_core.errors import EngineError, GraphError, RagError, Stopped
from rag_core.fan_out import fan_out
from rag_core.indexing.describing import Listening
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import DocumentRecord
from rag_core.indexing.versions import hash_of, version_of
from rag_core.llm.engine import KeylessEngine, Watch
from rag_core.settings import Settings
from rag_core.stores.graph import drop_graph, graphs_left, has_graph, open_graph
from rag_core.stores.graph.facts import ChunkFacts, Community, GraphStore
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Chunk, Value

_AT_ONCE = 4
"""Chunks asked of a model at the same time."""
_A_WRITE = {False: 500, True: 16}
"""Chunks whose facts are written together, without a model and with one: what is lost where the work is cut short.
With a model also reports."""
_MOST_FAILURES = 3
"""Chunks, or reports, in a row that the model fails on before the build ends."""
_CHUNK_TOKENS = 120
_REPLY_TOKENS = 300

_log = logging.getLogger(__name__)


class Extractor(Protocol):
    """Says what a chunk says."""

    def extract(self, chunk: Chunk) -> ChunkFacts: ...


class Reporter(Protocol):
    """Makes the communities of a graph, with their reports; one that comes again takes the place of the first."""

    def communities(self, store: GraphStore) -> Iterable[Community]: ...


@dataclass(frozen=True)
class Making:
    """What a graph is made with. `name` is another one whenever the facts of the same chunk would be others."""

    name: str
    extractor: Callable[[Watch], Extractor]
    reporter: Callable[[Watch], Reporter]
    asks_model: bool = False
    prompt_tokens: int = 0


class GraphProgress(Value):
    """How far a build is."""

    stage: Literal["facts", "communities"] = "facts"
    document: str = Field(default="", description="The name of the one it is at.")
    done: int = Field(ge=0, description="Chunks, of those that have to be read; communities, kept or written.")
    total: int = Field(ge=0, description="0 where that is not known yet.")


class GraphStatus(Value):
    """How the graph of a collection is."""

    collection: str
    state: Literal["none", "building", "stale", "ready"]
    documents: int = Field(ge=0, description="Those whose facts can be in it.")
    changed: int = Field(default=0, ge=0, description="Documents that came, changed or went since it was built.")
    waiting: int = Field(default=0, ge=0, description="Documents that are still being read.")
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    communities: int = 0
    grouped: bool = Field(default=True, description="Whether its communities are those of what it says now, and all.")
    progress: GraphProgress | None = Field(default=None, description="Only while this process builds it.")


class GraphEstimate(Value):
    """What building would take at most: chunks that did not change are left out when they are met."""

    documents: int = 0
    chunks: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


Told = Callable[[GraphProgress], None]


class Graphs:
    """The graphs of one data directory, each opened when it is first asked for. Safe for threads."""

    def __init__(self, ledger: Ledger, store: ChunkStore, settings: Settings, *, fingerprint: str) -> None:
        """Wire them.

        Args:
            fingerprint: That of today's index: what was read for another one is not in it.
        """
        self._ledger = ledger
        self._store = store
        self._settings = settings
        self._fingerprint = fingerprint
        self._open: dict[str, GraphStore] = {}
        self._opening = threading.RLock()
        self._building: dict[str, GraphProgress] = {}

    def close(self) -> None:
        with self._opening:
            for graph in self._open.values():
                graph.close()
            self._open.clear()

    def graph(self, collection: str) -> GraphStore | None:
        """The graph of a collection, without what documents said that are gone; None where none was built.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: It cannot be opened.
        """
        tenant = self._ledger.tenant(collection)
        if tenant not in self._open and not has_graph(self._settings, tenant):
            return None
        return self._opened(tenant)

    def status(self, collection: str) -> GraphStatus:
        """How the graph of a collection is.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: It cannot be opened.
        """
        tenant, now = self._ledger.tenant(collection), self._versions(collection)
        graph = self.graph(collection)
        made = {} if graph is None else graph.documents()
        then = {id_: version.partition(" ")[0] for id_, version in made.items()}
        changed = sum(then.get(id_) != now.get(id_) for id_ in then.keys() | now.keys())
        size = None if graph is None else graph.size()
        # Where nothing is related there is nothing to be grouped.
        grouped = graph is None or not size or not size.relations or graph.communities_made() == _all_of(made)
        state: Literal["none", "building", "stale", "ready"]
        state = "none" if not then else "stale" if changed or not grouped else "ready"
        return GraphStatus(
            collection=collection,
            state="building" if tenant in self._building else state,
            documents=len(now),
            changed=changed,
            waiting=len(self._ledger.documents(collection)) - len(now),
            chunks=size.chunks if size else 0,
            entities=size.entities if size else 0,
            relations=size.relations if size else 0,
            communities=size.communities if size else 0,
            grouped=grouped,
            progress=self._building.get(tenant),
        )

    def estimate(self, collection: str, making: Making) -> GraphEstimate:
        """What bringing the graph of a collection up to date would take.

        Raises:
            UnknownCollection: There is no such collection.
            GraphError: The graph cannot be opened.
        """
        todo = self._todo(collection, self.graph(collection), making)
        chunks = sum(record.chunks for record in todo)
        calls = chunks if making.asks_model else 0
        return GraphEstimate(
            documents=len(todo),
            chunks=chunks,
            model_calls=calls,
            input_tokens=calls * (_CHUNK_TOKENS + making.prompt_tokens),
            output_tokens=calls * _REPLY_TOKENS,
        )

    def build(
        self,
        collection: str,
        making: Making,
        *,
        anew: bool = False,
        told: Told = lambda progress: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> GraphStatus:
        """Bring the graph of a collection up to date, here and now; what is as it was is not made again.

        Args:
            anew: Make all of it again.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: It is being built already, or nothing is there to be read yet.
            GraphError: The graph cannot be opened or written.
            EngineError: The model failed again and again; what was made until then is kept.
            Stopped: The work was stopped meanwhile; what was made until then is kept.
        """
        tenant = self._ledger.tenant(collection)
        if not self._versions(collection):
            raise RagError(f"No document of {collection!r} has been read yet: add one, or wait until it is.")
        with self._alone(collection, tenant):
            graph = self._opened(tenant, to_write=True)
            if anew:
                graph.clear()

            def tell(progress: GraphProgress) -> None:
                self._building[tenant] = progress
                told(progress)

            _Build(self, tenant, graph, making, tell, stopped).run()
        return self.status(self._ledger.collection(tenant))  # it may be called otherwise by now

    def tenant(self, collection: str) -> str:
        """What a collection is called here, whatever its name becomes.

        Raises:
            UnknownCollection: There is no such collection.
        """
        return self._ledger.tenant(collection)

    def name(self, tenant: str) -> str:
        """The name of a collection now.

        Raises:
            UnknownCollection: It was deleted.
        """
        return self._ledger.collection(tenant)

    def forget_document(self, collection: str, document: str) -> None:
        """Forget what a document said; where the graph is out, that is done when it is opened next.

        Raises:
            UnknownCollection: There is no such collection.
        """
        try:
            if graph := self.graph(collection):
                graph.forget(document)
        except GraphError as error:
            _log.warning("the graph of %s still has a deleted document: %s", collection, error)

    def forget_collection(self, tenant: str) -> None:
        """Remove the graph of a collection that is deleted."""
        with self._opening:
            if graph := self._open.pop(tenant, None):
                graph.close()
            self._drop(tenant)

    def forget_left(self) -> None:
        """Remove graphs of collections that are gone: their deletion was cut short, or Neo4j did not answer."""
        with self._opening:
            for tenant in sorted(graphs_left(self._settings) - self._ledger.tenants()):
                if not self._drop(tenant):  # a Neo4j that is out is waited for once, and not for each
                    return

    # inside

    def _drop(self, tenant: str) -> bool:
        """Remove a graph; whether that could be done now."""
        try:
            drop_graph(self._settings, tenant)
        except GraphError as error:
            _log.warning("the graph of a deleted collection is still there: %s", error)
            return False
        return True

    def _opened(self, tenant: str, *, to_write: bool = False) -> GraphStore:
        with self._opening:
            if (known := self._open.get(tenant)) and (known.outdated or (to_write and known.read_only)):
                known.close()
                del self._open[tenant]
            if tenant not in self._open:
                self._open[tenant] = open_graph(self._settings, tenant)
            graph = self._open[tenant]
            if not graph.read_only:
                self._forget_gone(tenant, graph)
            return graph

    def _forget_gone(self, tenant: str, graph: GraphStore) -> None:
        """Forget documents that moved away, or that went while nobody had the graph open."""
        there = self._ledger.ids(tenant)
        for document in graph.documents():
            if document not in there:
                graph.forget(document)

    def _versions(self, collection: str) -> dict[str, str]:
        """What the chunks of each document were made of, by its id: of those that are read to their end."""
        stale = self._ledger.stale(collection, self._fingerprint)
        return {
            record.id: version_of(record, self._fingerprint)
            for record in self._ledger.documents(collection)
            if record.state in ("ready", "partial") and record.chunks and record.id not in stale
        }

    def _todo(self, collection: str, graph: GraphStore | None, making: Making) -> list[DocumentRecord]:
        """The documents that have to be looked at, the oldest first."""
        now = self._versions(collection)
        then: Mapping[str, str] = {} if graph is None else graph.documents()
        return [
            record
            for record in reversed(self._ledger.documents(collection))
            if record.id in now and then.get(record.id) != _made(now[record.id], making)
        ]

    @contextmanager
    def _alone(self, collection: str, tenant: str) -> Iterator[None]:
        with self._opening:
            if tenant in self._building:
                raise RagError(f"The graph of {collection!r} is being built already: wait until it is done.")
            self._building[tenant] = GraphProgress(done=0, total=0)
        try:
            yield
        finally:
            self._building.pop(tenant)


class _Build:
    """One build: the documents that are new or changed, then the communities."""

    def __init__(
        self,
        graphs: Graphs,
        tenant: str,
        graph: GraphStore,
        making: Making,
        tell: Told,
        stopped: Callable[[], bool],
    ) -> None:
        self._of = graphs
        self._tenant = tenant
        self._graph = graph
        self._making = making
        self._tell = tell
        self._stopped = stopped
        self._done = self._total = self._failures = 0

    def run(self) -> None:
        collection = self._of._ledger.collection(self._tenant)
        now = self._of._versions(collection)
        todo = self._of._todo(collection, self._graph, self._making)
        self._total = sum(record.chunks for record in todo)
        for record in todo:
            self._document(record, _made(now[record.id], self._making))
        self._of._forget_gone(self._tenant, self._graph)
        self._communities()

    def _document(self, record: DocumentRecord, made: str) -> None:
        chunks = {chunk.id: chunk for chunk in self._of._store.document(self._tenant, record.id)}
        made_from = {id_: hash_of(self._making.name, chunk.searchable_text) for id_, chunk in chunks.items()}
        stored = self._graph.chunks(record.id)
        todo = [chunk for id_, chunk in chunks.items() if stored.get(id_) != made_from[id_]]
        self._done += len(chunks) - len(todo)
        self._tell(self._progress(record))
        # The old facts stay beside the new ones until all are there, and go with the last.
        have, at_once = set(stored), _A_WRITE[self._making.asks_model]
        for start in range(0, max(len(todo), 1), at_once):
            facts = self._facts(todo[start : start + at_once], made_from)
            if last := start + at_once >= len(todo):
                have &= chunks.keys()
            whole = last and all(one.made for one in facts)
            self._graph.replace(record.id, facts, keep=have, name=record.name, made=made if whole else "")
            have |= {one.chunk for one in facts}
            self._done += len(facts)
            self._tell(self._progress(record))

    def _facts(self, chunks: Sequence[Chunk], made_from: Mapping[str, str]) -> list[ChunkFacts]:
        """What chunks say; what the model failed on is what can be told without one, and is asked again next time."""

        def work(chunk: Chunk) -> ChunkFacts:
            self._go_on()
            watch = Listening(self._stopped, lambda calls: None)
            facts = self._making.extractor(watch).extract(chunk)
            return replace(facts, made="" if self._failed(watch, "passages") else made_from[chunk.id])

        found = fan_out(work, chunks, at_once=_AT_ONCE if self._making.asks_model else 1)
        if wrong := [one for one in found if isinstance(one, RagError)]:
            raise wrong[0]
        return [one for one in found if not isinstance(one, RagError)]

    def _communities(self) -> None:
        """Make them; reports that were written are kept wherever the work ends."""
        calls: list[int] = []
        watch = Listening(self._stopped, calls.append)
        found: dict[str, Community] = {}
        whole = True
        try:
            for done, community in enumerate(self._making.reporter(watch).communities(self._graph), start=1):
                failed = self._failed(watch, "reports")
                whole = whole and not failed
                if failed:  # whatever was written before is better than what is written without a model
                    found.setdefault(community.id, replace(community, made_by=KeylessEngine.name))
                else:
                    found[community.id] = community
                self._tell(GraphProgress(stage="communities", done=done, total=0))
                if self._making.asks_model and len(calls) >= _A_WRITE[True]:
                    self._save(found.values())
                    calls.clear()
        except RagError:
            if found:
                self._save(found.values())
            raise
        self._save(found.values(), made=_all_of(self._graph.documents()) if whole else "")

    def _save(self, found: Collection[Community], made: str = "") -> None:
        """Keep these communities, unless they are there as they are."""
        graph = self._graph
        if _known(found) != _known(graph.communities()) or (found and graph.communities_made() != made):
            graph.save_communities([*found], made=made)

    def _failed(self, watch: Listening, what: str) -> bool:
        """Whether the model failed on what was asked of it last; too often in a row, and the build ends."""
        failed = self._making.asks_model and bool(watch.failed)
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= _MOST_FAILURES:
            raise EngineError("overloaded", f"The model failed on {_MOST_FAILURES} {what}: {watch.failed[-1].note}")
        watch.failed.clear()
        return failed

    def _progress(self, record: DocumentRecord) -> GraphProgress:
        return GraphProgress(document=record.name, done=self._done, total=max(self._done, self._total))

    def _go_on(self) -> None:
        if self._stopped():
            raise Stopped("The work on the graph was stopped.")


def _known(communities: Collection[Community]) -> set[tuple[str, ...]]:
    return {(community.id, community.title, community.report, community.made_by) for community in communities}


def _all_of(documents: Mapping[str, str]) -> str:
    """What names a graph by what each of its documents was made from."""
    return hash_of(*(f"{id_} {made}" for id_, made in sorted(documents.items())))


def _made(version: str, making: Making) -> str:
    return f"{version} {making.name}"
