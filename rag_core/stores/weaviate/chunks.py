"""The chunks of all collections in Weaviate: written, searched by words and by meaning, paged, counted, deleted.

One Weaviate collection an index fingerprint, one tenant a collection of the user's. A chunk may be written without its
vector, and is found by its words at once; written again with it, it is found by both.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from weaviate import WeaviateClient
from weaviate import exceptions as vendor
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, HybridFusion, MetadataQuery, Sort
from weaviate.classes.tenants import Tenant

from rag_core.errors import StoreError, UnknownCollection
from rag_core.llm.reading.languages import index_terms
from rag_core.llm.reading.words import stems, words
from rag_core.settings import Settings
from rag_core.stores.weaviate.binary import Say
from rag_core.stores.weaviate.connection import Connection, reason_of
from rag_core.stores.weaviate.journal import Write
from rag_core.stores.weaviate.repair import Repair
from rag_core.stores.weaviate.schema import (
    IMAGE_VECTOR,
    RETURNED,
    STEMS,
    TEXT,
    VECTOR,
    collection_name,
    ensure_collection,
    to_chunk,
    to_properties,
)
from rag_core.types import Chunk, Hit, SearchFilter, Value

BATCH = 200
WRITERS = 2
"""Batches on the way at once: the server indexes one while the next is made and sent."""
WORDS = [f"{TEXT}^1", f"{STEMS}^2"]
"""BM25's weights. nDCG@10 on 400 training claims of SciFact: text alone 0.671, stems alone 0.698, 1:1 0.698, 1:2 0.700.
The text stays in for what stems lose: 'US' and 'IT' are stop words there."""
ROOM_NEEDED = 256 * 2**20
"""Free bytes below which nothing more is written: Weaviate must still be able to merge its files."""
EVERYWHERE = SearchFilter()
NO_IMAGES: Mapping[str, np.ndarray] = MappingProxyType({})
RANK_CONSTANT = 60
RANKED_DEPTH = 100

_ORIGINAL = re.compile(r"Result Set (keyword|vector)\S* Document \S+ original score ([^\s,]+)")
_SIDES = {"keyword": "lexical", "vector": "dense"}
_PAGE = 1_000
_HANDLES = 64
_Found = TypeVar("_Found")

log = logging.getLogger(__name__)


class StoreHealth(Value):
    """How the store is."""

    version: str
    address: str
    managed: bool
    ready: bool
    objects: int
    resident_mb: float | None
    log: str | None


class ChunkStore:
    """The chunks of one index. Safe to use from many threads.

    Every call may raise StoreError (`retry` says whether later helps), and UnknownCollection where the tenant is none.
    """

    def __init__(self, connection: Connection, collection: str, *, images: bool = False) -> None:
        self._connection, self._collection, self._images = connection, collection, images
        # The vendor's client takes 0.4 ms to make one.
        self._handle: Callable[[WeaviateClient, str], Any] = lru_cache(_HANDLES)(
            lambda client, tenant: client.collections.use(collection).with_tenant(tenant)
        )

    @classmethod
    def open(cls, settings: Settings, fingerprint: str, *, say: Say = log.info, images: bool = False) -> ChunkStore:
        """Start or attach to the server, repair what an unclean stop cost, and make the collection if need be.

        Args:
            images: Whether chunks have image vectors beside those of their text; a fingerprint is for one of both.

        Raises:
            ArtefactError: There is no server binary, and none could be had.
            StoreError: The server does not start, does not answer, or refuses the key.
        """
        collection = collection_name(fingerprint)
        connection = Connection(settings, say)
        store = cls(connection, collection, images=images)
        try:
            store._call(lambda client: ensure_collection(client, collection, images=images))
        except BaseException:
            connection.close()
            raise
        return store

    def close(self) -> None:
        """Close; the last one out stops a server that was started here."""
        self._connection.close()

    @property
    def last_repair(self) -> Repair:
        """What had to be repaired at the last connect."""
        return self._connection.last_repair

    def health(self) -> StoreHealth:
        """Ask the server how it is."""
        server = self._connection.server
        meta = self._call(lambda client: client.get_meta())
        return StoreHealth(
            version=meta["version"],
            address=self._connection.url,
            managed=server is not None,
            ready=self._call(lambda client: client.is_ready()),
            objects=sum(self.count(tenant) for tenant in self.tenants()),
            resident_mb=server.resident_mb if server else None,
            log=str(server.log) if server else None,
        )

    # Tenants

    def tenants(self) -> list[str]:
        return sorted(self._call(lambda client: client.collections.use(self._collection).tenants.get()))

    def ensure_tenant(self, tenant: str) -> None:
        """Make the tenant unless it is there. Letters, digits, '_' and '-'; at most 64 of them."""
        self._call(lambda client: client.collections.use(self._collection).tenants.create(Tenant(name=tenant)))

    def drop_tenant(self, tenant: str) -> None:
        """Remove the tenant and all its chunks; one that is not there is no error."""
        self._call(lambda client: client.collections.use(self._collection).tenants.remove(tenant))

    # Writing

    def put(
        self,
        tenant: str,
        chunks: Sequence[Chunk],
        vectors: np.ndarray | None = None,
        *,
        images: Mapping[str, np.ndarray] = NO_IMAGES,
    ) -> None:
        """Write chunks, over those with the same ids.

        Args:
            vectors: (n_chunks, dim) float32, in the order of the chunks. Without, a chunk that stands there with the
                same text keeps its vector.
            images: (dim,) float32 by chunk id, of those chunks that have a picture. A chunk that stands there with
                the same picture keeps its own.

        Raises:
            StoreError: Some were not stored; the message says how many, which and why. The others are stored.
        """
        if vectors is not None and (vectors.ndim != 2 or len(vectors) != len(chunks)):
            raise StoreError(f"{len(chunks)} chunks need as many vectors; these have the shape {vectors.shape}.")
        slices = [slice(start, start + BATCH) for start in range(0, len(chunks), BATCH)]
        with ThreadPoolExecutor(WRITERS) as pool:
            failures = list(
                pool.map(
                    lambda s: self._put_batch(tenant, chunks[s], None if vectors is None else vectors[s], images),
                    slices,
                )
            )
        failed = {chunk_id: reason for batch in failures for chunk_id, reason in batch.items()}
        if failed:
            shown = ", ".join(list(failed)[:3]) + (", ..." if len(failed) > 3 else "")
            reason = next(iter(failed.values()))
            raise StoreError(f"{len(failed)} of {len(chunks)} chunks were not stored ({shown}): {reason}")

    def _put_batch(
        self, tenant: str, chunks: Sequence[Chunk], vectors: np.ndarray | None, images: Mapping[str, np.ndarray]
    ) -> dict[str, str]:
        """Write a batch; give the reason of each chunk that failed."""
        self._check_room()
        self._connection.restart_if_due()
        ids = [chunk.id for chunk in chunks]
        known = self._still_right(tenant, chunks) if vectors is None else dict(zip(ids, vectors, strict=True))
        seen = {**self._still_seen(tenant, chunks), **images}
        objects = [
            DataObject(
                uuid=chunk.id,
                properties=to_properties(chunk),
                vector={
                    name: vectors_by_id[chunk.id].tolist()
                    for name, vectors_by_id in ((VECTOR, known), (IMAGE_VECTOR, seen))
                    if chunk.id in vectors_by_id
                }
                or None,
            )
            for chunk in chunks
        ]
        writes = [Write(self._collection, tenant, chunk_id) for chunk_id in ids]
        journal = self._connection.journal
        if journal:
            journal.begin(writes)
        errors = self._on(tenant, lambda handle: _insert(handle, objects))
        if any(_is_read_only(reason) for reason in errors.values()):
            self._make_writable(tenant)
            errors = self._on(tenant, lambda handle: _insert(handle, objects))
        if any(_is_full(reason) for reason in errors.values()):
            raise self._disk_full(next(iter(errors.values())))
        if journal:
            journal.settle(writes)
        return {ids[index]: reason for index, reason in errors.items()}

    def _still_right(self, tenant: str, chunks: Sequence[Chunk]) -> dict[str, np.ndarray]:
        """Give the vectors of those chunks whose text stands there as it is now."""
        vectors = self.vectors(tenant, [chunk.id for chunk in chunks])
        stored = {chunk.id: chunk.searchable_text for chunk in self.get(tenant, list(vectors))}
        return {chunk.id: vectors[chunk.id] for chunk in chunks if stored.get(chunk.id) == chunk.searchable_text}

    def _still_seen(self, tenant: str, chunks: Sequence[Chunk]) -> dict[str, np.ndarray]:
        """Give the image vectors of those chunks whose picture stands there as it is now."""
        images = self.image_vectors(tenant, [chunk.id for chunk in chunks if chunk.image])
        stored = {chunk.id: chunk.image for chunk in self.get(tenant, list(images))}
        return {chunk.id: images[chunk.id] for chunk in chunks if chunk.image and stored.get(chunk.id) == chunk.image}

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Remove chunks by id; one that is not there is no error."""
        for batch in _batches(ids):
            self._delete_where(tenant, Filter.by_id().contains_any(batch))

    def delete_document(self, tenant: str, document: str) -> int:
        """Remove a document's chunks; give how many there were."""
        return self._delete_where(tenant, Filter.by_property("document").equal(document))

    def _delete_where(self, tenant: str, where: Any) -> int:
        """Delete all that matches: one call stops at the server's limit of 10,000."""
        deleted = 0
        while True:
            result = self._on(tenant, lambda handle: handle.data.delete_many(where=where))
            deleted += result.successful
            if result.failed and self._is_marked_read_only(tenant):
                self._make_writable(tenant)
            elif result.failed:
                raise StoreError(f"{result.failed} chunks could not be deleted; try again.", retry=True)
            elif not result.matches:
                return deleted

    # Reading

    def get(self, tenant: str, ids: Sequence[str]) -> list[Chunk]:
        """Give the chunks in the order asked; those that are not there are left out."""
        found = {
            str(item.uuid): to_chunk(str(item.uuid), item.properties) for item in self._by_ids(tenant, ids, RETURNED)
        }
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    def vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Give the text vectors, (dim,) float32 each, of those chunks that have one."""
        return self._vectors(tenant, ids, VECTOR)

    def image_vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Give the image vectors, (dim,) float32 each, of those chunks that have one."""
        return self._vectors(tenant, ids, IMAGE_VECTOR) if self._images else {}

    def _vectors(self, tenant: str, ids: Sequence[str], name: str) -> dict[str, np.ndarray]:
        return {
            str(item.uuid): np.asarray(item.vector[name], dtype=np.float32)
            for item in self._by_ids(tenant, ids, [], vector=[name])
            if item.vector.get(name)
        }

    def _by_ids(
        self, tenant: str, ids: Sequence[str], properties: list[str], vector: list[str] | bool = False
    ) -> list[Any]:
        found: list[Any] = []
        for batch in _batches(list(dict.fromkeys(ids))):
            where = Filter.by_id().contains_any(batch)
            found += self._on(
                tenant,
                lambda handle, where=where, batch=batch: handle.query.fetch_objects(
                    filters=where, limit=len(batch), return_properties=properties, include_vector=vector
                ),
            ).objects
        return found

    def chunks(
        self, tenant: str, document: str | None = None, after: str | None = None, limit: int = 100
    ) -> list[Chunk]:
        """Give the next page of chunks: a document's in its order, a tenant's by id.

        Args:
            after: Id of the last chunk of the page before.
        """
        if document is None:
            page = self._on(
                tenant,
                lambda handle: handle.query.fetch_objects(after=after, limit=limit, return_properties=RETURNED),
            )
            return [to_chunk(str(item.uuid), item.properties) for item in page.objects]
        where, skipped = Filter.by_property("document").equal(document), 0
        if after is not None:
            last = self.get(tenant, [after])
            if not last:
                raise StoreError(f"The chunk {after} is gone since the last page: begin again.", retry=True)
            # Those in the same place come by id; the ones up to the last are dropped here.
            skipped = self._count(tenant, where & Filter.by_property("order").equal(last[0].order))
            where &= Filter.by_property("order").greater_or_equal(last[0].order)
        page = self._on(
            tenant,
            lambda handle: handle.query.fetch_objects(
                filters=where,
                sort=Sort.by_property("order").by_id(),
                limit=limit + skipped,
                return_properties=RETURNED,
            ),
        )
        found = [to_chunk(str(item.uuid), item.properties) for item in page.objects]
        if after is not None:
            found = found[[chunk.id for chunk in found].index(after) + 1 :]
        return found[:limit]

    def document(self, tenant: str, document: str) -> Iterator[Chunk]:
        """All chunks of a document, in its order."""
        last: str | None = None
        while page := self.chunks(tenant, document, after=last, limit=_PAGE):
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1].id

    def count(self, tenant: str, document: str | None = None) -> int:
        """Count a tenant's chunks, or a document's."""
        return self._count(tenant, None if document is None else Filter.by_property("document").equal(document))

    def _count(self, tenant: str, where: Any) -> int:
        return self._on(tenant, lambda handle: handle.aggregate.over_all(filters=where, total_count=True)).total_count

    # Searching

    def near_vector(
        self, tenant: str, vector: np.ndarray, *, limit: int, where: SearchFilter = EVERYWHERE
    ) -> list[Hit]:
        """Search by meaning; the score is the cosine similarity, also as 'dense'."""
        return self._nearest(tenant, vector, limit, where, VECTOR, "dense")

    def near_image(self, tenant: str, vector: np.ndarray, *, limit: int, where: SearchFilter = EVERYWHERE) -> list[Hit]:
        """Search figures by what they show; the score is the cosine similarity, also as 'image'."""
        return self._nearest(tenant, vector, limit, where, IMAGE_VECTOR, "image") if self._images else []

    def _nearest(
        self, tenant: str, vector: np.ndarray, limit: int, where: SearchFilter, name: str, side: str
    ) -> list[Hit]:
        found = self._near(tenant, vector, limit, where, RETURNED, name)
        return _ranked(
            Hit(chunk=to_chunk(str(item.uuid), item.properties), score=score, scores={side: score})
            for item in found.objects
            for score in (1 - item.metadata.distance,)
        )

    def bm25(self, tenant: str, query: str, *, limit: int, where: SearchFilter = EVERYWHERE) -> list[Hit]:
        """Search by words and their stems; the score is BM25's, also as 'lexical'."""
        found = self._words(tenant, query, limit, where, RETURNED)
        return _ranked(
            Hit(chunk=to_chunk(str(item.uuid), item.properties), score=score, scores={"lexical": score})
            for item in found
            for score in (item.metadata.score,)
        )

    def hybrid(
        self,
        tenant: str,
        query: str,
        vector: np.ndarray,
        *,
        alpha: float,
        limit: int,
        fusion: Literal["relative", "ranked"] = "relative",
        where: SearchFilter = EVERYWHERE,
    ) -> list[Hit]:
        """Search by words and meaning together.

        Args:
            vector: (dim,) float32.
            alpha: 0 ranks exactly as `bm25` does, 1 exactly as `near_vector`.
            fusion: 'relative' adds the sides' scores, each scaled to 0..1 over its hits; 'ranked' adds reciprocal
                ranks (Cormack et al. 2009, https://doi.org/10.1145/1571941.1572114).

        Returns:
            At most `limit` hits, the best first; equal ones by id. The score is the fused one, in 0..1.
        """
        text = _query_text(query)
        if alpha == 0:
            return _one_sided(self.bm25(tenant, query, limit=limit, where=where), fusion)
        if alpha == 1 or not text:
            return _one_sided(self.near_vector(tenant, vector, limit=limit, where=where), fusion)
        if fusion == "ranked":
            return self._fused_by_rank(tenant, text, vector, alpha, limit, where)
        found = self._on(
            tenant,
            lambda handle: handle.query.hybrid(
                text,
                vector=vector.tolist(),
                target_vector=VECTOR,
                alpha=alpha,
                limit=limit,
                fusion_type=HybridFusion.RELATIVE_SCORE,
                query_properties=WORDS,
                filters=_filter(where),
                return_metadata=MetadataQuery(score=True, explain_score=True),
                return_properties=RETURNED,
            ),
        )
        return _ranked(
            Hit(
                chunk=to_chunk(str(item.uuid), item.properties),
                score=item.metadata.score,
                scores=_sides(item.metadata.explain_score) | {"fused": item.metadata.score},
            )
            for item in found.objects
        )

    def _near(
        self,
        tenant: str,
        vector: np.ndarray,
        limit: int,
        where: SearchFilter,
        properties: list[str],
        name: str = VECTOR,
    ) -> Any:
        return self._on(
            tenant,
            lambda handle: handle.query.near_vector(
                vector.tolist(),
                target_vector=name,
                limit=limit,
                filters=_filter(where),
                return_metadata=MetadataQuery(distance=True),
                return_properties=properties,
            ),
        )

    def _words(self, tenant: str, query: str, limit: int, where: SearchFilter, properties: list[str]) -> list[Any]:
        text = _query_text(query)
        if not text:
            return []
        return self._on(
            tenant,
            lambda handle: handle.query.bm25(
                text,
                query_properties=WORDS,
                limit=limit,
                filters=_filter(where),
                return_metadata=MetadataQuery(score=True),
                return_properties=properties,
            ),
        ).objects

    def _fused_by_rank(
        self, tenant: str, text: str, vector: np.ndarray, alpha: float, limit: int, where: SearchFilter
    ) -> list[Hit]:
        """Fuse here: the server's own ranked fusion does not tell the scores that it ranked by."""
        depth = max(limit, RANKED_DEPTH)
        by_words = self._words(tenant, text, depth, where, [])
        by_vector = self._near(tenant, vector, depth, where, []).objects
        sides = {
            "lexical": {str(item.uuid): item.metadata.score for item in by_words},
            "dense": {str(item.uuid): 1 - item.metadata.distance for item in by_vector},
        }
        scores = fuse_by_rank(sides, {"lexical": 1 - alpha, "dense": alpha})
        best = sorted(scores, key=lambda chunk_id: _by_score(scores[chunk_id]["fused"], scores[chunk_id], chunk_id))
        return [
            Hit(chunk=chunk, score=scores[chunk.id]["fused"], scores=scores[chunk.id])
            for chunk in self.get(tenant, best[:limit])
        ]

    # Calls

    def _call(self, work: Callable[[WeaviateClient], _Found]) -> _Found:
        try:
            return self._connection.call(work)
        except vendor.WeaviateBaseError as error:
            reason = reason_of(error)
            if _is_full(reason):
                raise self._disk_full(reason) from error
            raise StoreError(f"Weaviate refused: {reason}") from error

    def _on(self, tenant: str, work: Callable[[Any], _Found]) -> _Found:
        """Call with the tenant's chunks in hand."""
        try:
            return self._connection.call(lambda client: work(self._handle(client, tenant)))
        except vendor.WeaviateBaseError as error:
            reason = reason_of(error)
            if "tenant not found" in reason:
                raise UnknownCollection(tenant, self.tenants()) from error
            if _is_full(reason):
                raise self._disk_full(reason) from error
            raise StoreError(f"Weaviate refused: {reason}") from error

    # Disk

    def _check_room(self) -> None:
        server = self._connection.server
        if server and shutil.disk_usage(server.home).free < ROOM_NEEDED:
            raise self._disk_full(f"less than {ROOM_NEEDED // 2**20} MB are free")

    def _disk_full(self, reason: str) -> StoreError:
        if "no space left" in reason:
            self._connection.meet_full_disk()
        server = self._connection.server
        where = server.home if server else self._connection.url
        return StoreError(
            f"The disk under {where} is full ({reason}): free some space and try again; nothing stored is lost.",
            retry=True,
        )

    def _is_marked_read_only(self, tenant: str) -> bool:
        shards = self._call(lambda client: client.collections.use(self._collection).config.get_shards())
        return any(shard.name == tenant and shard.status == "READONLY" for shard in shards)

    def _make_writable(self, tenant: str) -> None:
        """Weaviate stops writing to a shard whose disk was full, and goes on only when told to."""
        self._call(
            lambda client: client.collections.use(self._collection).config.update_shards("READY", shard_names=tenant)
        )


