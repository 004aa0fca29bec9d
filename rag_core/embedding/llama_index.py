"""The embedder as LlamaIndex knows one."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from rag_core.embedding.minilm import TextEmbedder

_CALL_TEXTS = 512
"""Texts a call: enough for the embedder to sort by length, few enough for progress to be seen."""


class MiniLMEmbedding(BaseEmbedding):
    """Embeds nodes and queries with a `TextEmbedder`.

    Every method of the base is answered: its batch loops text by text, and its async twins block the event loop.
    """

    _embedder: TextEmbedder = PrivateAttr()

    def __init__(self, embedder: TextEmbedder, **fields: Any) -> None:
        super().__init__(**{"model_name": embedder.name, "embed_batch_size": _CALL_TEXTS} | fields)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        return "MiniLMEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_one(query).tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed_one(text).tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed(texts).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
