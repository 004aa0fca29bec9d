"""How a chunk stands in Weaviate: its properties, their indexes, and the way there and back."""

from __future__ import annotations

import re
from typing import Any

from pydantic import TypeAdapter
from weaviate import WeaviateClient
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.exceptions import WeaviateBaseError

from rag_core.errors import StoreError
from rag_core.llm.reading.languages import index_terms
from rag_core.types import Chunk, Place

TEXT, STEMS = "text", "stems"
VECTOR, IMAGE_VECTOR = "text", "image"

_places: TypeAdapter[tuple[Place, ...]] = TypeAdapter(tuple[Place, ...])


def _kept(name: str, data_type: DataType = DataType.TEXT) -> Property:
    """A property that is only given back."""
    searchable = False if data_type in (DataType.TEXT, DataType.TEXT_ARRAY) else None
    return Property(name=name, data_type=data_type, index_filterable=False, index_searchable=searchable)


def _exact(name: str) -> Property:
    """A property that is matched as a whole."""
    return Property(
        name=name,
        data_type=DataType.TEXT,
        tokenization=Tokenization.FIELD,
        index_filterable=True,
        index_searchable=False,
    )


_PROPERTIES = [
    Property(name=TEXT, data_type=DataType.TEXT, index_filterable=False, index_searchable=True),
    # Weaviate does not stem. The stems of the text with its headings and caption stand here, a token each, by its
    # language.
    Property(
        name=STEMS,
        data_type=DataType.TEXT,
        tokenization=Tokenization.WHITESPACE,
        index_filterable=False,
        index_searchable=True,
    ),
    _exact("document"),
    _exact("kind"),
    Property(name="pages", data_type=DataType.INT_ARRAY, index_filterable=True),
    Property(name="order", data_type=DataType.INT, index_filterable=True, index_range_filters=True),
    _kept("name"),
    _kept("section", DataType.TEXT_ARRAY),
    _kept("caption"),
    _kept("nearby"),
    _kept("places"),
    _kept("html"),
    _kept("image"),
    _exact("source"),
]
RETURNED = [item.name for item in _PROPERTIES if item.name not in (STEMS, "pages")]
"""What a chunk is made of again; the others only serve the search."""


def collection_name(fingerprint: str) -> str:
    """Give the name of an index's collection.

    Raises:
        StoreError: The fingerprint holds more than letters, digits and underscores.
    """
    if not re.fullmatch(r"\w{1,200}", fingerprint, re.ASCII):
        raise StoreError(f"The fingerprint {fingerprint!r} must be letters, digits and underscores.")
    return f"Chunks_{fingerprint}"


def ensure_collection(client: WeaviateClient, name: str, *, images: bool) -> None:
    """Make the collection unless it is there, and what properties it lacks; two processes may do so at once."""
    if client.collections.exists(name):
        _add_missing(client, name)
        return
    vectors = [_hnsw(VECTOR), _hnsw(IMAGE_VECTOR)] if images else [_hnsw(VECTOR)]
    try:
        client.collections.create(
            name,
            properties=_PROPERTIES,
            vector_config=vectors,
            multi_tenancy_config=Configure.multi_tenancy(enabled=True),
        )
    except WeaviateBaseError:
        if not client.collections.exists(name):
            raise


def _add_missing(client: WeaviateClient, name: str) -> None:
    """Add the properties that came after the collection was made: a search that asks for one it lacks fails."""
    config = client.collections.use(name).config
    there = {item.name for item in config.get().properties}
    for missing in (item for item in _PROPERTIES if item.name not in there):
        try:
            config.add_property(missing)
        except WeaviateBaseError:
            if missing.name not in {item.name for item in config.get().properties}:
                raise


def _hnsw(name: str) -> Any:
    index = Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE)
    return Configure.Vectors.self_provided(name=name, vector_index_config=index)


def to_properties(chunk: Chunk) -> dict[str, Any]:
    """Give a chunk's properties; what is empty is left out."""
    properties = {
        TEXT: chunk.text,
        STEMS: " ".join(index_terms(chunk.searchable_text)),
        "document": chunk.document,
        "kind": chunk.kind,
        "pages": [place.page for place in chunk.places],
        "order": chunk.order,
        "name": chunk.name,
        "section": list(chunk.section),
        "caption": chunk.caption,
        "nearby": chunk.nearby,
        "places": _places.dump_json(chunk.places).decode() if chunk.places else "",
        "html": chunk.html,
        "image": chunk.image,
        "source": chunk.source,
    }
    return {name: value for name, value in properties.items() if value not in (None, "", [])}


def to_chunk(chunk_id: str, properties: dict[str, Any]) -> Chunk:
    """Make the chunk again from the properties named in `RETURNED`."""
    given = {name: value for name, value in properties.items() if value is not None}
    if places := given.get("places"):
        given["places"] = _places.validate_json(places)
    return Chunk.model_validate({"id": chunk_id, "text": ""} | given)
