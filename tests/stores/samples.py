"""Made-up chunks and vectors."""

from __future__ import annotations

import uuid

import numpy as np

from rag_core.types import Box, Chunk, Place


def make_chunk(text: str, document: str = "d1", order: int = 0, **given: object) -> Chunk:
    place = Place(page=1 + order // 3, boxes=(Box(x0=72.25, y0=100.1, x1=500, y1=118),))
    values = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{document}/{order}/{text}")),
        "document": document,
        "name": f"{document}.pdf",
        "text": text,
        "places": (place,),
        "order": order,
    }
    return Chunk.model_validate(values | given)


def random_vectors(count: int, dimensions: int = 384, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
