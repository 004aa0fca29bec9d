"""A user's own LlamaIndex code over our corpus."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import Document, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from rag_core.errors import StoreError
from rag_core.stores.llama_index import RagscopeVectorStore
from rag_core.stores.weaviate.chunks import ChunkStore
from tests.stores.samples import make_chunk


class FakeEmbedding(BaseEmbedding):
    """A vector drawn from the text's hash: the same text is near itself and nothing else."""

    def _get_text_embedding(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        return np.random.default_rng(seed).normal(size=32).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


TEXTS = ("the cloud grows", "the merger closed", "clouds and rain")


@pytest.fixture
def index(store: ChunkStore, tenant: str) -> VectorStoreIndex:
    chunks = [
        make_chunk(text, f"d{order}", order, kind=("text", "table", "text")[order]) for order, text in enumerate(TEXTS)
    ]
    store.put(tenant, chunks, np.asarray([FakeEmbedding()._get_text_embedding(text) for text in TEXTS], np.float32))
    return VectorStoreIndex.from_vector_store(
        RagscopeVectorStore(store=store, tenant=tenant), embed_model=FakeEmbedding()
    )


def found(index: VectorStoreIndex, question: str, **options: object) -> list[str]:
    retriever = index.as_retriever(**({"similarity_top_k": 3} | options))
    return [hit.node.get_content() for hit in retriever.retrieve(question)]


def test_the_default_mode_searches_by_vector(index: VectorStoreIndex) -> None:
    assert found(index, TEXTS[1], similarity_top_k=1) == [TEXTS[1]]
    hit = index.as_retriever(similarity_top_k=1).retrieve(TEXTS[1])[0]
    assert hit.score == pytest.approx(1, abs=1e-5)
    assert hit.node.ref_doc_id == "d1"
    assert hit.node.metadata == {"document": "d1", "name": "d1.pdf", "kind": "table", "page": 1}


def test_text_search_and_alpha_0_go_by_words_alone(index: VectorStoreIndex) -> None:
    by_words = found(index, "cloud", vector_store_query_mode="text_search")
    assert set(by_words) == {TEXTS[0], TEXTS[2]}
    assert found(index, "cloud", vector_store_query_mode="hybrid", alpha=0.0) == by_words


def test_hybrid_uses_both_sides(index: VectorStoreIndex) -> None:
    assert len(found(index, "cloud", vector_store_query_mode="hybrid")) == 3
    assert found(index, TEXTS[1], vector_store_query_mode="hybrid", alpha=0.5)[0] == TEXTS[1]


def test_filters_narrow_by_document_kind_and_page(index: VectorStoreIndex) -> None:
    for filters, expected in (
        ([MetadataFilter(key="document", value="d2")], {TEXTS[2]}),
        ([MetadataFilter(key="document", value=["d0", "d1"], operator=FilterOperator.IN)], {TEXTS[0], TEXTS[1]}),
        ([MetadataFilter(key="kind", value="text"), MetadataFilter(key="page", value=1)], {TEXTS[0], TEXTS[2]}),
        ([MetadataFilter(key="document", value="d0"), MetadataFilter(key="document", value="d1")], set()),
    ):
        assert set(found(index, "cloud", filters=MetadataFilters(filters=filters))) == expected
    assert found(index, "cloud", doc_ids=["d1"]) == [TEXTS[1]]


def test_what_cannot_be_asked_is_an_error_and_never_ignored(index: VectorStoreIndex) -> None:
    with pytest.raises(StoreError, match="'==' and 'in' on document, kind, page"):
        found(index, "cloud", filters=MetadataFilters(filters=[MetadataFilter(key="author", value="x")]))
    with pytest.raises(StoreError, match="'mmr' is none of"):
        found(index, "cloud", vector_store_query_mode="mmr")
    with pytest.raises(StoreError, match="needs an embedding"):
        index.vector_store.query(VectorStoreQuery(query_str="cloud", mode=VectorStoreQueryMode.HYBRID))


def test_nodes_are_inserted_given_and_deleted(index: VectorStoreIndex, store: ChunkStore, tenant: str) -> None:
    index.insert(Document(text="a new document", doc_id="new"))
    assert found(index, "a new document", similarity_top_k=1) == ["a new document"]
    node = index.as_retriever(similarity_top_k=1).retrieve("a new document")[0].node
    assert [one.get_content() for one in index.vector_store.get_nodes([node.node_id])] == ["a new document"]
    index.delete_ref_doc("new")
    assert store.count(tenant, "new") == 0
    index.insert_nodes([TextNode(text="loose")])
    loose = index.as_retriever(similarity_top_k=1).retrieve("loose")[0].node
    index.vector_store.delete_nodes([loose.node_id])
    assert store.count(tenant) == 3
