from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from llama_index.core.schema import TextNode

from rag_core.embedding.llama_index import MiniLMEmbedding
from rag_core.embedding.minilm import TextEmbedder

TEXTS = ["Revenue rose.", "Profit fell.", "The roadmap names three products."]


@pytest.fixture
def embedding(int8: TextEmbedder) -> MiniLMEmbedding:
    return MiniLMEmbedding(int8)


def test_all_ways_in_give_the_embedders_vectors(embedding: MiniLMEmbedding, int8: TextEmbedder) -> None:
    expected = int8.embed(TEXTS)
    assert np.array_equal(embedding.get_text_embedding_batch(TEXTS), expected)
    assert np.array_equal(asyncio.run(embedding.aget_text_embedding_batch(TEXTS)), expected)
    assert np.array_equal([embedding.get_text_embedding(text) for text in TEXTS], expected)
    assert np.array_equal(embedding.get_query_embedding(TEXTS[0]), expected[0])
    assert np.array_equal(asyncio.run(embedding.aget_query_embedding(TEXTS[0])), expected[0])
    assert np.array_equal(asyncio.run(embedding.aget_text_embedding(TEXTS[0])), expected[0])


def test_as_a_transformation_it_fills_the_nodes(embedding: MiniLMEmbedding, int8: TextEmbedder) -> None:
    nodes = embedding([TextNode(text=text) for text in TEXTS])
    assert np.array_equal([node.embedding for node in nodes], int8.embed(TEXTS))


def test_it_bears_the_embedders_name(embedding: MiniLMEmbedding, int8: TextEmbedder) -> None:
    assert embedding.model_name == int8.name


def test_a_long_batch_leaves_the_event_loop_free(embedding: MiniLMEmbedding) -> None:
    async def longest_pause_s() -> float:
        work = asyncio.create_task(embedding.aget_text_embedding_batch([f"{TEXTS[2]} {n}" for n in range(400)]))
        longest = 0.0
        while not work.done():
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before)
        return longest

    assert asyncio.run(longest_pause_s()) < 0.2
