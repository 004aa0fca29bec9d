"""all-MiniLM-L6-v2 as a plain ONNX graph in onnxruntime, float32: what `embed.py` measures ours beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper
from safetensors.numpy import load_file

_OPSET = 20
_LAYERS, _HEADS, _WIDTH = 6, 12, 384


class _Graph:
    """Collects nodes; every method gives the name of its output."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self.nodes, self.constants, self._tensors = [], {}, tensors

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: np.ndarray | np.float32) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self._tensors[name])

    def linear(self, rows: str, *names: str) -> str:
        """One product for the layers of `names`, side by side."""
        weight = np.concatenate([self._tensors[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._tensors[f"{name}.bias"] for name in names])
        product = self.op("MatMul", rows, self.constant(f"{names[0]}.weight", weight))
        return self.op("Add", product, self.constant(f"{names[0]}.bias", bias))

    def norm(self, rows: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", rows, scale, bias, axis=-1, epsilon=1e-12)


def build(weights: Path) -> ModelProto:
    """Make the graph: `ids` and `mask`, (rows, tokens) int64, to `hidden`, (rows, tokens, 384) float32."""
    graph = _Graph(load_file(weights / "model.safetensors"))
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    places = graph.op(
        "Slice",
        graph.weight("embeddings.position_embeddings.weight"),
        graph.constant("zero", np.array([0])),
        graph.op("Shape", "ids", start=1, end=2),
    )
    segments = graph.weight("embeddings.token_type_embeddings.weight")
    segment = graph.op("Gather", segments, graph.constant("first", np.array(0)))
    state = graph.op("Add", graph.op("Add", words, places), segment)
    state = graph.norm(state, "embeddings.LayerNorm")
    # 0 where there is a token, a large negative number where there is padding: (rows, 1, 1, tokens).
    padding = graph.op("Sub", graph.constant("one", np.float32(1)), graph.op("Cast", "mask", to=TensorProto.FLOAT))
    unseen = graph.op("Mul", padding, graph.constant("never", np.float32(-1e9)))
    unseen = graph.op("Unsqueeze", unseen, graph.constant("inner", np.array([1, 2])))
    for layer in range(_LAYERS):
        state = _layer(graph, state, unseen, f"encoder.layer.{layer}")
    graph.nodes[-1].output[0] = "hidden"

    tokens = ["rows", "tokens"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "minilm",
            [helper.make_tensor_value_info(name, TensorProto.INT64, tokens) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [*tokens, _WIDTH])],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=10,
    )
    checker.check_model(model)
    return model


def _layer(graph: _Graph, state: str, unseen: str, name: str) -> str:
    inward = graph.linear(state, *(f"{name}.attention.self.{role}" for role in ("query", "key", "value")))
    heads = graph.constant("heads", np.array([0, 0, 3, _HEADS, _WIDTH // _HEADS]))
    split = graph.op("Transpose", graph.op("Reshape", inward, heads), perm=[2, 0, 3, 1, 4])
    query, key, value = (
        graph.op("Gather", split, graph.constant(f"part_{part}", np.array(part)), axis=0) for part in range(3)
    )
    query = graph.op("Mul", query, graph.constant("scale", np.float32((_WIDTH / _HEADS) ** -0.5)))
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    odds = graph.op("Softmax", graph.op("Add", scores, unseen), axis=-1)
    context = graph.op("Transpose", graph.op("MatMul", odds, value), perm=[0, 2, 1, 3])
    context = graph.op("Reshape", context, graph.constant("joined", np.array([0, 0, _WIDTH])))
    attended = graph.linear(context, f"{name}.attention.output.dense")
    state = graph.norm(graph.op("Add", state, attended), f"{name}.attention.output.LayerNorm")
    inner = graph.op("Gelu", graph.linear(state, f"{name}.intermediate.dense"))
    return graph.norm(graph.op("Add", state, graph.linear(inner, f"{name}.output.dense")), f"{name}.output.LayerNorm")


def load(weights: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(build(weights).SerializeToString(), options, providers=["CPUExecutionProvider"])
