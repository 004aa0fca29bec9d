"""The work on one document: its file becomes chunks, found by their words first, then by meaning, then better ones.

    words     text of every page, by fonts  -> chunks -> Weaviate, without vectors -> flip: found by words
    meaning   vectors, page by page, where a question waits first -> Weaviate -> the ledger: found by meaning
    full      layout, tables, figures, OCR  -> chunks -> vectors of what is new -> Weaviate -> flip -> old chunks go

A pass writes what is new, flips the ledger in one transaction, then deletes what is old: a crash at any point loses
nothing and leaves nothing double, and the work goes on where the ledger says it stopped; pages that were refined are
kept and not read again. The better chunks come at the end of a document and not page by page: what a running head is,
which size a heading has and what stands under it is known only when all its pages are.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rag_core.embedding.clip import ImageEmbedder, PictureError
from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import DocumentError, Stopped
from rag_core.indexing.describing import described
from rag_core.indexing.ledger import Ledger, Reading, count_stems
from rag_core.indexing.passages import is_passages_file, read_passages
from rag_core.indexing.records import DocumentRecord, Progress, Stage
from rag_core.indexing.waiting import Waiting
from rag_core.llm.reading.words import stems
from rag_core.llm.vocabulary import load_llama_index
from rag_core.parsing.chunking import ChunkSettings, chunk, chunk_passage
from rag_core.parsing.kept import KeptPages
from rag_core.parsing.parser import Parser
from rag_core.parsing.records import Level, Parsed
from rag_core.stores.originals import Originals
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.describe import Describe
from rag_core.types import Chunk, Element, Place

if TYPE_CHECKING:
    from llama_index.core.schema import TransformComponent

# Raised when reading or cutting changes, so that what stands in the index is made anew.
_PARSER_VERSION = 2
# Raised when the words that a chunk is found by are made otherwise.
_STEMS_VERSION = 2
_PASSAGES_AT_ONCE = 1_000
_VECTORS_AT_ONCE = 64
_PAGE = 1_000

_log = logging.getLogger(__name__)


def fingerprint_of(chunking: ChunkSettings, *embedders: str) -> str:
    """Names everything that shapes the index; another fingerprint is another Weaviate collection."""
    shaped = json.dumps([_PARSER_VERSION, _STEMS_VERSION, chunking.model_dump(), *embedders], sort_keys=True)
    return hashlib.sha256(shaped.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Parts:
    """What the offline flow works with.

    `transformations` are a user's own, applied to the chunk nodes before they are embedded; `images` gives figures
    their image vectors, where that is on; `describer` gives what describes figures, as the models are set now, and
    `describes` is whether all collections have theirs described.
    """

    ledger: Ledger
    originals: Originals
    parser: Parser
    store: ChunkStore
    embedder: TextEmbedder
    chunking: ChunkSettings
    transformations: tuple[TransformComponent, ...] = ()
    images: ImageEmbedder | None = None
    describer: Callable[[], Describe | None] = lambda: None
    describes: bool = False

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.chunking, self.embedder.name, *([self.images.name] if self.images else []))


def load_chunker() -> None:
    """Have what cutting needs imported, which takes a second: LlamaIndex, and unstructured by cutting a word."""
    load_llama_index()
    word = Element(id="", kind="text", text="ready", place=Place(page=1, boxes=()))
    chunk([word], document="", name="", settings=ChunkSettings())


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
        self._told = told
        self._tenant = parts.ledger.tenant(record.collection)
        self._sha256, self._password = parts.ledger.source(record.id)
        self._path = parts.originals.path(self._sha256, record.name)
        self._stopped = stopped
        self._waiting = Waiting(())
        self._stage: Stage | None = None
        self._began = time.perf_counter()
        self._stage_began = self._began

    def words(self) -> None:
        """Make a document found by its words."""
        self._parts.ledger.set_state(self._record.id, "reading")
        self._parts.store.ensure_tenant(self._tenant)
        if is_passages_file(self._record.name):
            self._passages()
            return
        parsed, chunks = self._read("quick")
        self._put(chunks)
        self._flip(self._reading(parsed, chunks), {made.id for made in chunks}, "refining", by_meaning=False)

    def meaning(self) -> None:
        """Give each chunk that has none its vector, so that it is found by meaning too."""
        store = self._parts.store
        self._waiting = Waiting(made for page in self._stored() for made in self._without_vectors(page))
        while ids := self._waiting.take(_VECTORS_AT_ONCE):
            self._go_on()
            chunks = store.get(self._tenant, ids)
            if chunks:
                store.put(self._tenant, chunks, self._embedded(chunks))
            self._tell("embed", self._waiting.total - len(self._waiting), self._waiting.total)
        state = "refining"
        if is_passages_file(self._record.name):
            state = "partial" if self._record.reason else "ready"
        self._parts.ledger.has_meaning(self._record.id, state=state, seconds=time.perf_counter() - self._began)

    def full(self) -> None:
        """Make what is found better: layout, tables, figures, OCR."""
        parsed, chunks = self._read("full")
        chunks, wrong = self._described(chunks)
        self._put_whole(chunks)
        state = "partial" if parsed.failed else "ready"
        reading = self._reading(parsed, chunks).model_copy(update={"reason": wrong})
        self._flip(reading, {made.id for made in chunks}, state, by_meaning=True)
        self._kept.drop_unused()

    def hurry(self, ids: Iterable[str]) -> None:
        """Give these chunks their vectors first, as far as they wait for them here; from any thread."""
        self._waiting.hurry(ids)

    def _passages(self) -> None:
        wrong: list[str] = []
        counted: Counter[str] = Counter()
        kept: set[str] = set()
        for chunks in self._batches(wrong):
            self._put(chunks)
            counted.update(_counted(chunks))
            kept.update(made.id for made in chunks)
            self._tell("store", len(kept), len(kept))
        if not kept:
            raise DocumentError(self._record.name, "empty", wrong[0] if wrong else "There is nothing in it.")
        more = f" So are {len(wrong) - 1:,} more." if len(wrong) > 1 else ""
        reading = Reading(
            title="",
            pages=0,
            page_sizes=(),
            elements=(),
            failed=(),
            reason=wrong[0] + more if wrong else None,
            chunks=len(kept),
            stems=dict(counted),
            fingerprint=self._parts.fingerprint,
        )
        self._flip(reading, kept, "refining", by_meaning=False)

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

    def _read(self, level: Level) -> tuple[Parsed, list[Chunk]]:
        """Read the PDF at one level; pages that were refined before are not read again."""
        parsed = self._parts.parser.parse(
            self._path,
            level=level,
            figures=self._parts.originals.figures(self._sha256),
            password=self._password,
            kept=self._kept,
            on_page=lambda done, total: self._tell("read" if level == "quick" else "refine", done, total),
            stopped=self._stopped,
        )
        self._tell("chunk", 0, len(parsed.elements))
        return parsed, self._chunks(parsed)

    @cached_property
    def _kept(self) -> KeptPages:
        """The pages of this content that were refined; of the version that is searched, where this is a newer one."""
        originals, name = self._parts.originals, f"pages-{_PARSER_VERSION}.jsonl"
        kept = KeptPages(self._path.with_name(name), originals.figures(self._sha256))
        before = self._record.sha256
        if before != self._sha256:
            kept.inherit(originals.path(before, self._record.name).with_name(name), originals.figures(before))
        return kept

    def _chunks(self, parsed: Parsed) -> list[Chunk]:
        load_llama_index()
        from llama_index.core.ingestion import run_transformations

        from rag_core.indexing.transformations import ChunkByTitle, chunk_of, element_nodes

        cut = ChunkByTitle(document=self._record.id, name=self._record.name, settings=self._parts.chunking)
        nodes = element_nodes(parsed.elements, self._record.id)
        return [chunk_of(node) for node in run_transformations(nodes, [cut, *self._parts.transformations])]

    def _described(self, chunks: list[Chunk]) -> tuple[list[Chunk], str | None]:
        parts = self._parts
        if not (parts.describes or parts.ledger.describes(self._record.collection)):
            return chunks, None
        return described(
            parts.describer(),
            chunks,
            parts.originals.figures(self._sha256),
            self._stopped,
            lambda done, total: self._tell("describe", done, total),
        )

    def _put(self, chunks: Sequence[Chunk]) -> None:
        """Store those chunks that are new or changed, without vectors but for those that have one."""
        stored = self._as_stored(chunks)
        self._tell("store", 0, len(chunks))
        self._parts.store.put(self._tenant, [made for made in chunks if stored.get(made.id) != made])

    def _put_whole(self, chunks: Sequence[Chunk]) -> None:
        """Store those chunks that are new or changed, with vectors; what reads as it did keeps its own."""
        store, stored = self._parts.store, self._as_stored(chunks)
        vectors = store.vectors(self._tenant, list(stored))
        new = [
            made for made in chunks if made.id not in vectors or stored[made.id].searchable_text != made.searchable_text
        ]
        if new:
            vectors |= zip((made.id for made in new), self._embedded(new), strict=True)
        images = self._newly_seen(chunks, stored)
        changed = [made for made in chunks if made in new or made.id in images or stored[made.id] != made]
        self._tell("store", 0, len(changed))
        if changed:
            store.put(self._tenant, changed, np.stack([vectors[made.id] for made in changed]), images=images)

    def _newly_seen(self, chunks: Sequence[Chunk], stored: dict[str, Chunk]) -> dict[str, np.ndarray]:
        """The image vectors of those figures that have none yet, or show something else than they did."""
        embedder = self._parts.images
        if embedder is None:
            return {}
        have = self._parts.store.image_vectors(self._tenant, [made.id for made in chunks if made.image])
        crops = self._parts.originals.figures(self._sha256)
        seen: dict[str, np.ndarray] = {}
        for made in chunks:
            if made.image and (made.id not in have or stored[made.id].image != made.image):
                self._go_on()
                try:
                    (seen[made.id],) = embedder.embed_images([crops / made.image])
                except PictureError as error:
                    _log.warning("a figure of %s is found by its texts alone: %s", self._record.name, error)
        return seen

    def _as_stored(self, chunks: Sequence[Chunk]) -> dict[str, Chunk]:
        return {found.id: found for found in self._parts.store.get(self._tenant, [made.id for made in chunks])}

    def _without_vectors(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        vectors = self._parts.store.vectors(self._tenant, [made.id for made in chunks])
        return [made for made in chunks if made.id not in vectors]

    def _embedded(self, chunks: Sequence[Chunk]) -> np.ndarray:
        load_llama_index()
        from llama_index.core.ingestion import run_transformations

        from rag_core.embedding.llama_index import MiniLMEmbedding
        from rag_core.indexing.transformations import InBatches, chunk_node

        def told(done: int, total: int) -> None:
            self._go_on()
            self._tell("embed", done, total)

        embed = InBatches(component=MiniLMEmbedding(self._parts.embedder), told=told)
        nodes = run_transformations([chunk_node(made) for made in chunks], [embed])
        return np.asarray([node.embedding for node in nodes], dtype=np.float32)

    def _reading(self, parsed: Parsed, chunks: Sequence[Chunk]) -> Reading:
        return Reading(
            title=parsed.title,
            pages=parsed.pages,
            page_sizes=parsed.page_sizes,
            elements=parsed.elements,
            failed=parsed.failed,
            ocr=parsed.ocr,
            chunks=len(chunks),
            stems=dict(_counted(chunks)),
            fingerprint=self._parts.fingerprint,
        )

    def _flip(self, reading: Reading, kept: set[str], state: str, *, by_meaning: bool) -> None:
        self._go_on()
        seconds = time.perf_counter() - self._began
        unused = self._parts.ledger.flip(
            self._record.id, reading, state=state, seconds=seconds, by_meaning=by_meaning, sha256=self._sha256
        )
        old = [made.id for page in self._stored() for made in page if made.id not in kept]
        self._parts.store.delete(self._tenant, old)
        if unused:
            self._parts.originals.drop(unused)

    def _stored(self) -> Iterator[list[Chunk]]:
        """The chunks of the document as they stand in the store, a page of them at a time."""
        last: str | None = None
        while page := self._parts.store.chunks(self._tenant, self._record.id, after=last, limit=_PAGE):
            yield page
            last = page[-1].id

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


def _counted(chunks: Iterable[Chunk]) -> Counter[str]:
    return count_stems(stems(made.searchable_text) for made in chunks)
