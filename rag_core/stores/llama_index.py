"""Our chunks as a LlamaIndex vector store, so that your own LlamaIndex code reads and writes the same corpus.

    index = VectorStoreIndex.from_vector_store(RagscopeVectorStore(store=store, tenant="demo"), embed_model=...)
    index.as_retriever(vector_store_query_mode="hybrid", alpha=0.3, similarity_top_k=8)

The embedding model must be the one that the corpus was indexed with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from llama_index.core.bridge.pydantic import ConfigDict
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from rag_core.errors import StoreError
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Chunk, ChunkKind, Hit, SearchFilter

_FIELDS = {"document": "documents", "kind": "kinds", "page": "pages"}
_DEFAULT_ALPHA = 0.5


class RagscopeVectorStore(BasePydanticVectorStore):
    """One tenant of a chunk store.

    Modes: default (by vector), hybrid, text search; filters: `==` and `in` on document, kind and page, joined by and.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    stores_text: bool = True
    store: ChunkStore
    tenant: str

    @property
    def client(self) -> ChunkStore:
        return self.store

    @classmethod
    def class_name(cls) -> str:
        return "RagscopeVectorStore"

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Write nodes with their embeddings; their ids must be UUIDs, as LlamaIndex's own are."""
        chunks = [to_chunk(node, order) for order, node in enumerate(nodes)]
        self.store.put(self.tenant, chunks, np.asarray([node.get_embedding() for node in nodes], dtype=np.float32))
        return [chunk.id for chunk in chunks]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Remove a document's nodes."""
        self.store.delete_document(self.tenant, ref_doc_id)

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Remove nodes by id."""
        if filters is not None:
            raise StoreError("Nodes are deleted by id or by document here: leave the filters out.")
        self.store.delete(self.tenant, node_ids or [])

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Give nodes by id, in the order asked."""
        if filters is not None or node_ids is None:
            raise StoreError("Nodes are given by id here: name the ids, and leave the filters out.")
        return [to_node(chunk) for chunk in self.store.get(self.tenant, node_ids)]

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Search by vector, by words, or by both.

        Raises:
            StoreError: The mode or a filter is none of those named above, or the vector or the words are missing.
        """
        where = _where(query)
        hits = self._search(query, where) if where is not None else []
        return VectorStoreQueryResult(
            nodes=[to_node(hit.chunk) for hit in hits],
            similarities=[hit.score for hit in hits],
            ids=[hit.chunk.id for hit in hits],
        )

    def _search(self, query: VectorStoreQuery, where: SearchFilter) -> list[Hit]:
        words, limit = query.query_str or "", query.similarity_top_k
        if query.mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE):
            return self.store.bm25(self.tenant, words, limit=limit, where=where)
        if query.query_embedding is None:
            raise StoreError(f"A query in the mode {query.mode.value!r} needs an embedding.")
        vector = np.asarray(query.query_embedding, dtype=np.float32)
        if query.mode == VectorStoreQueryMode.DEFAULT:
            return self.store.near_vector(self.tenant, vector, limit=limit, where=where)
        if query.mode == VectorStoreQueryMode.HYBRID:
            alpha = _DEFAULT_ALPHA if query.alpha is None else query.alpha
            limit = query.hybrid_top_k or limit
            return self.store.hybrid(self.tenant, words, vector, alpha=alpha, limit=limit, where=where)
        raise StoreError(f"The mode {query.mode.value!r} is none of: default, hybrid, text_search.")


def to_chunk(node: BaseNode, order: int) -> Chunk:
    """Make a chunk of a node: its document is the node's source, its kind the metadata's, else 'text'."""
    document = node.ref_doc_id or node.node_id
    kind: ChunkKind = node.metadata["kind"] if node.metadata.get("kind") in get_args(ChunkKind) else "text"
    return Chunk(
        id=node.node_id,
        document=document,
        name=str(node.metadata.get("name") or node.metadata.get("file_name") or document),
        kind=kind,
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        order=order,
    )


def to_node(chunk: Chunk) -> TextNode:
    """Make a node of a chunk, with what cites it as metadata."""
    metadata = {
        "document": chunk.document,
        "name": chunk.name,
        "kind": chunk.kind,
        "page": chunk.page,
        "section": " › ".join(chunk.section),
        "caption": chunk.caption,
    }
    return TextNode(
        id_=chunk.id,
        text=chunk.text,
        metadata={name: value for name, value in metadata.items() if value not in (None, "")},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.document)},
    )


def _where(query: VectorStoreQuery) -> SearchFilter | None:
    """Read the filters; None says that they leave nothing over."""
    if query.node_ids:
        raise StoreError("A search cannot be narrowed to node ids here: filter by document, kind or page.")
    allowed: dict[str, set[Any]] = {}
    if query.doc_ids:
        allowed["documents"] = set(query.doc_ids)
    if query.filters and query.filters.condition != FilterCondition.AND and len(query.filters.filters) > 1:
        raise StoreError("Filters can only be joined by 'and' here.")
    for condition in query.filters.filters if query.filters else []:
        field, values = _condition(condition)
        allowed[field] = allowed[field] & values if field in allowed else values
    if not all(allowed.values()):
        return None
    return SearchFilter.model_validate({field: tuple(sorted(values)) for field, values in allowed.items()})


def _condition(condition: MetadataFilter | MetadataFilters) -> tuple[str, set[Any]]:
    if isinstance(condition, MetadataFilter) and condition.key in _FIELDS:
        value: Any = condition.value
        if condition.operator == FilterOperator.EQ:
            return _FIELDS[condition.key], {value}
        if condition.operator == FilterOperator.IN and isinstance(value, list):
            return _FIELDS[condition.key], set(value)
    raise StoreError(f"Filters here are '==' and 'in' on {', '.join(_FIELDS)}; this one is not: {condition!r:.200}")
