from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from rag_core.embedding.minilm import TextEmbedder

TEXTS = [
    "InnovateCorp's revenue was $50M in the third quarter of 2023.",
    "Net profit came to five million dollars.",
    "The cat sleeps.",
    "Où est la bibliothèque ? Straße, naïve, 東京タワー, данные 🚀",
    "Segment | Q2 | Q3\nCloud | 18.2 | 21.7\nAnalytics | 9.1 | 10.9",
    "a",
    "Long before the acquisition closed, the board had asked for a second opinion on the price. " * 12,
]


class Reference:
    """BERT as its paper writes it, in float32 numpy, one text at a time."""

    def __init__(self, weights: Path) -> None:
        self.tensors = load_file(weights / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def hidden(self, text: str) -> np.ndarray:
        ids = self.tokenizer.encode(text).ids
        of = self.tensors
        words, places = of["embeddings.word_embeddings.weight"], of["embeddings.position_embeddings.weight"]
        segment = of["embeddings.token_type_embeddings.weight"][0]
        state = self.norm(words[ids] + places[: len(ids)] + segment, "embeddings.LayerNorm")
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                self.linear(state, f"{name}.attention.self.{role}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
                for role in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 2, 1) / math.sqrt(32)
            odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
            context = (odds / odds.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), 384)
            attended = self.linear(context, f"{name}.attention.output.dense")
            state = self.norm(state + attended, f"{name}.attention.output.LayerNorm")
            inner = self.linear(state, f"{name}.intermediate.dense")
            inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
            state = self.norm(state + self.linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return state

    def linear(self, rows: np.ndarray, name: str) -> np.ndarray:
        return rows @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, rows: np.ndarray, name: str) -> np.ndarray:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / spread * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]


@pytest.fixture(scope="module")
def reference(weights: Path) -> Reference:
    return Reference(weights)


@pytest.fixture(scope="module")
def hidden(reference: Reference) -> list[np.ndarray]:
    return [reference.hidden(text) for text in TEXTS]


@pytest.fixture(scope="module")
def expected(hidden: list[np.ndarray]) -> np.ndarray:
    return unit(np.stack([state.mean(axis=0) for state in hidden]))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_float32_gives_the_published_vectors(float32: TextEmbedder, expected: np.ndarray) -> None:
    assert (float32.embed(TEXTS) * expected).sum(axis=1).min() > 0.9999


def test_int8_stays_close_to_the_published_vectors(int8: TextEmbedder, expected: np.ndarray) -> None:
    cosines = (int8.embed(TEXTS) * expected).sum(axis=1)
    assert cosines.min() > 0.99
    assert cosines.max() < 0.99999, "these are not the vectors of an int8 model"


def test_vectors_are_float32_of_unit_length(int8: TextEmbedder) -> None:
    vectors = int8.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), int8.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_the_name_tells_the_precisions_apart(int8: TextEmbedder, float32: TextEmbedder) -> None:
    assert (int8.name, float32.name) == ("all-MiniLM-L6-v2/int8", "all-MiniLM-L6-v2/float32")


def test_rows_stand_in_the_order_asked(float32: TextEmbedder, expected: np.ndarray) -> None:
    order = [6, 2, 0, 2, 5, 1, 4, 3] * 8
    vectors = float32.embed([TEXTS[index] for index in order])
    assert (vectors @ expected.T).argmax(axis=1).tolist() == order


def test_an_int8_vector_does_not_depend_on_its_company(int8: TextEmbedder) -> None:
    texts = [f"{text} {number}" for number in range(6) for text in TEXTS]
    together = int8.embed(texts)
    assert np.array_equal(together, int8.embed(texts[::-1])[::-1])
    assert np.array_equal(together, np.stack([int8.embed_one(text) for text in texts]))


def test_a_float32_vector_hardly_depends_on_its_company(float32: TextEmbedder) -> None:
    texts = [f"{text} {number}" for number in range(6) for text in TEXTS]
    alone = np.stack([float32.embed_one(text) for text in texts])
    np.testing.assert_allclose(float32.embed(texts), alone, atol=1e-6)


