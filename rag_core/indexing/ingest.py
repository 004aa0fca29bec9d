"""The offline flow: a file becomes chunks that a question finds, quickly first and better after.

    quick   text of every page, by fonts  -> chunks -> vectors -> Weaviate -> the ledger flips: searchable
    full    layout, tables, figures, OCR  -> chunks -> vectors of what is new -> Weaviate -> flip -> old chunks go

Each pass writes what is new, flips the ledger in one transaction, then deletes what is old: a crash at any point loses
nothing and leaves nothing double, and the work goes on where the ledger says it stopped.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock, Timeout

from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import DocumentError, PdfParseError, RagError, Stopped, StoreError
from rag_core.indexing.ledger import Ledger, Reading, count_stems
from rag_core.indexing.passages import is_passages_file, read_passages
from rag_core.indexing.records import DocumentRecord, Progress, Stage
from rag_core.llm.reading.words import stems
from rag_core.parsing.chunking import ChunkSettings, chunk_passage
from rag_core.parsing.parser import Parser
from rag_core.parsing.records import FailedPage, Level, Parsed
from rag_core.settings import Settings
from rag_core.stores.originals import Originals
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Chunk

if TYPE_CHECKING:
    from llama_index.core.schema import TransformComponent

# Raised when reading or cutting changes, so that what stands in the index is made anew.
PARSER_VERSION = 1
_PASSAGES_AT_ONCE = 256
_PAGE = 1_000
_RETRY_AFTER_S = 5.0


def fingerprint(chunks: ChunkSettings, embedder: str) -> str:
    """Names everything that shapes the index; another fingerprint is another Weaviate collection."""
    shaped = json.dumps([PARSER_VERSION, chunks.model_dump(), embedder], sort_keys=True)
    return hashlib.sha256(shaped.encode()).hexdigest()[:12]


class Ingest:
    """Works on the documents of one data directory, here or in a thread of its own.

    Several processes may share the directory: each document is worked on by one, and what a dead process left is
    taken up by the next.
    """

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        originals: Originals,
        parser: Parser,
        store: ChunkStore,
        embedder: TextEmbedder,
        chunking: ChunkSettings,
        transformations: Sequence[TransformComponent] = (),
    ) -> None:
        """Wire the flow.

        Args:
            transformations: A user's own, applied to the chunk nodes before they are embedded.
        """
        self._settings = settings
        self._ledger = ledger
        self._originals = originals
        self._parser = parser
        self._store = store
        self._embedder = embedder
        self._chunking = chunking
        self._transformations = tuple(transformations)
        self._fingerprint = fingerprint(chunking, embedder.name)
        self._owners = _Owners(settings.data_dir / "owners")
        self._progress: dict[str, Progress] = {}
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    # what is to be done

    def add(self, file: Path | bytes, name: str, collection: str, password: str | None = None) -> tuple[str, bool]:
        """Keep a file and note it to be indexed: `(document id, whether anything is to be done)`.

        Raises:
            DocumentError: It is too large, or the disk has no room for it.
            UnknownCollection: There is no such collection.
        """
        self._ledger.tenant(collection)
        size = len(file) if isinstance(file, bytes) else file.stat().st_size
        if size > self._settings.max_file_mb * 1_000_000:
            limit = f"It has {size / 1e6:,.0f} MB, the limit is {self._settings.max_file_mb:,} MB"
            raise DocumentError(name, "too_large", f"{limit}: split it, or raise RAGSCOPE_MAX_FILE_MB.")
        sha256, _ = self._originals.keep(io.BytesIO(file) if isinstance(file, bytes) else file, name)
        added = self._ledger.add(collection, name, sha256, size, password)
        self._wake.set()
        return added

    def again(self, document_id: str, password: str | None = None) -> None:
        """Have a document read once more."""
        self._ledger.again(document_id, password)
        self._wake.set()

    def delete(self, document_id: str) -> None:
        """Take a document out of sight at once, and its chunks and file away as soon as nobody works on it."""
        self._ledger.mark_deleting(document_id)
        self._wake.set()

    def progress(self, document_id: str) -> Progress | None:
        """How far this process is with a document; None where it does not work on it."""
        return self._progress.get(document_id)

    # doing it

    def start(self) -> None:
        """Work in the background, from now until `close`, on whatever is to be done."""
        self._thread = threading.Thread(target=self._work_on, daemon=True, name="ingest")
        self._thread.start()

    def work(self, *, quick: bool = False, only: frozenset[str] | None = None) -> None:
        """Do what is to be done, here and now.

        Args:
            quick: Stop at searchable; refining is left for later.
            only: Ids of the documents to work on; all when not given.
        """
        for document_id, owner in self._ledger.unfinished(self._fingerprint):
            if self._closing.is_set() or (only is not None and document_id not in only):
                continue
            if self._claimed(document_id, owner):
                try:
                    self._one(document_id, quick=quick)
                finally:
                    self._progress.pop(document_id, None)
                    self._ledger.release(document_id)

    def close(self) -> None:
        """Stop working; what is cut short goes on at the next start."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._owners.close()

    def _work_on(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                self.work()
            except RagError:  # the store or the disk is out: what was begun is still noted, and is tried again
                self._wake.wait(_RETRY_AFTER_S)
                continue
            # Other processes add documents too, so the ledger is looked at now and then.
            self._wake.wait(_RETRY_AFTER_S)

    def _claimed(self, document_id: str, owner: str | None) -> bool:
        if owner is not None and owner != self._owners.me and self._owners.alive(owner):
            return False
        return self._ledger.claim(document_id, self._owners.me, owner)

    def _one(self, document_id: str, *, quick: bool) -> None:
        """Bring one document to its end; an error of its own is noted on it, one of the store goes up."""
        record = self._ledger.document(document_id)
        if record is None:
            return
        if self._ledger.is_deleting(document_id):
            self._remove(record)
            return
        try:
            job = _Job(self, record)
            if is_passages_file(record.name):
                job.passages()
            else:
                job.pdf(quick=quick)
        except Stopped:
            if self._ledger.is_deleting(document_id):
                self._remove(record)
        except (PdfParseError, DocumentError) as error:
            self._ledger.fail(document_id, error.code, _sentence(error.reason))
        except StoreError as error:
            if not error.retry:
                self._ledger.fail(document_id, "store", _sentence(str(error)))
                return
            self._ledger.postpone(document_id, _sentence(str(error)))
            raise

    def _remove(self, record: DocumentRecord) -> None:
        tenant = self._ledger.tenant(record.collection)
        self._store.ensure_tenant(tenant)  # it may go before anything of its collection was written
        self._store.delete_document(tenant, record.id)
        for sha256 in self._ledger.forget(record.id):
            self._originals.drop(sha256)

    def _stopped(self, document_id: str) -> bool:
        return self._closing.is_set() or self._ledger.is_deleting(document_id)


class _Job:
    """The work on one document."""

    def __init__(self, ingest: Ingest, record: DocumentRecord) -> None:
        self._in = ingest
        self._record = record
        self._tenant = ingest._ledger.tenant(record.collection)
        self._sha256, self._password = ingest._ledger.source(record.id)
        self._path = ingest._originals.path(self._sha256, record.name)
        self._began = time.perf_counter()
        self._stage_began = self._began

    def pdf(self, *, quick: bool) -> None:
        """Both passes over a PDF."""
        self._in._parser.inspect(self._path, self._password)
        refining = self._record.state == "refining" and self._record.searchable
        if not refining:
            self._in._ledger.set_state(self._record.id, "reading")
            self._pass("quick", state="refining")
        if not quick:
            self._pass("full", state="")

    def passages(self) -> None:
        """One pass over a passages file, some hundred at a time."""
        self._in._ledger.set_state(self._record.id, "reading")
        self._in._store.ensure_tenant(self._tenant)
        wrong: list[str] = []
        counted: Counter[str] = Counter()
        kept: set[str] = set()
        for chunks in self._batches(wrong):
            vectors = self._in._embedder.embed([made.searchable_text for made in chunks])
            self._in._store.put(self._tenant, chunks, vectors)
            counted.update(count_stems(stems(made.searchable_text) for made in chunks))
            kept.update(made.id for made in chunks)
            self._tell("embed", len(kept), len(kept))
        if not kept:
            raise DocumentError(self._record.name, "empty", wrong[0] if wrong else "There is nothing in it.")
        nothing_else = Parsed(pages=0, title="", page_sizes=(), elements=(), failed=())
        reading = self._reading(nothing_else, len(kept), counted)
        if wrong:
            more = f" So are {len(wrong) - 1:,} more." if len(wrong) > 1 else ""
            reading = reading.model_copy(update={"reason": wrong[0] + more})
        self._flip(reading, kept, "partial" if wrong else "ready")

    def _batches(self, wrong: list[str]) -> Iterator[list[Chunk]]:
        order = 0
        found: list[Chunk] = []
        for passage in read_passages(self._path, self._record.name):
            if isinstance(passage, str):
                wrong.append(passage)
                continue
            made = chunk_passage(
                str(passage.id),
                passage.title,
                passage.text,
                document=self._record.id,
                name=self._record.name,
                settings=self._in._chunking,
                order=order,
            )
            found += made
            order += len(made)
            if len(found) >= _PASSAGES_AT_ONCE:
                self._go_on()
                yield found
                found = []
        if found:
            yield found

    def _pass(self, level: Level, *, state: str) -> None:
        """Read the PDF at one level and put what is found in the place of what was there."""
        parsed = self._in._parser.parse(
            self._path,
            level=level,
            figures=self._in._originals.figures(self._sha256),
            password=self._password,
            on_page=lambda done, total: self._tell("read" if level == "quick" else "refine", done, total),
            stopped=lambda: self._in._stopped(self._record.id),
        )
        self._tell("chunk", 0, len(parsed.elements))
        chunks = self._chunks(parsed)
        self._write(chunks)
        reading = self._reading(parsed, len(chunks), count_stems(stems(made.searchable_text) for made in chunks))
        self._flip(reading, {made.id for made in chunks}, state or _final_state(parsed))

    def _chunks(self, parsed: Parsed) -> list[Chunk]:
        # LlamaIndex takes a second to import, and only this flow needs it.
        from llama_index.core.ingestion import run_transformations

        from rag_core.indexing.transformations import ChunkByTitle, chunk_of, element_nodes

        cut = ChunkByTitle(document=self._record.id, name=self._record.name, settings=self._in._chunking)
        nodes = element_nodes(parsed.elements, self._record.id)
        return [chunk_of(node) for node in run_transformations(nodes, [cut, *self._in._transformations])]

    def _write(self, chunks: Sequence[Chunk]) -> None:
        """Embed and store the chunks that are not there yet."""
        store = self._in._store
        store.ensure_tenant(self._tenant)
        there = store.vectors(self._tenant, [made.id for made in chunks])
        # A chunk that stands where it stood needs no new vector; its boxes and place may have changed.
        new = [made for made in chunks if made.id not in there]
        if new:
            vectors = self._embedded(new)
            there.update(zip((made.id for made in new), vectors, strict=True))
        self._tell("store", 0, len(chunks))
        if chunks:
            store.put(self._tenant, chunks, np.stack([there[made.id] for made in chunks]))

    def _embedded(self, chunks: Sequence[Chunk]) -> np.ndarray:
        from llama_index.core.ingestion import run_transformations

        from rag_core.embedding.llama_index import MiniLMEmbedding
        from rag_core.indexing.transformations import InBatches, chunk_node

        def told(done: int, total: int) -> None:
            self._go_on()
            self._tell("embed", done, total)

        embed = InBatches(component=MiniLMEmbedding(self._in._embedder), told=told)
        nodes = run_transformations([chunk_node(made) for made in chunks], [embed])
        return np.asarray([node.embedding for node in nodes], dtype=np.float32)

    def _reading(self, parsed: Parsed, chunks: int, counted: Counter[str]) -> Reading:
        return Reading(
            title=parsed.title,
            pages=parsed.pages,
            page_sizes=parsed.page_sizes,
            elements=parsed.elements,
            failed=tuple(FailedPage(page=page.page, reason=page.reason) for page in parsed.failed),
            chunks=chunks,
            stems=dict(counted),
            fingerprint=self._in._fingerprint,
        )

    def _flip(self, reading: Reading, kept: set[str], state: str) -> None:
        self._go_on()
        seconds = time.perf_counter() - self._began
        unused = self._in._ledger.flip(self._record.id, reading, state=state, seconds=seconds)
        self._in._store.delete(self._tenant, [chunk_id for chunk_id in self._stored_ids() if chunk_id not in kept])
        if unused:
            self._in._originals.drop(unused)

    def _stored_ids(self) -> list[str]:
        found: list[str] = []
        while page := self._in._store.chunks(
            self._tenant, self._record.id, after=found[-1] if found else None, limit=_PAGE
        ):
            found += [made.id for made in page]
        return found

    def _go_on(self) -> None:
        if self._in._stopped(self._record.id):
            raise Stopped("The work on this document was stopped.")

    def _tell(self, stage: Stage, done: int, total: int) -> None:
        before = self._in._progress.get(self._record.id)
        if before is None or before.stage != stage:
            self._stage_began = time.perf_counter()
        spent = time.perf_counter() - self._stage_began
        per_s = done / spent if done and spent > 0.2 else None
        left = (total - done) / per_s if per_s else None
        self._in._progress[self._record.id] = Progress(stage=stage, done=done, total=total, per_s=per_s, left_s=left)


class _Owners:
    """Which processes are alive: each holds a lock on a file of its own, which the system lets go when it dies."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.me = uuid.uuid4().hex
        self._lock = FileLock(self._file(self.me))
        self._lock.acquire()

    def alive(self, owner: str) -> bool:
        try:
            with FileLock(self._file(owner), timeout=0):
                pass
        except Timeout:
            return True
        self._file(owner).unlink(missing_ok=True)
        return False

    def close(self) -> None:
        self._lock.release()
        self._file(self.me).unlink(missing_ok=True)

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"


def _final_state(parsed: Parsed) -> str:
    return "partial" if parsed.failed else "ready"


def _sentence(reason: str) -> str:
    clean = reason.strip()
    return f"{clean[:1].upper()}{clean[1:]}" + ("" if clean.endswith((".", "!", "?")) else ".")