def _insert(handle: Any, objects: list[Any]) -> dict[int, str]:
    """Insert; give the reason of each object that failed, by its position."""
    try:
        result = handle.data.insert_many(objects)
    except vendor.WeaviateInsertManyAllFailedError as error:
        if "tenant not found" in str(error):
            raise
        return dict.fromkeys(range(len(objects)), reason_of(error))
    return {index: reason_of(error) for index, error in result.errors.items()}


def _is_read_only(reason: str) -> bool:
    return "read-only" in reason or "READONLY" in reason


def _is_full(reason: str) -> bool:
    return "no space left" in reason or _is_read_only(reason)


def _query_text(question: str) -> str:
    """The question's words for the text, its stems for the stems: Weaviate takes one query for all properties.

    A question is short: one common word may tell its language, and what it is in English is searched for too.
    """
    return " ".join(dict.fromkeys([*words(question), *stems(question), *index_terms(question, least=1)]))


def _sides(explained: str) -> dict[str, float]:
    """Read the score on each side out of Weaviate's explanation of a fused one."""
    return {_SIDES[side]: float(score) for side, score in _ORIGINAL.findall(explained.replace(":", ""))}


def fuse_by_rank(sides: dict[str, dict[str, float]], weights: dict[str, float]) -> dict[str, dict[str, float]]:
    """Fuse ranked lists by reciprocal rank.

    Args:
        sides: Score by id, by the side's name.
        weights: By the side's name; they sum to 1.

    Returns:
        Each id's scores on the sides that found it, and 'fused' in 0..1: 1 is the first place on every side.
    """
    scores: dict[str, dict[str, float]] = {}
    for side, found in sides.items():
        order = sorted(found, key=lambda chunk_id: (-found[chunk_id], chunk_id))
        for rank, chunk_id in enumerate(order):
            own = scores.setdefault(chunk_id, {"fused": 0.0})
            own[side] = found[chunk_id]
            own["fused"] += weights[side] * RANK_CONSTANT / (RANK_CONSTANT + rank)
    return scores


