"""How well passages answer a question, each read together with it: ms-marco-MiniLM (int8, on ONNX Runtime), an option.

A cross-encoder sees both texts at once, which vectors made apart cannot. Costs 23 MB once, a forward pass of each pair.

Sources: Nogueira and Cho 2019, "Passage Re-ranking with BERT", https://arxiv.org/abs/1901.04085; the ONNX files:
https://huggingface.co/Xenova/ms-marco-MiniLM-L-6-v2 (Apache-2.0)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rag_core.embedding.onnx import fetch, run, session, tokenizer
from rag_core.errors import ArtefactError
from rag_core.settings import Settings

MODEL = "ms-marco-MiniLM-L-6-v2"
HUB = f"https://huggingface.co/Xenova/{MODEL}/resolve/main"
_FILES = {"tokenizer.json": "tokenizer.json", "model.onnx": "onnx/model_quantized.onnx"}
"""Our name of each file, and its name at the hub."""

_MAX_TOKENS = 512
_BATCH = 16

Say = Callable[[str], None]
log = logging.getLogger(__name__)


def find_cross_encoder(settings: Settings, say: Say = log.info) -> Path:
    """Give the folder with the model's two files, fetching them where they are not.

    Raises:
        ArtefactError: They are not to be had; the text says the way out.
    """
    if settings.cross_encoder_weights is not None:
        return settings.cross_encoder_weights.expanduser()
    return fetch(settings.cache_dir / MODEL, HUB, _FILES, "RAGSCOPE_CROSS_ENCODER", say)


class CrossEncoder:
    """Judges passages by a model that reads each with the question. Safe to call from many threads."""

    name = "cross-encoder"

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """Load the model.

        Args:
            folder: What `find_cross_encoder` gives.

        Raises:
            ArtefactError: A file is missing or is not such a model.
        """
        self._session = session(folder / "model.onnx", threads)
        if [output.name for output in self._session.get_outputs()] != ["logits"]:
            raise ArtefactError(f"{folder / 'model.onnx'} is another model: put {_FILES['model.onnx']} of {HUB} there.")
        self._tokenizer = tokenizer(folder / "tokenizer.json", _MAX_TOKENS)
        self._tokenizer.enable_padding()

    def judge(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """How likely each passage answers the question: (len(passages),) float32, 0..1. Of a pair 512 tokens count."""
        # Passages of like length stand together: a batch is as long as its longest.
        order = sorted(range(len(passages)), key=lambda at: len(passages[at]))
        scores = np.empty(len(passages), np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            logits = run(self._session, self._pairs(question, [passages[at] for at in batch]))
            scores[batch] = 1 / (1 + np.exp(-logits[:, 0]))
        return scores

    def _pairs(self, question: str, passages: Sequence[str]) -> dict[str, np.ndarray]:
        read = self._tokenizer.encode_batch([(_whole(question), _whole(passage)) for passage in passages])
        given = {
            "input_ids": np.array([one.ids for one in read], np.int64),
            "attention_mask": np.array([one.attention_mask for one in read], np.int64),
            "token_type_ids": np.array([one.type_ids for one in read], np.int64),
        }
        return {wanted.name: given[wanted.name] for wanted in self._session.get_inputs()}


def _whole(text: str) -> str:
    """The text without halves of characters, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode()
