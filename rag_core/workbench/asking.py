"""From a question as it is asked to what its run needs: where it searches, and with which parts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_core.embedding.clip import ImageEmbedder
from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import ForkError, QuestionError, StoreError, UnknownDocument
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import DocumentRecord
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.parsing.formats.fetched import text_of
from rag_core.pipeline.fork import Fork
from rag_core.pipeline.memories import MemoryStore
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.points import Beginning
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Choices, Collaborators, Request, check_question
from rag_core.settings import Settings
from rag_core.stores.graph.facts import GraphStore
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.base import Turn
from rag_core.techniques.hybrid import HybridSettings, query_for
from rag_core.techniques.replacements import Replacements
from rag_core.techniques.route import Described
from rag_core.trace import TraceEvent
from rag_core.types import Chunk, Hit, SearchFilter
from rag_core.web.pages import WithPages
from rag_core.web.results import WebSearch
from rag_core.web.search import web_search
from rag_core.workbench.searched import Documents, Figures, Tenant, Tenants, Together
from rag_core.workbench.trees import SummaryTrees

_PICTURE_GONE = "The picture that this was asked with is not kept"


@dataclass(frozen=True)
class Asked:
    """A question with everything that the user chose for it."""

    question: str
    plan: Plan | None = None
    collection: str | None = None
    documents: Sequence[str] = ()
    engine: str | None = None
    chat: str = ""
    turns: tuple[Turn, ...] = ()
    contexts: int = 10
    picture: Path | None = None
    ledger_of: str = ""


def again(run: Run, plan: Plan, chat: Sequence[Run]) -> Asked:
    """The question of a run as it was understood then, where it was asked, with another plan.

    Args:
        chat: The runs of its conversation, oldest first.

    Raises:
        QuestionError: It was asked by a picture.
    """
    check_again(run)
    routed = run.techniques.get("route")
    turns = (
        Turn(question=one.question, answer=one.final_answer)
        for one in chat
        if one.created_at < run.created_at and one.status == "done" and not one.refused
    )
    return Asked(
        run.question,
        plan,
        None if routed and routed.ran else run.collection,
        run.documents,
        "keyless" if run.engine == KeylessEngine.name else "model",
        turns=tuple(turns),
    )


def check_again(run: Run) -> None:
    """Refuse a run that cannot be asked again.

    Raises:
        QuestionError: It was asked by a picture.
    """
    if _by_picture(run.spans):
        raise QuestionError(f"{_PICTURE_GONE}: ask again with the picture.")


class Asking:
    """Prepares runs over one data directory."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        store: ChunkStore,
        embedder: TextEmbedder,
        images: ImageEmbedder | None,
        reading: Reading,
        memories: MemoryStore,
        trees: SummaryTrees,
        replacements: Replacements,
        *,
        fingerprint: str,
        met: Callable[[Iterable[Chunk]], None],
        graph: Callable[[str], GraphStore | None] = lambda collection: None,
    ) -> None:
        """Wire what every run shares.

        Args:
            fingerprint: That of today's index: what was read for another one is not in it yet.
            met: Told the chunks that a search found by their words alone.
            graph: Gives the graph of a collection; None where none was built.
        """
        self._settings = settings
        self._ledger = ledger
        self._store = store
        self._embedder = embedder
        self._images = images
        self._reading = reading
        self._memories = memories
        self._trees = trees
        self._replacements = replacements
        self._fingerprint = fingerprint
        self._met = met
        self._graph = graph
        self._web = _web(settings)

    def prepared(self, asked: Asked, engine: Engine, default: str) -> tuple[Request, Collaborators]:
        """What is asked, and what its run works with.

        Args:
            default: The collection that is searched where neither the user nor the router chooses one.

        Raises:
            RagError: The question cannot be asked so; nothing was searched.
        """
        question = check_question(asked.question, self._settings.max_question_chars)
        plan = asked.plan or PRESETS["simple"]
        if not self._ledger.collections():
            raise QuestionError("There are no documents yet: upload one, or index a folder, then ask.")
        collection = asked.collection or default
        self._ledger.tenant(collection)
        found = [self.named(collection, name) for name in asked.documents]
        chosen = bool(asked.collection or found)
        described = [] if chosen else self._described()
        if not self._searchable(collection) and not (described and plan.has("route")):
            raise QuestionError(self._why_unsearchable(collection, [one.name for one in described]))
        if asked.picture is not None and not (self._images and plan.has("multimodal")):
            raise QuestionError(
                "Searching by a picture needs CLIP and the technique 'multimodal': set RAGSCOPE_CLIP=true and start "
                "again, and have the technique on."
            )
        # The first search waits for this vector: it is made while the run begins and its record is kept.
        self._embedder.begin(query_for(question, plan.settings(HybridSettings)))
        request = Request(
            question=question,
            plan=plan,
            collection=collection,
            documents=tuple(record.name for record in found),
            where=SearchFilter(documents=tuple(record.id for record in found)),
            chat=asked.chat,
            turns=asked.turns,
            contexts=asked.contexts,
            ledger_of=asked.ledger_of,
        )
        with_ = self._over([collection], engine, asked.picture)
        if chosen:
            return request, with_

        def over(collections: Sequence[str]) -> Collaborators:
            return self._over(collections, engine, asked.picture)

        return request, replace(with_, choices=Choices(described, over))

    def branched(self, run: Run, made: Fork, engine: Engine) -> tuple[Request, Collaborators, Beginning]:
        """What a branch asks, what it works with, and what it goes on from.

        Raises:
            RagError: Its documents are not there any more, or not searchable.
        """
        left_at = len(made.beginning.spans)
        if _by_picture(run.spans[left_at:]):
            raise ForkError(f"{_PICTURE_GONE}: branch from a later step.")
        routed = next((span.attributes["collections"] for span in run.spans if span.name == "route"), None)
        collections = [str(name) for name in routed] if isinstance(routed, list) else [run.collection]
        state = made.beginning.state
        request, _ = self.prepared(
            Asked(run.question, made.plan, collections[0], contexts=state.contexts), engine, collections[0]
        )
        request = replace(
            request, collection=run.collection, documents=run.documents, where=state.where, branch=made.branch
        )
        with_ = self._over(collections, engine, None)
        notes = (*state.notes, *self._changed(state.hits, with_))
        return request, with_, replace(made.beginning, state=state.model_copy(update={"notes": notes}))

    def _changed(self, hits: Sequence[Hit], with_: Collaborators) -> tuple[str, ...]:
        """What the reader must know where evidence of before is not in the documents any more as it was."""
        kept = {hit.chunk.id: hit.chunk for hit in hits if hit.chunk.url is None}
        assert with_.passages is not None
        try:
            there = {chunk.id for chunk in with_.passages.get([*kept])}
        except StoreError:  # the search that follows tells it, where one does
            return ()
        gone = [chunk for id_, chunk in kept.items() if id_ not in there]
        if not gone:
            return ()
        names = ", ".join(sorted({chunk.name for chunk in gone}))
        return (
            f"Since the first run {names} changed: {len(gone)} of the {len(kept)} passages that this branch goes on "
            "from are as they were then.",
        )

    def named(self, collection: str, name: str) -> DocumentRecord:
        """The document of that name, whatever its case and with or without its ending.

        Raises:
            UnknownDocument: There is none, or there are several.
        """
        record = self._ledger.named(collection, name)
        if record is not None:
            return record
        known = {record.name: record for record in self._ledger.documents(collection)}
        alike = [one for one in known if name.lower() in (one.lower(), Path(one).stem.lower())]
        if len(alike) == 1:
            return known[alike[0]]
        close = alike or difflib.get_close_matches(name, known, n=3)
        raise UnknownDocument(name, collection, close)

    def _over(self, collections: Sequence[str], engine: Engine, picture: Path | None) -> Collaborators:
        tenants = [self._ledger.tenant(collection) for collection in collections]
        chunks = Tenants([Tenant(self._store, tenant, self._met) for tenant in tenants])
        records = [record for collection in collections for record in self._searchable(collection)]
        statistics = Together([self._ledger.statistics(collection) for collection in collections])
        return Collaborators(
            searcher=chunks,
            catalogue=Documents(self._ledger, records),
            embedder=self._embedder,
            reading=self._reading.over(statistics),
            engine=engine,
            documents=len(records),
            figures=Figures(self._store, tenants, self._images, picture) if self._images else None,
            memories=self._memories.of(*tenants),
            passages=chunks,
            summaries=self._trees.over(collections, chunks),
            replacements=self._replacements,
            web=self._web,
            graphs=lambda: [graph for collection in collections if (graph := self._graph(collection))],
        )

    def _searchable(self, collection: str) -> list[DocumentRecord]:
        stale = self._ledger.stale(collection, self._fingerprint)
        return [one for one in self._ledger.documents(collection) if one.searchable and one.id not in stale]

    def _why_unsearchable(self, collection: str, others: Sequence[str]) -> str:
        """What to do where a collection has nothing to search; `others` have, and could be asked in its place."""
        if self._ledger.stale(collection, self._fingerprint):
            return (
                f"Settings have changed, so the documents of {collection!r} have to be read again: the app does it by "
                "itself, `ingest` does it at once."
            )
        instead = f", or choose another collection: {', '.join(others)}" if others else ""
        return f"No document of {collection!r} is searchable yet: add one or wait until it is read{instead}."

    def _described(self) -> list[Described]:
        """The collections that a question can be sent to."""
        described = (
            Described(
                name=info.name,
                description=info.description,
                documents=tuple(record.name for record in self._searchable(info.name)),
            )
            for info in self._ledger.collections()
        )
        return [one for one in described if one.documents]


def _by_picture(spans: Iterable[TraceEvent]) -> bool:
    return any(span.attributes.get("by_picture") for span in spans)


def _web(settings: Settings) -> WebSearch | None:
    """What searches the web, and reads the pages that it finds where that is allowed."""
    search = web_search(settings)
    if search is None or not settings.web_fetch_pages:
        return search
    return WithPages(search, text_of, settings.web_timeout_s)
