"""Which documents are to be worked on, and by whom: here and now, or in a thread of its own."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from rag_core.errors import DocumentError, PdfParseError, RagError, Stopped, StoreError
from rag_core.indexing.job import Job, Parts, load_chunker
from rag_core.indexing.ledger import Todo, Work
from rag_core.indexing.moving import move_on
from rag_core.indexing.owners import Owners
from rag_core.indexing.records import DocumentRecord, Progress
from rag_core.types import Chunk

_LOOK_AGAIN_S = 5.0
_THREADS: tuple[Work, ...] = ("words", "meaning", "full", "full")
"""What is new is found by its words while others get their vectors, and two documents are refined at a time: a short
one beside a long one, and the pages of one while the other is embedded."""

_WARM_AFTER_S = 3.0
_ASKED = 20
"""Documents that questions met last, whose vectors come before those of others."""

_log = logging.getLogger(__name__)


class Ingest:
    """Works on the documents of one data directory, here or in a thread of its own.

    Several processes may share the directory: each document is worked on by one, and what a dead process left is
    taken up by the next.
    """

    def __init__(self, parts: Parts, data_dir: Path, max_file_mb: int, in_use: Callable[[str], bool]) -> None:
        """Wire it.

        Args:
            in_use: Whether something else still works over a tenant: it is nobody else's before that has ended.
        """
        self._parts = parts
        self._max_file_mb = max_file_mb
        self._in_use = in_use
        self._owners = Owners(data_dir / "owners")
        self._progress: dict[str, Progress] = {}
        self._held: set[str] = set()
        self._claiming = threading.Lock()
        self._asked: dict[str, None] = {}
        self._jobs: dict[str, Job] = {}
        self._waking = [threading.Event() for _ in _THREADS]
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    # what is to be done

    def add(self, file: Path | bytes, name: str, collection: str, password: str | None = None) -> tuple[str, bool]:
        """Keep a file and note it to be indexed: `(document id, whether anything is to be done)`.

        Raises:
            DocumentError: It is too large, or the disk has no room for it.
            UnknownCollection: There is no such collection.
        """
        self._parts.ledger.tenant(collection)
        size = len(file) if isinstance(file, bytes) else file.stat().st_size
        if size > self._max_file_mb * 1_000_000:
            limit = f"It has {size / 1e6:,.0f} MB, the limit is {self._max_file_mb:,} MB"
            raise DocumentError(name, "too_large", f"{limit}: split it, or raise RAGSCOPE_MAX_FILE_MB.")
        if isinstance(file, Path) and (known := self._same(file, name, collection)):
            return known, False
        sha256, _ = self._parts.originals.keep(io.BytesIO(file) if isinstance(file, bytes) else file, name)
        added = self._parts.ledger.add(collection, name, sha256, size, password)
        self._wake()
        return added

    def _same(self, file: Path, name: str, collection: str) -> str | None:
        """The document that has this very file already; nothing is copied to find out."""
        record = self._parts.ledger.named(collection, name)
        if record is None or record.state == "failed":
            return None
        with file.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        return record.id if sha256 == self._parts.ledger.source(record.id)[0] else None

    def again(self, document_id: str, password: str | None = None) -> None:
        """Have a document read once more."""
        self._parts.ledger.again(document_id, password)
        self._wake()

    def delete(self, document_id: str) -> None:
        """Take a document out of sight at once, and its chunks and file away as soon as nobody works on it."""
        self._parts.ledger.mark_deleting(document_id)
        self._wake()

    def move(self, document_id: str, collection: str) -> None:
        """Have a document go to another collection, as soon as nobody works on it.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: There is a document of that name already, or it is on its way elsewhere.
        """
        self._parts.ledger.note_move(document_id, collection)
        self._wake()

    def delete_collection(self, name: str) -> None:
        """Take a collection out of sight at once, and what it holds away as soon as nobody works on it.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: Documents of it are on their way to another one.
        """
        self._parts.ledger.delete_collection(name)
        self._wake()

    def describe(self, collection: str) -> list[str]:
        """Have the figures of a collection described from now on: the ids of the documents refined again for it."""
        refined = self._parts.ledger.describe(collection)
        self._wake()
        return refined

    def progress(self, document_id: str) -> Progress | None:
        """How far this process is with a document; None where it does not work on it."""
        return self._progress.get(document_id)

    def hurry(self, chunks: Iterable[Chunk]) -> None:
        """Give these chunks, which a question found by its words, their vectors before others, and their documents."""
        by_document: dict[str, list[str]] = {}
        for chunk in chunks:
            by_document.setdefault(chunk.document, []).append(chunk.id)
        for document_id, ids in by_document.items():
            if job := self._jobs.get(document_id):
                job.hurry(ids)
            self._asked.pop(document_id, None)
            self._asked[document_id] = None
        while len(self._asked) > _ASKED:
            self._asked.pop(next(iter(self._asked)))

    # doing it

    def start(self) -> None:
        """Work in the background, from now until `close`, on whatever is to be done.

        New documents become searchable on one thread while others refine, so that none waits for a long one.
        """
        for work, waking in zip(_THREADS, self._waking, strict=True):
            thread = threading.Thread(target=self._work_on, args=(work, waking), daemon=True, name=f"ingest-{work}")
            thread.start()
            self._threads.append(thread)
        warming = threading.Thread(target=self._warm, daemon=True, name="ingest-warm")
        warming.start()
        self._threads.append(warming)

    def work(self, document_id: str, *, quick: bool = False) -> None:
        """Bring one document to its end, here and now.

        Args:
            quick: Stop when it is found by words and by meaning; refining is left for later.

        Raises:
            StoreError: The store or the disk is out; what was begun is noted and goes on later.
        """
        steps: tuple[Work, ...] = ("words", "meaning") if quick else ("words", "meaning", "full")
        for work in steps:
            self._work(work, only=document_id)

    def close(self) -> None:
        """Stop working; what is cut short goes on at the next start."""
        self._closing.set()
        self._wake()
        for thread in self._threads:
            thread.join()
        self._owners.close()

    def _warm(self) -> None:
        """Get ready for the first document, once whoever opened the app has seen it."""
        if not self._closing.wait(_WARM_AFTER_S):
            self._parts.parser.warm()
            load_chunker()

    def _work_on(self, work: Work, waking: threading.Event) -> None:
        while not self._closing.is_set():
            waking.clear()
            # Where the store or the disk is out, what was begun is noted on its document and is tried again.
            with suppress(RagError):
                self._work(work)
                self._drop_emptied()
            # Other processes add documents too, so the ledger is looked at now and then.
            waking.wait(_LOOK_AGAIN_S)

    def _work(self, work: Work, only: str | None = None) -> None:
        for todo in self._todo(work, only):
            if self._closing.is_set():
                return
            if self._claimed(todo):
                try:
                    self._one(todo.document, work)
                finally:
                    self._let_go(todo.document)

    def _todo(self, work: Work, only: str | None) -> list[Todo]:
        """What there is to do of one kind, what was asked for last first, else the oldest."""
        asked = list(self._asked)
        todo = [
            todo
            for todo in self._parts.ledger.unfinished(self._parts.fingerprint)
            if todo.work == work and only in (None, todo.document)
        ]
        return sorted(todo, key=lambda todo: -asked.index(todo.document) if todo.document in asked else 1)

    def _claimed(self, todo: Todo) -> bool:
        """Take a document, unless a thread of ours or a living process has it."""
        with self._claiming:
            ours = todo.owner == self._owners.me
            if todo.document in self._held or (todo.owner and not ours and self._owners.alive(todo.owner)):
                return False
            if not self._parts.ledger.claim(todo.document, self._owners.me, todo.owner):
                return False
            self._held.add(todo.document)
            return True

    def _let_go(self, document_id: str) -> None:
        self._progress.pop(document_id, None)
        self._jobs.pop(document_id, None)
        try:
            self._parts.ledger.release(document_id)
        finally:
            self._held.discard(document_id)
        self._wake()

    def _one(self, document_id: str, work: Work) -> None:
        """One pass over a document; an error of its own is noted on it, one of the store goes up."""
        ledger = self._parts.ledger
        record = ledger.document(document_id)
        if record is None:
            return
        if ledger.is_deleting(document_id):
            self._remove(record)
            return
        if ledger.move(document_id) is not None:
            self._move(record)  # what else there is to do with it comes with the next look at the ledger
            return
        try:
            job = Job(self._parts, record, lambda: self._stopped(document_id), partial(self._tell, document_id))
            self._jobs[document_id] = job
            {"words": job.words, "meaning": job.meaning, "full": job.full}[work]()
        except Stopped:
            if ledger.is_deleting(document_id):
                self._remove(record)
        except (PdfParseError, DocumentError) as error:
            ledger.fail(document_id, error.code, _sentence(error.reason))
        except StoreError as error:
            if error.retry:
                ledger.postpone(document_id, _sentence(str(error)))
                raise
            ledger.fail(document_id, "store", _sentence(str(error)))
        except Exception as error:  # one document must not stop the others, whatever is in it
            _log.exception("%s could not be indexed", record.name)
            ledger.fail(document_id, "unforeseen", f"It could not be indexed ({type(error).__name__}): report this.")

    def _remove(self, record: DocumentRecord) -> None:
        move = self._parts.ledger.move(record.id)
        for tenant in (move.source, move.target) if move else (self._parts.ledger.tenant(record.collection),):
            self._parts.store.ensure_tenant(tenant)  # it may go before anything of its collection was written
            self._parts.store.delete_document(tenant, record.id)
        for sha256 in self._parts.ledger.forget(record.id):
            self._parts.originals.drop(sha256)

    def _move(self, record: DocumentRecord) -> None:
        try:
            move_on(self._parts.ledger, self._parts.store, record.id)
        except StoreError as error:
            if error.retry:
                raise
            _log.error("%s stays in %s: %s", record.name, record.collection, error)
            self._parts.ledger.end_move(record.id)

    def _drop_emptied(self) -> None:
        for tenant in self._parts.ledger.emptied():
            if self._in_use(tenant):
                continue
            self._parts.store.drop_tenant(tenant)
            self._parts.ledger.forget_collection(tenant)

    def _wake(self) -> None:
        for waking in self._waking:
            waking.set()

    def _tell(self, document_id: str, progress: Progress) -> None:
        self._progress[document_id] = progress

    def _stopped(self, document_id: str) -> bool:
        """Whether a pass over a document has to end: it is to be deleted, or to be moved before it is read on."""
        ledger = self._parts.ledger
        return self._closing.is_set() or ledger.is_deleting(document_id) or ledger.move(document_id) is not None


def _sentence(reason: str) -> str:
    clean = reason.strip()
    return f"{clean[:1].upper()}{clean[1:]}" + ("" if clean.endswith((".", "!", "?")) else ".")
