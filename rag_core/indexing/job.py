"""The work on one document: a file becomes chunks that a question finds, quickly first and better after.

    quick   text of every page, by fonts  -> chunks -> vectors -> Weaviate -> the ledger flips: searchable
    full    layout, tables, figures, OCR  -> chunks -> vectors of what is new -> Weaviate -> flip -> old chunks go

Each pass writes what is new, flips the ledger in one transaction, then deletes what is old: a crash at any point loses
nothing and leaves nothing double, and the work goes on where the ledger says it stopped.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import DocumentError, Stopped
from rag_core.indexing.ledger import Ledger, Reading, count_stems
from rag_core.indexing.passages import read_passages
from rag_core.indexing.records import DocumentRecord, Progress, Stage
from rag_core.llm.reading.words import stems
from rag_core.parsing.chunking import ChunkSettings, chunk_passage
from rag_core.parsing.parser import Parser
from rag_core.parsing.records import FailedPage, Level, Parsed
from rag_core.stores.originals import Originals
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Chunk

if TYPE_CHECKING:
    from llama_index.core.schema import TransformComponent

# Raised when reading or cutting changes, so that what stands in the index is made anew.
_PARSER_VERSION = 1
_PASSAGES_AT_ONCE = 256
_PAGE = 1_000


def fingerprint_of(chunking: ChunkSettings, embedder: str) -> str:
    """Names everything that shapes the index; another fingerprint is another Weaviate collection."""
    shaped = json.dumps([_PARSER_VERSION, chunking.model_dump(), embedder], sort_keys=True)
    return hashlib.sha256(shaped.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Parts:
    """What the offline flow works with.

    `transformations` are a user's own, applied to the chunk nodes before they are embedded.
    """

    ledger: Ledger
    originals: Originals
    parser: Parser
    store: ChunkStore
    embedder: TextEmbedder
    chunking: ChunkSettings
    transformations: tuple[TransformComponent, ...] = ()

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.chunking, self.embedder.name)


class Job:
    """The work on one document, from its file to its chunks in the store."""

    def __init__(
        self, parts: Parts, record: DocumentRecord, stopped: Callable[[], bool], told: Callable[[Progress], None]
    ) -> None:
        """Take up a document.

        Args:
            stopped: Whether to give up; asked often.
            told: Called with each step of the progress.
        """
        self._parts = parts
        self._record = record
        self._stopped = stopped
        self._told = told
        self._tenant = parts.ledger.tenant(record.collection)
        self._sha256, self._password = parts.ledger.source(record.id)
        self._path = parts.originals.path(self._sha256, record.name)
        self._stage: Stage | None = None
        self._began = time.perf_counter()
        self._stage_began = self._began

    def quick(self) -> None:
        """Make a PDF searchable: its text, by fonts."""
        self._parts.parser.inspect(self._path, self._password)
        self._parts.ledger.set_state(self._record.id, "reading")
        self._pass("quick", state="refining")

    def full(self) -> None:
        """Make what is searchable better: layout, tables, figures, OCR."""
        self._pass("full", state="")

    def passages(self) -> None:
        """One pass over a passages file, some hundred at a time."""
        self._parts.ledger.set_state(self._record.id, "reading")
        self._parts.store.ensure_tenant(self._tenant)
        wrong: list[str] = []
        counted: Counter[str] = Counter()
        kept: set[str] = set()
        for chunks in self._batches(wrong):
            vectors = self._parts.embedder.embed([made.searchable_text for made in chunks])
            self._parts.store.put(self._tenant, chunks, vectors)
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
                settings=self._parts.chunking,
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
        parsed = self._parts.parser.parse(
            self._path,
            level=level,
            figures=self._parts.originals.figures(self._sha256),
            password=self._password,
            on_page=lambda done, total: self._tell("read" if level == "quick" else "refine", done, total),
            stopped=self._stopped,
        )
        self._tell("chunk", 0, len(parsed.elements))
        chunks = self._chunks(parsed)
        self._write(chunks)
        reading = self._reading(parsed, len(chunks), count_stems(stems(made.searchable_text) for made in chunks))
        self._flip(reading, {made.id for made in chunks}, state or ("partial" if parsed.failed else "ready"))

    def _chunks(self, parsed: Parsed) -> list[Chunk]:
        # LlamaIndex takes a second to import, and only this flow needs it.
        from llama_index.core.ingestion import run_transformations

        from rag_core.indexing.transformations import ChunkByTitle, chunk_of, element_nodes

        cut = ChunkByTitle(document=self._record.id, name=self._record.name, settings=self._parts.chunking)
        nodes = element_nodes(parsed.elements, self._record.id)
        return [chunk_of(node) for node in run_transformations(nodes, [cut, *self._parts.transformations])]

    def _write(self, chunks: Sequence[Chunk]) -> None:
        """Embed and store the chunks that are not there yet."""
        store = self._parts.store
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

        embed = InBatches(component=MiniLMEmbedding(self._parts.embedder), told=told)
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
            fingerprint=self._parts.fingerprint,
        )

    def _flip(self, reading: Reading, kept: set[str], state: str) -> None:
        self._go_on()
        seconds = time.perf_counter() - self._began
        unused = self._parts.ledger.flip(self._record.id, reading, state=state, seconds=seconds)
        self._parts.store.delete(self._tenant, [chunk_id for chunk_id in self._stored_ids() if chunk_id not in kept])
        if unused:
            self._parts.originals.drop(unused)

    def _stored_ids(self) -> list[str]:
        found: list[str] = []
        while page := self._parts.store.chunks(
            self._tenant, self._record.id, after=found[-1] if found else None, limit=_PAGE
        ):
            found += [made.id for made in page]
        return found

    def _go_on(self) -> None:
        if self._stopped():
            raise Stopped("The work on this document was stopped.")

    def _tell(self, stage: Stage, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage, self._stage_began = stage, time.perf_counter()
        spent = time.perf_counter() - self._stage_began
        per_s = done / spent if done and spent > 0.2 else None
        left = (total - done) / per_s if per_s else None
        self._told(Progress(stage=stage, done=done, total=total, per_s=per_s, left_s=left))
