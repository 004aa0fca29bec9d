"""Scripted stand-ins for what a test is not about. Weaviate is never among them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from rag_core.llm.engine import Call
from rag_core.techniques.base import Listed
from rag_core.types import Chunk, Hit, Place


class WordVectors:
    """Vectors by shared words: texts with the same words are close, others are not. `(n, 64)` float32, unit."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.embed_one(text) for text in texts])

    def embed_one(self, text: str) -> np.ndarray:
        vector = np.full(64, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            vector[hashlib.sha256(word.strip(".,?!").encode()).digest()[0] % 64] += 1
        return vector / np.linalg.norm(vector)

    def token_vectors(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.embed([text[start:end] for start, end in self.token_spans(text)]) for text in texts]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+", text)]


class Documents:
    """A collection's documents, one unless others are given; `labels` are pages by the number printed on them."""

    def __init__(self, *listed: Listed, labels: Mapping[str, Sequence[int]] | None = None) -> None:
        self.listed = listed or (Listed(id="doc", name="report.pdf", pages=9),)
        self.labels = labels or {}

    def documents(self) -> Sequence[Listed]:
        return self.listed

    def printed(self, document: str, number: str) -> Sequence[int]:
        return self.labels.get(number, ())


class Watch:
    """Keeps what an engine told."""

    def __init__(self, *, left_s: float = 60) -> None:
        self.calls: list[Call] = []
        self.heard = ""
        self.restarts = 0
        self.stop = False
        self._left_s = left_s

    def stopped(self) -> bool:
        return self.stop

    def called(self, call: Call) -> None:
        self.calls.append(call)

    def text(self, delta: str) -> None:
        self.heard += delta

    def restart(self) -> None:
        self.restarts += 1
        self.heard = ""

    def left_s(self) -> float:
        return self._left_s


def a_chunk(text: str, *, id_: str | None = None, page: int = 1, **fields: object) -> Chunk:
    known = {"document": "doc", "name": "report.pdf", "places": (Place(page=page, boxes=()),), **fields}
    return Chunk.model_validate({"id": id_ or hashlib.sha256(text.encode()).hexdigest()[:8], "text": text, **known})


def a_hit(text: str, **fields: object) -> Hit:
    return Hit(chunk=a_chunk(text, **fields), score=1.0)
