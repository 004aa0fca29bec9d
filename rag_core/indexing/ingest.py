"""Which documents are to be worked on, and by whom: here and now, or in a thread of its own."""

from __future__ import annotations

import io
import logging
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

from rag_core.errors import DocumentError, PdfParseError, RagError, Stopped, StoreError
from rag_core.indexing.job import Job, Parts
from rag_core.indexing.ledger import Todo
from rag_core.indexing.owners import Owners
from rag_core.indexing.passages import is_passages_file
from rag_core.indexing.records import DocumentRecord, Progress

_LOOK_AGAIN_S = 5.0

_log = logging.getLogger(__name__)


class Ingest:
    """Works on the documents of one data directory, here or in a thread of its own.

    Several processes may share the directory: each document is worked on by one, and what a dead process left is
    taken up by the next.
    """

    def __init__(self, parts: Parts, data_dir: Path, max_file_mb: int) -> None:
        self._parts = parts
        self._max_file_mb = max_file_mb
        self._owners = Owners(data_dir / "owners")
        self._progress: dict[str, Progress] = {}
        self._held: set[str] = set()
        self._claiming = threading.Lock()
        self._waking = {refines: threading.Event() for refines in (False, True)}
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
        sha256, _ = self._parts.originals.keep(io.BytesIO(file) if isinstance(file, bytes) else file, name)
        added = self._parts.ledger.add(collection, name, sha256, size, password)
        self._wake()
        return added

    def again(self, document_id: str, password: str | None = None) -> None:
        """Have a document read once more."""
        self._parts.ledger.again(document_id, password)
        self._wake()

    def delete(self, document_id: str) -> None:
        """Take a document out of sight at once, and its chunks and file away as soon as nobody works on it."""
        self._parts.ledger.mark_deleting(document_id)
        self._wake()

    def progress(self, document_id: str) -> Progress | None:
        """How far this process is with a document; None where it does not work on it."""
        return self._progress.get(document_id)

    # doing it

    def start(self) -> None:
        """Work in the background, from now until `close`, on whatever is to be done.

        New documents become searchable on one thread while another refines, so that none waits for a long one.
        """
        for refines in (False, True):
            name = "ingest-full" if refines else "ingest-quick"
            thread = threading.Thread(target=self._work_on, args=(refines,), daemon=True, name=name)
            thread.start()
            self._threads.append(thread)

    def work(self, document_id: str, *, quick: bool = False) -> None:
        """Bring one document to its end, here and now.

        Args:
            quick: Stop at searchable; refining is left for later.

        Raises:
            StoreError: The store or the disk is out; what was begun is noted and goes on later.
        """
        for refines in (False,) if quick else (False, True):
            self._work(refines, only=document_id)

    def close(self) -> None:
        """Stop working; what is cut short goes on at the next start."""
        self._closing.set()
        self._wake()
        for thread in self._threads:
            thread.join()
        self._owners.close()

    def _work_on(self, refines: bool) -> None:
        while not self._closing.is_set():
            self._waking[refines].clear()
            # Where the store or the disk is out, what was begun is noted on its document and is tried again.
            with suppress(RagError):
                self._work(refines)
            # Other processes add documents too, so the ledger is looked at now and then.
            self._waking[refines].wait(_LOOK_AGAIN_S)

    def _work(self, refines: bool, only: str | None = None) -> None:
        for todo in self._parts.ledger.unfinished(self._parts.fingerprint):
            if self._closing.is_set() or todo.refines != refines or only not in (None, todo.document):
                continue
            if self._claimed(todo):
                try:
                    self._one(todo.document, refines)
                finally:
                    self._let_go(todo.document)

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
        try:
            self._parts.ledger.release(document_id)
        finally:
            self._held.discard(document_id)
        self._wake()

    def _one(self, document_id: str, refines: bool) -> None:
        """One pass over a document; an error of its own is noted on it, one of the store goes up."""
        ledger = self._parts.ledger
        record = ledger.document(document_id)
        if record is None:
            return
        if ledger.is_deleting(document_id):
            self._remove(record)
            return
        try:
            job = Job(self._parts, record, lambda: self._stopped(document_id), partial(self._tell, document_id))
            if is_passages_file(record.name):
                job.passages()
            elif refines:
                job.full()
            else:
                job.quick()
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
        tenant = self._parts.ledger.tenant(record.collection)
        self._parts.store.ensure_tenant(tenant)  # it may go before anything of its collection was written
        self._parts.store.delete_document(tenant, record.id)
        for sha256 in self._parts.ledger.forget(record.id):
            self._parts.originals.drop(sha256)

    def _wake(self) -> None:
        for event in self._waking.values():
            event.set()

    def _tell(self, document_id: str, progress: Progress) -> None:
        self._progress[document_id] = progress

    def _stopped(self, document_id: str) -> bool:
        return self._closing.is_set() or self._parts.ledger.is_deleting(document_id)


def _sentence(reason: str) -> str:
    clean = reason.strip()
    return f"{clean[:1].upper()}{clean[1:]}" + ("" if clean.endswith((".", "!", "?")) else ".")
