"""A cross-encoder that counts words: foxes speak for a passage, the moon against it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WEIGHTS = {"[UNK]": 0.0, "[CLS]": 0.0, "[SEP]": 0.0, "[PAD]": 9.0, "fox": 2.0, "moon": -3.0}


def tiny_cross_encoder(folder: Path, output: str = "logits") -> Path:
    """Write its two files into a folder."""
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "mask"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "axis"], [output], keepdims=1),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "tokens"]) for name in names],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", 1])],
        [
            numpy_helper.from_array(np.array([*WEIGHTS.values()], np.float32), "weights"),
            numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WEIGHTS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
