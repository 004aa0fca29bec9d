"""The workbench: everything over one data directory, wired."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rag_core.embedding.clip import ImageEmbedder, find_clip
from rag_core.embedding.cross_encoder import CrossEncoder, find_cross_encoder
from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.errors import RagError, StoreError, UnknownDocument
from rag_core.evaluation.grading import Grader
from rag_core.indexing.graph import Graphs, Making
from rag_core.indexing.ingest import Ingest
from rag_core.indexing.job import Parts, fingerprint_of
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import Captioned, CollectionInfo, DocumentRecord
from rag_core.indexing.tree import Trees
from rag_core.llm import connections
from rag_core.llm.connections import ConnectionTest, ModelConnection
from rag_core.llm.overrides import Overrides, checked
from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import Signature
from rag_core.parsing.chunking import ChunkSettings
from rag_core.parsing.parser import Parser
from rag_core.pipeline.exchange import from_file
from rag_core.pipeline.forecast import Forecast, Spent, forecast
from rag_core.pipeline.fork import Offer, edit_from, fork, offers
from rag_core.pipeline.history import ChatInfo, History
from rag_core.pipeline.listing import RunChoices, RunList, RunQuery
from rag_core.pipeline.live import LiveRun, LiveRuns
from rag_core.pipeline.memories import MemoryStore, memory_of
from rag_core.pipeline.plan import Plan
from rag_core.pipeline.points import Beginning, BranchInfo, Packing, Point, PointStore
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Collaborators, Request, run
from rag_core.pipeline.telemetry import Telemetry
from rag_core.settings import ROOT, Settings
from rag_core.stores.originals import Originals
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques import SIGNATURES, TECHNIQUES
from rag_core.techniques.base import Turn
from rag_core.techniques.describe import Describe, DescribeSettings, Estimate
from rag_core.techniques.raptor.settings import TreeSettings
from rag_core.techniques.replacements import Replacements
from rag_core.techniques.rewrite import MOST_TURNS
from rag_core.types import Chunk, Element
from rag_core.workbench.asking import Asked, Asking
from rag_core.workbench.backup import back_up, forget_left
from rag_core.workbench.comparing import Comparing
from rag_core.workbench.engines import EngineChoice, Engines
from rag_core.workbench.files import FileResult, files_in, reason_of, result_of
from rag_core.workbench.graphs import KnowledgeGraphs, making
from rag_core.workbench.health import (
    PartHealth,
    disk_health,
    embedder_health,
    model_health,
    ocr_health,
    store_health,
    telemetry_health,
)
from rag_core.workbench.ledgers import Ledgers
from rag_core.workbench.plans import Plans
from rag_core.workbench.searched import Tenant, Tenants
from rag_core.workbench.storage import Storage
from rag_core.workbench.trees import SummaryTrees
from rag_core.workbench.watching import Watched

DEFAULT_COLLECTION = "Documents"
DEMO_COLLECTION = "InnovateCorp demo"
DEMO_FOLDER = ROOT / "data" / "demo"

_WATCH_EVERY_S = 1.0

_Say = Callable[[str], None]
_log = logging.getLogger(__name__)


class Workbench:
    """Everything over one data directory, wired. Safe for threads; one a process."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        store: ChunkStore,
        embedder: TextEmbedder,
        images: ImageEmbedder | None = None,
        pairs: CrossEncoder | None = None,
        *,
        engines: Engines | None = None,
        replacements: Replacements | None = None,
    ) -> None:
        self.settings = settings
        self._ledger = ledger
        self._store = store
        self._embedder = embedder
        self._images = images
        self._reading = Reading(embedder, pairs=pairs)
        self._engines = engines or Engines(settings, Overrides())
        self._plans = Plans(settings)
        self._originals = Originals(settings)
        self._parser = Parser(settings)
        parts = Parts(
            ledger,
            self._originals,
            self._parser,
            store,
            embedder,
            ChunkSettings(),
            images=images,
            describer=self._describer,
            describes=settings.describe_figures,
        )
        self._fingerprint = parts.fingerprint
        self._ingest = Ingest(parts, settings.data_dir, settings.max_file_mb, self._built_over)
        self._history = History(settings.data_dir / "runs.sqlite")
        self._points = PointStore(settings.data_dir / "runs.sqlite")
        self._telemetry = Telemetry.from_settings(settings)
        self._memories = MemoryStore(settings.data_dir / "memories.sqlite")

        def chunks(collection: str) -> Tenants:
            return Tenants([Tenant(store, ledger.tenant(collection), self._ingest.hurry)])

        self.trees = SummaryTrees(
            Trees(
                ledger,
                store,
                embedder,
                settings.data_dir,
                settings=TreeSettings(max_levels=settings.raptor_max_levels),
                fingerprint=self._fingerprint,
                copy=settings.raptor_tree_path,
            ),
            ledger,
            chunks,
            self._engines.get,
        )
        self.graphs = KnowledgeGraphs(
            Graphs(ledger, store, settings, fingerprint=self._fingerprint), self._graph_making, chunks
        )
        self._asking = Asking(
            settings,
            ledger,
            store,
            embedder,
            images,
            self._reading,
            self._memories,
            self.trees,
            replacements or Replacements({}, TECHNIQUES),
            fingerprint=self._fingerprint,
            met=self._ingest.hurry,
            graph=self.graphs.graph,
        )
        self._live = LiveRuns()
        grader = Grader(self._reading)
        self.comparing = Comparing(self._start, self.run, self.chat, grader, settings.toggles())
        self.ledgers = Ledgers(settings.data_dir / "ledgers", self._start, self.live, self.run, self.chat, grader)
        self.storage = Storage(settings.data_dir, settings.cache_dir)
        self._local: tuple[float, list[ModelConnection]] = (-1e9, [])
        self._closing = threading.Lock()
        self._closed = False

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        say: _Say = lambda text: None,
        *,
        techniques: Mapping[str, Callable[..., Any]] | None = None,
        prompts: Mapping[str, Any] | None = None,
    ) -> Workbench:
        """Start or attach to everything that questions need.

        Args:
            techniques: Classes or functions of yours in place of techniques, by name.
            prompts: `{signature: prompt}` or `{signature: {prompt, model, temperature, max_tokens}}`; these come
                before what is saved in Settings.

        Raises:
            RagError: A part cannot be had, or what was given does not fit; the message says what to do.
        """
        settings = settings or Settings.from_env()
        replacements = Replacements(techniques or {}, TECHNIQUES)
        engines = Engines(settings, checked(prompts or {}, SIGNATURES))
        try:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
            embedder = TextEmbedder(find_weights(settings, say), settings.precision, cache_dir=settings.cache_dir)
            images = ImageEmbedder(find_clip(settings, say)) if settings.clip else None
            pairs = CrossEncoder(find_cross_encoder(settings, say)) if settings.cross_encoder else None
            fingerprint = fingerprint_of(ChunkSettings(), embedder.name, *([images.name] if images else []))
            with ExitStack() as opened:
                store = ChunkStore.open(settings, fingerprint, say=say, images=images is not None)
                opened.callback(store.close)
                ledger = Ledger(settings.data_dir / "ledger.sqlite")
                workbench = cls(
                    settings, ledger, store, embedder, images, pairs, engines=engines, replacements=replacements
                )
                opened.pop_all()
                return workbench
        except (OSError, sqlite3.Error) as error:
            place = f"{settings.data_dir} cannot be written ({error})"
            raise RagError(
                f"{place}: make room on its disk, or choose another place with RAGSCOPE_DATA_DIR."
            ) from error

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the runs and the work under way, then everything that was started here."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self.ledgers.stop_all(timeout_s=5)
        self._live.stop_all(timeout_s=5)
        if self._telemetry:
            self._telemetry.close()
        self.trees.close()
        self.graphs.close()
        self._ingest.close()
        self._parser.close()
        self._store.close()
        self._ledger.close()
        self._history.close()
        self._points.close()
        self._memories.close()

    def serve(self) -> None:
        """Take up what an earlier process left, and work in the background from now on."""
        for left in self._history.interrupted():
            note = "The app was stopped during this run: ask again."
            self._history.keep(left.model_copy(update={"status": "stopped", "error": note}))
        forget_left(self.settings.data_dir)
        self.graphs.forget_left()
        self._ingest.start()

    # documents

    def collections(self) -> list[CollectionInfo]:
        """All collections, the oldest first."""
        return self._ledger.collections()

    def create_collection(self, name: str, description: str = "") -> None:
        """Make a collection.

        Raises:
            RagError: The name is not allowed.
        """
        self._ledger.create_collection(name, description)

    def change_collection(self, name: str, new_name: str, description: str) -> None:
        """Give a collection another name and description.

        Raises:
            RagError: The new name is taken or not allowed.
        """
        self._ledger.change_collection(name, new_name, description)

    def delete_collection(self, name: str) -> None:
        """Remove a collection with all its documents.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: Documents of it are on their way to another one.
        """
        documents = [record.id for record in self._ledger.documents(name)]
        tenant = self._ledger.tenant(name)
        self._ingest.delete_collection(name)
        self.trees.forget_collection(tenant)
        self.graphs.forget_collection(tenant)
        for document in documents:
            self._forget(document)

    def default_collection(self) -> str:
        """The collection meant where none is named: 'Documents', or the first that has any."""
        infos = self.collections()
        ranked = sorted(infos, key=lambda info: (not info.documents, info.name != DEFAULT_COLLECTION))
        return ranked[0].name if ranked else DEFAULT_COLLECTION

    def add_demo(self) -> None:
        """Have the demo documents indexed, in a collection of their own."""
        self.create_collection(DEMO_COLLECTION, "Seven documents of one invented company, to try everything on.")
        for path in sorted(DEMO_FOLDER.glob("*.pdf")):
            self.add(path, path.name, DEMO_COLLECTION)

    def documents(self, collection: str) -> list[DocumentRecord]:
        """The documents of a collection, the newest first, with their progress."""
        return self._as_of_now(collection, self._ledger.documents(collection))

    def document(self, document_id: str) -> DocumentRecord | None:
        record = self._ledger.document(document_id)
        return self._as_of_now(record.collection, [record])[0] if record else None

    def add(self, data: bytes | Path, name: str, collection: str, password: str | None = None) -> DocumentRecord:
        """Keep a file and have it indexed in the background.

        Raises:
            DocumentError: It is too large, or the disk has no room for it.
            UnknownCollection: There is no such collection.
        """
        document_id, _ = self._ingest.add(data, name, collection, password)
        record = self.document(document_id)
        assert record is not None
        return record

    def retry(self, document_id: str, password: str | None = None) -> None:
        """Have a document read once more, with a password where it is locked."""
        self._ingest.again(document_id, password)

    def move(self, document_id: str, collection: str) -> None:
        """Have a document go to another collection in the background; nothing is read or embedded again.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: It has a document of that name already, or this one is on its way elsewhere.
        """
        self._ingest.move(document_id, collection)

    def delete(self, document_id: str) -> None:
        """Remove a document with its chunks, its file and all that was made of it: summaries, facts, memories."""
        record = self._ledger.document(document_id)
        self._ingest.delete(document_id)
        self._forget(document_id)
        if record:
            self.graphs.forget_document(record.collection, document_id)

    def ingest(
        self,
        *paths: str | Path,
        collection: str = DEFAULT_COLLECTION,
        quick: bool = False,
        told: Callable[[FileResult], None] = lambda result: None,
    ) -> list[FileResult]:
        """Index files and folders here and now; a file that fails stops none of the others.

        Args:
            quick: Return when found by words and by meaning; the refining pass is left for later.
            told: Called with each file's result as soon as it is done.
        """
        self.create_collection(collection)
        results = []
        for path, name in files_in(paths):
            results.append(self._ingested(path, name, collection, quick))
            told(results[-1])
        return results

    def watch(
        self,
        *paths: str | Path,
        stopped: threading.Event,
        collection: str = DEFAULT_COLLECTION,
        delete_missing: bool = False,
        told: Callable[[FileResult], None] = lambda result: None,
    ) -> None:
        """Index files and folders, and whatever is written there, until `stopped` is set.

        Args:
            delete_missing: Remove the documents whose files go while they are watched; else that is only told.
            told: Called with each file's result: when it is refined or has failed, or when its file has gone.
        """
        self.create_collection(collection)
        self._ingest.start()
        watched = Watched(paths)
        under_way: dict[str, tuple[bool, float]] = {}
        while not stopped.wait(_WATCH_EVERY_S):
            for change in watched.look():
                if change.kind == "gone":
                    told(self._gone(change.name, collection, delete=delete_missing))
                    continue
                try:
                    document_id, changed = self._ingest.add(change.path, change.name, collection)
                    under_way[document_id] = changed, time.perf_counter()
                except (RagError, OSError) as error:
                    told(FileResult(document="", name=change.name, state="failed", reason=reason_of(error)))
            for document_id, (changed, began) in [*under_way.items()]:
                record = self._ledger.document(document_id)
                if record is None or record.state in ("ready", "partial", "failed"):
                    del under_way[document_id]
                    if record:
                        told(result_of(record, changed=changed, seconds=time.perf_counter() - began))

    def remove(self, name: str, collection: str) -> None:
        """Remove a document by its name, here and now.

        Raises:
            UnknownDocument: There is none of that name.
        """
        record = self._ledger.named(collection, name)
        if record is None:
            raise UnknownDocument(name, collection)
        self.delete(record.id)
        self._ingest.work(record.id)

    def estimate_descriptions(self, collection: str) -> Estimate:
        """What having the figures of a collection described would take, beside those that are described already.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: There is no model that sees.
        """
        describer, tenant = self._seeing(), self._ledger.tenant(collection)
        self._store.ensure_tenant(tenant)  # nothing of the collection may have been written yet
        chunks = Tenant(self._store, tenant, self._ingest.hurry)
        documents = [record for record in self._ledger.documents(collection) if record.figures]
        estimates = (
            describer.estimate([*chunks.document(record.id)], self._originals.figures(record.sha256))
            for record in documents
        )
        return sum(estimates, Estimate())

    def describe(
        self, collection: str, *, now: bool = False, told: Callable[[FileResult], None] = lambda result: None
    ) -> None:
        """Have the figures of a collection described by a model that sees, from now on, in the background.

        Args:
            now: Do it here; returns when what is there is described.
            told: With `now`: called with the result of each document that has figures.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: There is no model that sees.
        """
        self._seeing()
        self._ledger.tenant(collection)
        refined = self._ingest.describe(collection)
        for document_id in refined if now else ():
            began = time.perf_counter()
            self._ingest.work(document_id)
            if record := self._ledger.document(document_id):
                told(result_of(record, changed=True, seconds=time.perf_counter() - began))

    def elements(self, document_id: str, page: int) -> list[Element]:
        """What was read of a page."""
        return self._ledger.elements(document_id, page)

    def tables(self, document_id: str) -> list[Captioned]:
        """The tables of a document, in its order."""
        return self._ledger.captioned(document_id, "table")

    def figures(self, document_id: str) -> list[Captioned]:
        """The figures of a document, in its order."""
        return self._ledger.captioned(document_id, "figure")

    def chunks(self, document_id: str, after: str | None = None, limit: int = 100) -> list[Chunk]:
        """The chunks of a document in order, a page of them: those after the one with the id `after`."""
        record = self._ledger.document(document_id)
        if record is None:
            return []
        return self._store.chunks(self._ledger.tenant(record.collection), record.id, after=after, limit=limit)

    def page_size(self, document_id: str, page: int) -> tuple[float, float]:
        """Width and height of a page in points.

        Raises:
            RagError: There is no such document or page.
        """
        sizes = self._ledger.page_sizes(document_id)
        if not 0 < page <= len(sizes):
            raise RagError(f"That document has no page {page}.")
        return sizes[page - 1]

    def page_image(self, document_id: str, page: int, dpi: int = 110) -> bytes:
        """A page as PNG.

        Raises:
            RagError: There is no such document or page, or it cannot be drawn.
        """
        self.page_size(document_id, page)
        record = self._ledger.document(document_id)
        assert record is not None  # it has pages
        _, password = self._ledger.source(document_id)
        path = self._originals.path(record.sha256, record.name)
        return self._parser.render(path, page, dpi=dpi, password=password)

    def figure(self, document_id: str, image: str) -> bytes:
        """The crop of a figure as PNG.

        Raises:
            RagError: There is none of that name.
        """
        record = self._ledger.document(document_id)
        path = self._originals.figures(record.sha256) / Path(image).name if record else None
        if path is None or not path.is_file():
            raise RagError(f"There is no figure {image!r} in that document.")
        return path.read_bytes()

    # asking

    def ask(
        self,
        question: str,
        *,
        plan: Plan | None = None,
        collection: str | None = None,
        documents: Sequence[str] = (),
        engine: str | None = None,
        contexts: int = 10,
        picture: Path | None = None,
    ) -> Run:
        """Ask and wait for the answer.

        Args:
            documents: Names; only these are searched.
            engine: 'keyless' or 'model'; the model where there is one, when not given.
            picture: Figures like this one come first in the evidence; only where CLIP is on.

        Raises:
            RagError: The question cannot be asked so; nothing was searched.
        """
        asked = Asked(question, plan, collection, documents, engine, contexts=contexts, picture=picture)
        request, with_ = self._prepared(asked)
        return self._answer(LiveRun(request.id, request.chat), request, with_)

    def start(
        self,
        question: str,
        *,
        plan: Plan | None = None,
        collection: str | None = None,
        documents: Sequence[str] = (),
        engine: str | None = None,
        chat: str = "",
        picture: Path | None = None,
    ) -> str:
        """Ask in the background; gives the id of the run. The picture is read before this returns.

        Raises:
            RagError: The question cannot be asked so; nothing was searched.
        """
        turns = self._turns(chat)
        return self._start(Asked(question, plan, collection, documents, engine, chat, turns, picture=picture))

    def fork(self, run_id: str, edit: Mapping[str, Any], step: int | None = None) -> str:
        """Go on with a run from one of its steps, with something edited, in the background; gives the branch's id.

        The branch takes over what had happened until then and is a run of its own, in no chat.

        Args:
            edit: `{"kind": "drop", "chunk": id}` and so on: the classes of `pipeline/fork.py` say which there are.
            step: The point to leave from, as `points` counts them; the first that the edit matters to, when not given.

        Raises:
            RagError: The run was kept without its steps, the edit cannot be made there, or what it searched is gone.
        """
        run = self._history.get(run_id)
        if run is None:
            raise RagError("There is no such run here: it may have been deleted.")
        if (live := self._live.get(run_id)) and not live.done:
            raise RagError("This run is still under way: wait until it ends, or stop it.")
        made = fork(run, self._points.get(run_id), edit_from(edit), step)
        engine = self._engines.get("keyless" if run.engine == "keyless" else "model")
        request, with_, beginning = self._asking.branched(run, made, engine)
        self._points.branch(BranchInfo(run=request.id, parent=run_id, step=made.branch.step, edited=made.branch.edited))
        live = LiveRun(request.id, request.chat)
        self._live.start(live, lambda live: self._answer(live, request, with_, beginning))
        return request.id

    def points(self, run_id: str) -> list[Point]:
        """Where a run stood before each of its steps and at its end; none where it was kept without them."""
        return self._points.get(run_id)

    def offers(self, run_id: str) -> list[Offer]:
        """What can be edited before each step of a run; nothing where it was kept without its steps."""
        run = self._history.get(run_id)
        return offers(run, self._points.get(run_id)) if run else []

    def family(self, run_id: str) -> tuple[str, list[BranchInfo]]:
        """`(root, branches)`: the run that this one's tree began with, and all branches of it, oldest first."""
        return self._points.family(run_id)

    def stop(self, run_id: str) -> None:
        """Stop a run; it keeps what it has."""
        if live := self._live.get(run_id):
            live.stop()

    def live(self, run_id: str) -> LiveRun | None:
        """The run under way or just finished, to be followed; None for others."""
        return self._live.get(run_id)

    def run(self, run_id: str) -> Run | None:
        """The record of a run as it stands."""
        return self._history.get(run_id)

    def runs(self, query: RunQuery | None = None, *, offset: int = 0, limit: int = 50) -> RunList:
        """The runs that a query finds, all where none is given, the newest first."""
        return self._history.find(query or RunQuery(), offset, limit)

    def run_choices(self, query: RunQuery | None = None) -> RunChoices:
        """The plans, engines and collections that the runs can be narrowed by."""
        return self._history.choices(query or RunQuery())

    def delete_run(self, run_id: str) -> None:
        """Forget a run with its ledger and what that asked, and its answer where that was remembered.

        Raises:
            RagError: It is still under way.
            StoreError: The disk is full or cannot be written.
        """
        if (live := self._live.get(run_id)) and not live.done:
            raise RagError("This run is still under way: stop it, then delete it.")
        self.ledgers.forget(run_id)
        for asked in self._history.of_ledger(run_id):
            self.delete_run(asked)
        self._history.delete(run_id)
        self._memories.forget([run_id])

    def import_run(self, data: bytes) -> Run:
        """Keep a run from a file that `to_file` made, beside all others; the same one a second time is not kept again.

        Returns:
            The run as it is kept here: marked as imported, and under another id where its own is taken.

        Raises:
            RunFileError: It is no such file, or has what cannot be kept.
            StoreError: The disk is full or cannot be written.
        """
        # Chats and ledgers are this machine's: a run of another one must not become a part of one.
        own: dict[str, Any] = {"chat": "", "feedback": None, "imported": None, "ledger_of": ""}
        given = from_file(data).model_copy(update=own)
        here = self._history.get(given.id)
        if here and here.model_copy(update=own) == given:
            return here
        now = datetime.now(UTC).isoformat(timespec="seconds")
        kept = given.model_copy(update={"imported": now, "id": uuid.uuid4().hex if here else given.id})
        self._history.keep(kept)
        return kept

    def chat(self, chat_id: str) -> list[Run]:
        """The runs of a conversation, oldest first."""
        return self._history.chat(chat_id) if chat_id else []

    def questions(self, chat_id: str) -> dict[str, str]:
        """What was asked in a conversation by the run's id, oldest first."""
        return self._history.questions(chat_id) if chat_id else {}

    def _turns(self, chat_id: str) -> tuple[Turn, ...]:
        """What was asked and answered last in a conversation, oldest first: as much as a rewrite looks back to."""
        return self._history.turns(chat_id, MOST_TURNS) if chat_id else ()

    def recent_chats(self, limit: int = 20) -> list[ChatInfo]:
        return self._history.recent_chats(limit)

    def feedback(self, run_id: str, value: Literal["good", "wrong"] | None) -> None:
        """Keep what the user thinks of an answer; a good one is remembered for similar questions.

        Raises:
            StoreError: The disk is full or cannot be written.
        """
        self._history.feedback(run_id, value)
        self._memories.forget([run_id])
        if value == "good" and (rated := self._history.get(run_id)):
            self._remember(rated)

    # plans

    def presets(self) -> dict[str, Plan]:
        """The plans that everybody has, as the environment wants them."""
        return self._plans.presets

    def plans(self) -> dict[str, Plan]:
        """The plans that were saved here, by name.

        Raises:
            PlanError: Their file was changed to what cannot be used.
        """
        return self._plans.saved()

    def forecasts(self, engine: str | None = None) -> dict[str, Forecast]:
        """What a question will take with each plan that has a name.

        Args:
            engine: 'keyless' or 'model'; the model where there is one, when not given.

        Raises:
            RagError: There is no model, or the file of the saved plans was changed to what cannot be used.
        """
        named = self._engines.get(engine).name
        past: dict[str, list[Spent]] = {}
        for one in self._history.spent(named, self._points.branches()):
            past.setdefault(one.plan, []).append(one)
        plans = {**self.presets(), **self.plans()}
        return {name: forecast(plan, past.get(name, ()), model=named != "keyless") for name, plan in plans.items()}

    def save_plan(self, name: str, plan: Plan) -> Plan:
        """Keep a plan under a name, in place of one that had it.

        Raises:
            PlanError: The name is not allowed, or the disk has no room.
        """
        return self._plans.save(name, plan)

    def delete_plan(self, name: str) -> None:
        """Forget a saved plan."""
        self._plans.delete(name)

    # engines

    def engines(self) -> list[EngineChoice]:
        """What a question can be asked with now, the default first."""
        return self._engines.choices()

    def connection(self) -> ModelConnection | None:
        """The model in use: the one saved here or, else, the one that the environment names."""
        return self._engines.connections.get()

    def connect(self, connection: ModelConnection | None) -> None:
        """Use a model from now on, or none."""
        self._engines.connections.save(connection)

    def signatures(self) -> Sequence[Signature[Any, Any]]:
        """Everything that a model is asked; each may have another prompt and another model."""
        return SIGNATURES

    def overrides(self) -> Overrides:
        """The prompts and models that were chosen here for single signatures.

        Raises:
            RagError: Their file was changed to what cannot be used.
        """
        return self._engines.overrides.get()

    def override(self, given: Mapping[str, Any]) -> Overrides:
        """Use these prompts and models from the next question on, and none besides.

        Args:
            given: `{signature: prompt}` or `{signature: {prompt, model, temperature, max_tokens}}`.

        Raises:
            RagError: A signature is unknown, or a prompt has a placeholder that it cannot fill; nothing was saved.
        """
        return self._engines.overrides.save(given)

    def test_connection(self, connection: ModelConnection) -> ConnectionTest:
        return connections.try_out(connection)

    def local_models(self, *, fresh_s: float = 15) -> list[ModelConnection]:
        """The models of servers found running on this machine, looked for anew after `fresh_s` seconds."""
        looked_at, found = self._local
        if time.monotonic() - looked_at > fresh_s:
            found = connections.local_models()
            self._local = (time.monotonic(), found)
        return found

    def health(self) -> list[PartHealth]:
        """Every part, how it is and what to do where it is not well."""
        with ThreadPoolExecutor(1) as pool:
            model = pool.submit(model_health, self.connection())
            return [
                store_health(self._store),
                embedder_health(self._embedder),
                model.result(),
                disk_health(self.settings.data_dir),
                ocr_health(),
                *([telemetry_health(self._telemetry)] if self._telemetry else []),
            ]

    def back_up(self) -> Path:
        """Everything of the data directory in one new file beside it, which is the caller's to remove.

        Raises:
            BackupError: The disk has no room.
        """
        path = self.settings.data_dir / f".backup-{uuid.uuid4().hex}.zip"
        back_up(self.settings.data_dir, path)
        return path

    # inside

    def _start(self, asked: Asked) -> str:
        request, with_ = self._prepared(asked)
        live = LiveRun(request.id, request.chat)
        self._live.start(live, lambda live: self._answer(live, request, with_))
        return request.id

    def _prepared(self, asked: Asked) -> tuple[Request, Collaborators]:
        return self._asking.prepared(asked, self._engines.get(asked.engine), self.default_collection())

    def _answer(self, live: LiveRun, request: Request, with_: Collaborators, beginning: Beginning | None = None) -> Run:
        record = Run(
            id=request.id,
            chat=request.chat,
            question=request.question,
            plan=request.plan.as_json(),
            engine=with_.engine.name,
            collection=request.collection,
            documents=request.documents,
            created_at=request.created_at,
            status="running",
            branch=request.branch,
            ledger_of=request.ledger_of,
        )
        watched = self._live.get(request.id) is not None  # somebody may come back for it before it is over
        packing = Packing()
        waiting = [(point, packing.packed(point.state)) for point in (beginning.points if beginning else ())]

        def passed(point: Point, until_then: Run) -> None:
            waiting.append((point, packing.packed(point.state)))
            if watched:
                if until_then.spans:  # before the first, all is as it was kept when it began
                    self._keep(until_then)
                self._keep_points(request.id, waiting)

        if watched:
            self._keep(record)
        try:
            record = run(
                request,
                with_,
                emit=live.emit,
                stopped=live.stopped,
                budget_s=self.settings.run_seconds,
                beginning=beginning,
                passed=passed,
            )
        except Exception as error:  # whoever watches the run must see its end
            _log.exception("a run broke off")
            told = f"The run broke off ({type(error).__name__}): ask again, and report this."
            record = record.model_copy(update={"status": "failed", "error": told})
        record = self._keep(record)
        self._keep_points(request.id, waiting)
        if self._telemetry:
            self._telemetry.send(record)
        return record

    def _remember(self, rated: Run) -> None:
        """Keep an answer with the documents that it cites, as long as all are of one collection."""
        cited = {hit.chunk.document for hit in rated.evidence}
        records = [record for document in cited if (record := self._ledger.document(document))]
        memory = memory_of(rated, {record.id: record.sha256 for record in records})
        collections = {record.collection for record in records if memory and record.id in memory.documents}
        if memory and len(collections) == 1:
            self._memories.keep(self._ledger.tenant(collections.pop()), memory)

    def _keep(self, record: Run) -> Run:
        """Write a run to the history; where that fails the answer is still given, and says so."""
        try:
            self._history.keep(record)
        except (StoreError, ValueError) as error:
            return record.model_copy(update={"note": str(error).splitlines()[0]})
        return record

    def _keep_points(self, run_id: str, waiting: list[tuple[Point, bytes]]) -> None:
        """Write the points that wait for it; a run that they cannot be kept of is only not to be branched from."""
        try:
            self._points.keep(run_id, waiting)
        except StoreError as error:
            _log.warning(str(error))
        waiting.clear()

    def _forget(self, document_id: str) -> None:
        """Forget what was made of a document."""
        self._memories.forget_document(document_id)
        self.trees.forget_document(document_id)

    def _built_over(self, tenant: str) -> bool:
        return self.trees.holds(tenant) or self.graphs.holds(tenant)

    def _graph_making(self, collection: str, engine: str | None) -> Making:
        return making(self._engines.get(engine), Reading(self._embedder, self._ledger.statistics(collection)))

    def _describer(self) -> Describe | None:
        """What describes figures, where a model sees."""
        seeing = self._engines.seeing()
        return Describe(DescribeSettings(), seeing, self._reading) if seeing else None

    def _seeing(self) -> Describe:
        if (describer := self._describer()) is None:
            raise RagError(
                "No model that sees is set: choose an endpoint in Settings, or set OPENAI_BASE_URL and OPENAI_MODEL, "
                "and name the model in MULTIMODAL_VISION_MODEL."
            )
        return describer

    def _ingested(self, path: Path, name: str, collection: str, quick: bool) -> FileResult:
        began = time.perf_counter()
        try:
            document_id, changed = self._ingest.add(path, name, collection)
            changed = changed or self._unfinished(document_id, quick)
            if changed:
                self._ingest.work(document_id, quick=quick)
        except (RagError, OSError) as error:
            return FileResult(document="", name=name, state="failed", reason=reason_of(error))
        record = self._ledger.document(document_id)
        assert record is not None
        return result_of(record, changed=changed, seconds=time.perf_counter() - began)

    def _gone(self, name: str, collection: str, *, delete: bool) -> FileResult:
        record = self._ledger.named(collection, name)
        if record and delete:
            self.delete(record.id)
        state = "deleted" if record and delete else "gone"
        return FileResult(document=record.id if record else "", name=name, state=state)

    def _as_of_now(self, collection: str, records: list[DocumentRecord]) -> list[DocumentRecord]:
        """The records with what the ledger does not keep: the work under way, and whether today's index has them."""
        stale, moves = self._ledger.stale(collection, self._fingerprint), self._ledger.moves()
        return [
            record.model_copy(
                update={
                    "progress": self._ingest.progress(record.id),
                    "stale": record.id in stale,
                    "moving_to": moves.get(record.id),
                }
            )
            for record in records
        ]

    def _unfinished(self, document_id: str, quick: bool) -> bool:
        record = self._ledger.document(document_id)
        if record is None:
            return False
        if document_id in self._ledger.stale(record.collection, self._fingerprint):
            return True
        if record.state not in ("waiting", "reading", "refining"):
            return False
        return record.state != "refining" or not (quick and record.by_meaning)
