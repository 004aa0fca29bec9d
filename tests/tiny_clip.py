"""A CLIP of random weights: an image is the mean of its pixels, a text the mean of its tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

WIDTH = 8
WORDS = ["[UNK]", "a", "red", "blue", "chart"]


def tiny_clip(folder: Path) -> Path:
    """Write its three files into a folder."""
    random = np.random.default_rng(4)
    _save(
        folder / "vision.onnx",
        [
            helper.make_node("GlobalAveragePool", ["pixel_values"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weights"], ["image_embeds"]),
        ],
        ("pixel_values", TensorProto.FLOAT, ["n", 3, 224, 224]),
        "image_embeds",
        random.normal(size=(3, WIDTH)).astype(np.float32),
    )
    _save(
        folder / "text.onnx",
        [
            helper.make_node("Gather", ["weights", "input_ids"], ["tokens"]),
            helper.make_node("ReduceMean", ["tokens", "axis"], ["text_embeds"], keepdims=0),
        ],
        ("input_ids", TensorProto.INT64, ["n", "tokens"]),
        "text_embeds",
        random.normal(size=(len(WORDS), WIDTH)).astype(np.float32),
    )
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _save(
    path: Path, nodes: list[onnx.NodeProto], given: tuple[str, int, list], made: str, weights: np.ndarray
) -> None:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(*given)],
        [helper.make_tensor_value_info(made, TensorProto.FLOAT, ["n", WIDTH])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([1]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
