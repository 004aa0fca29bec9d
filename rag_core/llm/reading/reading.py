"""The keyless toolkit: what reading without a model can find out about a question and some passages."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Protocol

import numpy as np

from rag_core.llm.reading.words import stems

_INSIDE = ".,'’"
"""What a word may have inside."""


class Embed(Protocol):
    """Gives unit vectors: `(n, dimensions)` float32, in the order of the texts."""

    def embed(self, texts: Sequence[str]) -> np.ndarray: ...

    def token_vectors(self, texts: Sequence[str]) -> list[np.ndarray]:
        """For each text `(tokens, dimensions)`, rows of unit length."""
        ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Where these tokens stand in the text."""
        ...


class Corpus(Protocol):
    """How often words occur in the searched collection."""

    @property
    def chunks(self) -> int: ...

    def chunks_with(self, stem: str) -> int: ...


class NoCorpus:
    """Stands in where nothing is known of the collection: every word counts the same."""

    chunks = 0

    def chunks_with(self, stem: str) -> int:
        return 0


class Pairs(Protocol):
    """Reads a question and a passage together."""

    name: str

    def judge(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """How likely each passage answers the question: `(n,)`, 0..1."""
        ...


class Reading:
    """Compares texts by meaning (vectors) and by words (weighted by how rare they are in the corpus)."""

    def __init__(
        self, embedder: Embed, corpus: Corpus | None = None, *, kept_vectors: int = 20_000, pairs: Pairs | None = None
    ) -> None:
        """Read with an embedder.

        Args:
            pairs: A cross-encoder, where one is configured.
        """
        self.pairs = pairs
        self._embedder = embedder
        self._corpus = corpus or NoCorpus()
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()
        self._limit = kept_vectors
        self._lock = Lock()

    def over(self, corpus: Corpus) -> Reading:
        """The same reading, with the word statistics of another collection; vectors are shared."""
        reading = Reading(self._embedder, corpus, kept_vectors=self._limit, pairs=self.pairs)
        reading._kept, reading._lock = self._kept, self._lock
        return reading

    def idf(self, stem: str) -> float:
        """How much a word says: 0 for one in every chunk, above 10 for one in a hundred thousand."""
        total = self._corpus.chunks
        return math.log1p(total / (1 + self._corpus.chunks_with(stem))) if total else 1.0

    def occurs(self, stem: str) -> bool:
        """Whether any chunk of the collection has a word; True where nothing is known of the collection."""
        return not self._corpus.chunks or self._corpus.chunks_with(stem) > 0

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """`(n, dimensions)` float32 unit vectors; texts seen lately cost nothing."""
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, self._embedder.embed(missing), strict=True))
            with self._lock:
                self._kept.update({text: known[text] for text in missing})
                while len(self._kept) > self._limit:
                    self._kept.popitem(last=False)
        return np.stack([known[text] for text in texts])

    def closeness(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Cosine of the question and each text: `(n,)`, -1..1."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        vectors = self.vectors([question, *texts])
        return vectors[1:] @ vectors[0]

    def token_closeness(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """How near each text's tokens come to those of the question: `(n,)`, -1..1.

        The mean over the question's tokens of the nearest in the text (MaxSim), each weighted by how rare its word is.
        Costs a forward pass of every text.

        Source: Khattab and Zaharia 2020, "ColBERT", https://arxiv.org/abs/2004.12832
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        asked, *given = self._embedder.token_vectors([question, *texts])
        weights = self._token_weights(question)
        return np.array([max_sim(asked, weights, tokens) for tokens in given], dtype=np.float32)

    def words_in_context(self, texts: Sequence[str]) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """The content words of each text as stems, with `(words, dimensions)` float32 unit vectors.

        A word's vector is the mean of its pieces' in this text. Costs a forward pass of every text.
        """
        return [
            self._words(text, tokens) for text, tokens in zip(texts, self._embedder.token_vectors(texts), strict=True)
        ]

    def _words(self, text: str, tokens: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        pieces: dict[tuple[int, int], list[int]] = {}
        for row, (start, end) in enumerate(self._embedder.token_spans(text)):
            pieces.setdefault(_around(text, start, end), []).append(row)
        found, vectors = [], []
        for (start, end), rows in pieces.items():
            if stem := " ".join(stems(text[start:end])):
                found.append(stem)
                mean = tokens[rows].mean(axis=0)
                vectors.append(mean / np.linalg.norm(mean))
        return tuple(found), np.array(vectors, dtype=np.float32).reshape(len(found), tokens.shape[1])

    def _token_weights(self, question: str) -> np.ndarray:
        """Each token's share in the question: the rarity of its word, 0 for a stop word."""
        whole = (question[slice(*_around(question, *span))] for span in self._embedder.token_spans(question))
        weights = np.array([sum(map(self.idf, stems(word))) for word in whole], dtype=np.float32)
        return weights / total if (total := weights.sum()) else np.full(len(weights), 1 / max(1, len(weights)))

    def coverage(self, asked: Iterable[str], text: Iterable[str]) -> float:
        """The share of the asked stems, weighted by rarity, that the text's stems hold: 0..1."""
        weights = {stem: self.idf(stem) for stem in asked}
        total = sum(weights.values())
        if not total:
            return 0.0
        held = set(text)
        return sum(weight for stem, weight in weights.items() if stem in held) / total

    def missing(self, question: str, texts: Iterable[str]) -> list[str]:
        """The content words of the question that none of the texts holds, as stems, the rarest first."""
        held = {stem for text in texts for stem in stems(text)}
        return sorted({stem for stem in stems(question) if stem not in held}, key=self.idf, reverse=True)


def max_sim(asked: np.ndarray, weights: np.ndarray, given: np.ndarray) -> float:
    """For each token asked its nearest among those given, in the weighted mean; 0 where one side has no token.

    Args:
        asked, given: `(tokens, dimensions)`, rows of unit length.
        weights: `(tokens asked,)`, summing to 1.
    """
    if not len(asked) or not len(given):
        return 0.0
    return float(weights @ (asked @ given.T).max(axis=1))


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the whole word stands that this is a piece of; '1,200' is one."""
    while start and (
        text[start - 1].isalnum() or (text[start - 1] in _INSIDE and text[start - 2 : start - 1].isalnum())
    ):
        start -= 1
    while end < len(text) and (text[end].isalnum() or (text[end] in _INSIDE and text[end + 1 : end + 2].isalnum())):
        end += 1
    return start, end