def _one_sided(hits: list[Hit], fusion: str) -> list[Hit]:
    """Give one side's hits with the score that fusing them with nothing gives."""
    low, high = (hits[-1].score, hits[0].score) if hits else (0, 0)
    fused = [(hit.score - low) / (high - low) if high > low else 1.0 for hit in hits]
    if fusion == "ranked":
        fused = [RANK_CONSTANT / (RANK_CONSTANT + rank) for rank in range(len(hits))]
    return [
        hit.model_copy(update={"score": score, "scores": hit.scores | {"fused": score}})
        for hit, score in zip(hits, fused, strict=True)
    ]


def _ranked(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: _by_score(hit.score, hit.scores, hit.chunk.id))


def _by_score(score: float, scores: dict[str, float], chunk_id: str) -> tuple[float, float, float, str]:
    """Best first; equal ones by id, so that the order does not hang on which thread of the server was first."""
    return -score, -scores.get("dense", 0), -scores.get("lexical", 0), chunk_id


def _filter(where: SearchFilter) -> Any:
    fields: dict[str, Sequence[Any]] = {"document": where.documents, "kind": where.kinds, "pages": where.pages}
    narrowed = [Filter.by_property(name).contains_any(list(values)) for name, values in fields.items() if values]
    return Filter.all_of(narrowed) if narrowed else None


def _batches(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), 1_000):
        yield list(ids[start : start + 1_000])
