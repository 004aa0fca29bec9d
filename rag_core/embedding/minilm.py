"""Text embeddings by all-MiniLM-L6-v2: 384 dimensions, mean pooling, without torch.

A batch holds texts of one length only. Nothing is padded then, and a text has the same int8 vector, bit for bit,
whatever it is embedded with; in padded batches it moves by up to 0.0014 in cosine.

Source: Wang et al. 2020, "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", https://arxiv.org/abs/2002.10957
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import ctranslate2
import numpy as np
from tokenizers import Encoding, Tokenizer

from rag_core.embedding.encoder import load_encoder
from rag_core.embedding.weights import MODEL
from rag_core.settings import Precision

_MAX_TOKENS = 256
"""What the model was trained on; the rest of a longer text is not read."""
_BATCH_TOKENS = 512
"""Small batches stay in the processor's cache: 16 chunks at once run at two thirds of the speed of two."""
_REMEMBERED = 1024
"""Single texts (questions) whose vectors are kept: 1.5 MB."""


class TextEmbedder:
    """Turns texts into vectors of unit length. Safe to call from many threads at once.

    Long calls take turns, a batch each. What a question needs embedded is little; it runs on the caller's thread, for
    which a stream of the encoder is kept free, and waits for none of them.
    """

    dimensions = 384

    def __init__(
        self,
        weights: Path,
        precision: Precision = "int8",
        threads: int = os.cpu_count() or 1,
        cache_dir: Path | None = None,
    ) -> None:
        """Load the model; the first time for a precision takes half a second more.

        Args:
            weights: The folder that `find_weights` gives.
            threads: Batches that run at the same time, a thread each.
            cache_dir: Where the converted model is kept; beside `weights` where not given.

        Raises:
            ArtefactError: The weights are not the original ones, or the converted model could not be written.
        """
        self.name = f"{MODEL}/{precision}"
        self._encoder = load_encoder(weights, precision, cache_dir or weights.parent, threads + 1)
        self._tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed")
        self._remembered = lru_cache(_REMEMBERED)(self._embed_one)
        self._ahead = ThreadPoolExecutor(threads, thread_name_prefix="embed-ahead")
        self._begun: dict[str, Future[np.ndarray]] = {}

    def embed(self, texts: Sequence[str], on_batch: Callable[[int, int], None] | None = None) -> np.ndarray:
        """Embed the texts.

        Args:
            on_batch: Told (texts done, texts in all) after each batch; what it raises stops the work.

        Returns:
            (len(texts), 384) float32, rows of unit length in the order of `texts`. An empty text has a vector too.
        """
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        done = 0
        for rows, hidden in self._in_batches(texts):
            vectors[rows] = _unit(hidden.mean(axis=1))
            done += len(rows)
            if on_batch:
                on_batch(done, len(texts))
        return vectors

    def embed_one(self, text: str) -> np.ndarray:
        """Embed a question, or give its vector again: (384,) float32 of unit length, read-only."""
        begun = self._begun.get(text)
        return begun.result() if begun else self._remembered(text)

    def begin(self, text: str) -> None:
        """Begin to embed a question that `embed_one` will be asked for, while the caller does other things."""
        begun = self._begun[text] = self._ahead.submit(self._remembered, text)
        begun.add_done_callback(lambda _: self._begun.pop(text, None))

    def token_vectors(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Embed each token in its context, for late interaction (MaxSim).

        Returns:
            For each text (tokens, 384) float32, rows of unit length; (0, 384) for an empty one.
        """
        vectors: list[np.ndarray] = [np.empty((0, self.dimensions), np.float32)] * len(texts)
        for rows, hidden in self._in_batches(texts):
            for row, tokens in zip(rows, hidden, strict=True):
                vectors[row] = _unit(tokens[1:-1])  # [CLS] and [SEP] stand for no word.
        return vectors

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of `token_vectors` stands in the text: its first character and the one after its last."""
        return self._encoded(text).offsets[1:-1]

    def _embed_one(self, text: str) -> np.ndarray:
        vector = _unit(self._forward([self._tokens(text)]).mean(axis=1))[0]
        vector.setflags(write=False)
        return vector

    def _in_batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yield the rows of each batch with its last hidden state, (rows, tokens, 384)."""
        tokens = [self._tokens(text) for text in texts]
        lengths = [len(ids) for ids in tokens]
        batches = ((rows, [tokens[row] for row in rows]) for rows in _batches(lengths))
        if sum(lengths) <= _BATCH_TOKENS:
            yield from ((rows, self._forward(batch)) for rows, batch in batches)
            return
        # No more batches are under way than there are threads: another long call gets its turn in between.
        under_way: deque[tuple[list[int], Future[np.ndarray]]] = deque()
        for rows, batch in batches:
            if len(under_way) == self._threads:
                ready, future = under_way.popleft()
                yield ready, future.result()
            under_way.append((rows, self._pool.submit(self._forward, batch)))
        for ready, future in under_way:
            yield ready, future.result()

    def _tokens(self, text: str) -> list[int]:
        return self._encoded(text).ids

    def _encoded(self, text: str) -> Encoding:
        # A lone surrogate, as broken PDFs have them, is no text to the tokenizer.
        return self._tokenizer.encode(text.encode("utf-8", "replace").decode())

    def _forward(self, tokens: list[list[int]]) -> np.ndarray:
        """Run rows of equal length through the model: (rows, tokens, 384) float32."""
        ids = ctranslate2.StorageView.from_array(np.array(tokens, np.int32))
        lengths = ctranslate2.StorageView.from_array(np.array([len(row) for row in tokens], np.int32))
        return np.array(self._encoder.forward_batch(ids, lengths).last_hidden_state)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group the rows by length, the longest first, `_BATCH_TOKENS` at most a batch."""
    longest_first = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    for length, same in groupby(longest_first, key=lambda row: lengths[row]):
        rows, size = list(same), max(1, _BATCH_TOKENS // length)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)