def test_only_the_first_256_tokens_of_a_long_text_count(int8: TextEmbedder) -> None:
    read = "word " * 254  # [CLS] and [SEP] are the other two.
    assert np.array_equal(int8.embed_one(read), int8.embed_one(read + "and a different ending " * 1_000))
    assert not np.array_equal(int8.embed_one(read), int8.embed_one("word " * 253 + "else"))


def test_no_texts_give_no_rows(int8: TextEmbedder) -> None:
    assert int8.embed([]).shape == (0, 384)
    assert int8.token_vectors([]) == []


def test_an_empty_text_has_a_vector_like_any_other(float32: TextEmbedder, reference: Reference) -> None:
    assert float32.embed_one("") @ unit(reference.hidden("").mean(axis=0)) > 0.9999
    assert np.array_equal(float32.embed_one(""), float32.embed_one(" \n\x00"))
    assert float32.token_vectors([""])[0].shape == (0, 384)


def test_a_broken_character_is_read_as_a_question_mark(int8: TextEmbedder) -> None:
    assert np.array_equal(int8.embed_one("profit \ud800 up"), int8.embed_one("profit ? up"))


def test_token_vectors_are_the_hidden_states_of_the_words(float32: TextEmbedder, hidden: list[np.ndarray]) -> None:
    for state, tokens in zip(hidden, float32.token_vectors(TEXTS), strict=True):
        assert (tokens * unit(state[1:-1])).sum(axis=1).min() > 0.9999


def test_token_spans_say_where_each_token_vector_stands(int8: TextEmbedder) -> None:
    text = "Zürich's foxes unbelievably sleep"
    spans = int8.token_spans(text)
    assert len(spans) == len(int8.token_vectors([text])[0])
    assert text[slice(*spans[0])] == "Zürich"
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")


def test_a_remembered_vector_cannot_be_changed(int8: TextEmbedder) -> None:
    vector = int8.embed_one("asked twice")
    assert int8.embed_one("asked twice") is vector
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0


def test_a_question_that_was_begun_has_the_vector_that_it_has_alone(int8: TextEmbedder) -> None:
    questions = [f"What was begun ahead, {number}?" for number in range(20)]
    for question in questions:
        int8.begin(question)
    ahead = [int8.embed_one(question) for question in questions]
    assert np.array_equal(ahead, int8.embed(questions))
    assert all(int8.embed_one(question) is vector for question, vector in zip(questions, ahead, strict=True))


def test_progress_is_told_up_to_the_last_text(int8: TextEmbedder) -> None:
    told: list[tuple[int, int]] = []
    int8.embed(TEXTS * 5, on_batch=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1] == (35, 35)


def test_what_the_listener_raises_stops_the_work(int8: TextEmbedder) -> None:
    told: list[int] = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        int8.embed([f"{TEXTS[6]} {number}" for number in range(500)], on_batch=stop)
    assert len(told) == 1
    assert len(int8.embed(TEXTS * 5)) == 35


def test_many_threads_get_their_own_vectors(int8: TextEmbedder) -> None:
    texts = [[f"{text} {caller}" for text in TEXTS] for caller in range(8)]
    alone = [int8.embed(mine) for mine in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(int8.embed, texts))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_a_question_does_not_wait_for_a_long_ingest(int8: TextEmbedder) -> None:
    stop, started = threading.Event(), threading.Event()

    def on_batch(done: int, total: int) -> None:
        started.set()
        if stop.is_set():
            raise InterruptedError

    def ingest() -> None:
        with pytest.raises(InterruptedError):
            int8.embed([f"{number} {TEXTS[6]}" for number in range(5_000)], on_batch=on_batch)

    thread = threading.Thread(target=ingest)
    thread.start()
    try:
        assert started.wait(60)
        took_s = []
        for number in range(20):
            began = time.perf_counter()
            int8.embed_one(f"What did segment {number} earn in the third quarter?")
            took_s.append(time.perf_counter() - began)
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join()
    assert np.median(took_s) < 0.1
