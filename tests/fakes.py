"""Scripted stand-ins for what a test is not about. Weaviate is never among them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rag_core.llm.engine import Call
from rag_core.llm.reading.words import stems
from rag_core.techniques.base import Listed
from rag_core.types import Chunk, Hit, Place, Support


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


class Judged(NamedTuple):
    """A claim as the critic of words judges it."""

    supported: float
    contradicted: float


class WordCritic:
    """Judges by shared words alone: a claim is contradicted by a passage that has all of it but a number."""

    def relevance(self, question: str, passages: Sequence[str]) -> list[float]:
        return [_share(question, passage) for passage in passages]

    def support(self, claims: Sequence[str], passages: Sequence[str], question: str = "") -> list[list[Judged]]:
        return [[self._judged(claim, passage) for passage in passages] for claim in claims]

    def answer_support(self, claim: str, passages: Sequence[str], question: str = "") -> Judged:
        return self._judged(claim, "\n".join(passages))

    def usefulness(self, question: str, answer: str) -> tuple[float, ...]:
        share = _share(question, answer)
        return (1 - share, 0.0, 0.0, 0.0, share)

    def to_support(self, probability: float) -> Support:
        if probability < 0.5:
            return "no_support"
        return "partially_supported" if probability < 0.85 else "fully_supported"

    def _judged(self, claim: str, passage: str) -> Judged:
        numbers = re.findall(r"\d+", claim)
        if all(number in passage for number in numbers):
            return Judged(_share(claim, passage), 0.0)
        return Judged(0.0, _share(re.sub(r"\d+", "", claim), passage))


def _share(asked: str, text: str) -> float:
    wanted = set(stems(asked))
    return len(wanted & set(stems(text))) / max(1, len(wanted))


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
