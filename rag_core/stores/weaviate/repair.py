"""Finds what an unclean stop left out of the vector index, and puts it back.

An object that a search for its own vector does not find is deleted and written again: nothing less makes Weaviate
index it. About 2 ms for each object that is verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any, NamedTuple

import httpx
from pydantic import Field
from weaviate import WeaviateClient
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery

from rag_core.errors import StoreError
from rag_core.stores.weaviate.binary import Say
from rag_core.stores.weaviate.journal import Journal, Write
from rag_core.stores.weaviate.server import Address
from rag_core.types import Value

BATCH = 200
THREADS = 4
ROUNDS = 3
SAME = 1e-5
"""A cosine distance up to which two vectors count as one: float32 rounding of the same vector stays below it."""
WIDER = (3, 30, 300, 3_000)
"""How many neighbours are looked at, as long as all of them are the same vector (boilerplate repeats)."""


class Repair(Value):
    """What a repair did."""

    verified: int = 0
    rewritten: int = 0
    unfound: int = Field(default=0, description="Still not found by their own vector; found by their words.")


def repair(client: WeaviateClient, address: Address, journal: Journal, say: Say) -> Repair:
    """Verify the journal's suspects by their own vectors; rewrite what the vector index has lost.

    Raises:
        StoreError: An object could not be written again; it is kept in the journal, and the next repair goes on.
    """
    _put_back(client, journal)
    suspects = journal.suspects()
    if not suspects:
        return Repair()
    say(f"Weaviate did not stop in order: verifying its last {len(suspects)} writes")
    rewritten = unfound = 0
    for (collection, tenant), group in groupby(suspects, key=lambda suspect: suspect[0][:2]):
        writes = dict(group)
        if _is_there(client, collection, tenant):
            place = _Place(client, address, journal, collection, tenant)
            for batch in _batches(list(writes)):
                lost = place.lost(batch, {write.id for write in batch if writes[write]})
                rewritten += len(lost)
                unfound += place.rewrite(lost)
        journal.forget(writes)
    say(f"Verified {len(suspects)} writes; {rewritten} were written again, {unfound} are still not found by meaning")
    return Repair(verified=len(suspects), rewritten=rewritten, unfound=unfound)


class _Stored(NamedTuple):
    """An object as it stands in Weaviate."""

    id: str
    properties: dict[str, Any]
    vectors: dict[str, Any]


class _Place:
    """One tenant of one collection under repair."""

    def __init__(self, client: WeaviateClient, address: Address, journal: Journal, collection: str, tenant: str):
        self._client, self._address, self._journal = client, address, journal
        self._collection, self._tenant = collection, tenant
        self._chunks = client.collections.use(collection).with_tenant(tenant)

    def lost(self, batch: list[Write], acknowledged: set[str]) -> list[_Stored]:
        """Give the stored objects that some index does not know.

        What was never acknowledged counts as such whatever is found of it: the log of each index ends where it ends,
        and writing an object that stands there unchanged would not complete them.
        """
        stored = self._stored([write.id for write in batch if write.id in acknowledged])
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(self._finds_itself, stored))
            known = {item.id for item in stored}
            unknown = pool.map(self._read, [write.id for write in batch if write.id not in known])
            half_written = [item for item in unknown if item is not None]
        return [item for item, is_found in zip(stored, found, strict=True) if not is_found] + half_written

    def rewrite(self, lost: list[_Stored]) -> int:
        """Delete and write again until each is found; give how many are not in the end."""
        for _ in range(ROUNDS):
            if not lost:
                break
            self._journal.rescue(
                (
                    Write(self._collection, self._tenant, item.id),
                    json.dumps({"properties": item.properties, "vector": item.vectors}),
                )
                for item in lost
            )
            for item in lost:
                self._chunks.data.delete_by_id(item.id)
            _put_back(self._client, self._journal)
            lost = [item for item in lost if not self._finds_itself(item)]
        return len(lost)

    def _stored(self, ids: list[str]) -> list[_Stored]:
        if not ids:
            return []
        found = self._chunks.query.fetch_objects(
            filters=Filter.by_id().contains_any(ids), limit=len(ids), include_vector=True
        )
        return [_Stored(str(item.uuid), dict(item.properties), dict(item.vector)) for item in found.objects]

    def _read(self, object_id: str) -> _Stored | None:
        """Read an object from where it stands: the client's own reads go by the index of ids, which may lack it."""
        reply = httpx.get(
            f"{self._address.url}/v1/objects/{self._collection}/{object_id}",
            params={"tenant": self._tenant, "include": "vector"},
            headers=self._address.headers,
            timeout=30,
            trust_env=False,
        )
        if reply.status_code == httpx.codes.NOT_FOUND:
            return None
        found = reply.raise_for_status().json()
        return _Stored(object_id, found["properties"], found.get("vectors") or {})

    def _finds_itself(self, item: _Stored) -> bool:
        return all(self._found(item.id, name, vector) for name, vector in item.vectors.items() if vector)

    def _found(self, object_id: str, name: str, vector: list[float]) -> bool:
        for limit in WIDER:
            near = self._chunks.query.near_vector(
                vector,
                target_vector=name,
                limit=limit,
                return_properties=[],
                return_metadata=MetadataQuery(distance=True),
            ).objects
            if any(str(item.uuid) == object_id for item in near):
                return True
            if len(near) < limit or (near[-1].metadata.distance or 0) > SAME:
                return False
        return True  # Thousands stand where it stands: no search could tell it from them.


def _put_back(client: WeaviateClient, journal: Journal) -> None:
    """Write the rescued objects, also those of a repair that was itself cut short."""
    for (collection, tenant), group in groupby(journal.rescued(), key=lambda item: item[0][:2]):
        items = list(group)
        if _is_there(client, collection, tenant):
            chunks = client.collections.use(collection).with_tenant(tenant)
            objects = [DataObject(uuid=write.id, **json.loads(text)) for write, text in items]
            result = chunks.data.insert_many(objects)
            if result.has_errors:
                reason = next(iter(result.errors.values())).message[:300]
                raise StoreError(f"{len(result.errors)} chunks could not be written again after a crash: {reason}")
        journal.returned(write for write, _ in items)


def _is_there(client: WeaviateClient, collection: str, tenant: str) -> bool:
    return client.collections.exists(collection) and client.collections.use(collection).tenants.exists(tenant)


def _batches(writes: list[Write]) -> Iterator[list[Write]]:
    for start in range(0, len(writes), BATCH):
        yield writes[start : start + BATCH]
