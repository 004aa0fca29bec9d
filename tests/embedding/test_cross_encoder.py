"""The real loading code, over a cross-encoder that counts words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rag_core.embedding import cross_encoder
from rag_core.embedding.cross_encoder import CrossEncoder, find_cross_encoder
from rag_core.errors import ArtefactError
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import NoCorpus, Reading
from rag_core.settings import Settings
from rag_core.techniques.rerank import Rerank, RerankSettings
from tests.fakes import Watch, WordVectors, a_hit
from tests.tiny_cross_encoder import tiny_cross_encoder

MOON, FOX, FOXES = "The moon is far away.", "A fox.", "A fox and a fox and another fox that sleeps in its den all day."


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    return CrossEncoder(tiny_cross_encoder(tmp_path_factory.mktemp("cross")))


def sigmoid(logit: float) -> float:
    return 1 / (1 + np.exp(-logit))


def test_each_passage_is_judged_with_the_question_in_the_order_given(encoder: CrossEncoder) -> None:
    scores = encoder.judge("Where is it?", [FOXES, MOON, FOX])
    assert (scores.shape, scores.dtype) == ((3,), np.float32)
    assert scores == pytest.approx([sigmoid(6), sigmoid(-3), sigmoid(2)])
    assert encoder.judge("Where is the fox?", [MOON]) == pytest.approx([sigmoid(-1)])
    assert encoder.judge("Where?", []).shape == (0,)


def test_more_passages_than_a_batch_keep_their_places_and_what_fills_a_batch_up_counts_nothing(
    encoder: CrossEncoder,
) -> None:
    passages = [MOON, FOX, FOXES] * 15
    assert encoder.judge("Where?", passages) == pytest.approx([sigmoid(-3), sigmoid(2), sigmoid(6)] * 15)


def test_a_text_that_is_too_long_or_has_half_characters_is_judged_all_the_same(encoder: CrossEncoder) -> None:
    scores = encoder.judge("word " * 2_000, ["fox \ud83d", "word " * 2_000 + "moon"])
    assert scores == pytest.approx([sigmoid(2), sigmoid(0)])


def test_files_that_are_missing_or_of_another_model_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"model\.onnx is missing or damaged"):
        CrossEncoder(tmp_path)
    with pytest.raises(ArtefactError, match="is another model"):
        CrossEncoder(tiny_cross_encoder(tmp_path, output="embeddings"))


def test_where_the_hub_is_out_of_reach_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder, "HUB", "http://127.0.0.1:9/nothing")
    with pytest.raises(ArtefactError, match=r"model_quantized\.onnx as model\.onnx; .* RAGSCOPE_CROSS_ENCODER_WEIGHTS"):
        find_cross_encoder(Settings(cache_dir=tmp_path))
    assert find_cross_encoder(Settings(cross_encoder_weights=tmp_path)) == tmp_path


def test_what_it_says_reranks_and_stands_in_the_trace(encoder: CrossEncoder) -> None:
    hits = [a_hit(text).model_copy(update={"score": 0.5}) for text in (MOON, FOX, FOXES)]
    reading, watch = Reading(WordVectors(), pairs=encoder).over(NoCorpus()), Watch()
    found = Rerank(RerankSettings(), KeylessEngine(), reading).rerank("Where?", hits, watch, at_least=3)
    assert [hit.chunk.text for hit in found] == [FOXES, FOX, MOON]
    assert found[0].scores["rerank"] == pytest.approx(10 * sigmoid(6), abs=1e-3)
    (call,) = watch.calls
    assert (call.signature, call.engine, call.usage.model_calls) == ("rerank.judge", "cross-encoder", 0)
    assert len(json.loads(call.reply)["judged"]) == 3
