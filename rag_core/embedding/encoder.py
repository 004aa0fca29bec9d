"""The CTranslate2 encoder of all-MiniLM-L6-v2: made once from the safetensors, then loaded in a tenth of a second."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from rag_core.download import cannot_write
from rag_core.embedding.weights import MODEL, check_weights
from rag_core.errors import ArtefactError
from rag_core.settings import Precision

_LAYERS, _HEADS = 6, 12

Tensors = dict[str, np.ndarray]
Spec = Any
"""A part of CTranslate2's description of a model: it declares its weights as None."""


def load_encoder(weights: Path, precision: Precision, cache_dir: Path, streams: int) -> ctranslate2.Encoder:
    """Load the encoder, making it first where `cache_dir` has none for this precision and CTranslate2.

    Args:
        streams: Batches that can run at the same time, a thread each. They share the weights.

    Raises:
        ArtefactError: The weights are not the original ones, or the encoder could not be written or is damaged.
    """
    folder = cache_dir / f"{MODEL}-{precision}-ctranslate2-{ctranslate2.__version__}"
    if not folder.exists():
        check_weights(weights, verify=True)
        try:
            _make(weights, precision, folder)
        except OSError as error:
            raise cannot_write(folder, error) from error
    try:
        return ctranslate2.Encoder(str(folder), compute_type=precision, inter_threads=streams, intra_threads=1)
    except RuntimeError as error:
        raise ArtefactError(f"{folder} is damaged ({error}): remove it, it is made anew at the next start.") from error


def _make(weights: Path, precision: Precision, folder: Path) -> None:
    spec: Spec = _spec(load_file(weights / "model.safetensors"))
    vocabulary = Tokenizer.from_file(str(weights / "tokenizer.json")).get_vocab()
    spec.register_vocabulary(sorted(vocabulary, key=vocabulary.__getitem__))
    spec.config.unk_token = "[UNK]"
    spec.config.layer_norm_epsilon = 1e-12
    spec.validate()
    spec.optimize(quantization=None if precision == "float32" else precision)

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / folder.name
        made.mkdir()
        spec.save(str(made))
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():  # Else another process was first: both are the same.
                raise


def _spec(tensors: Tensors) -> Spec:
    """Name the tensors of BERT as CTranslate2 does (its own converter does this too, but wants torch)."""
    encoder: Spec = transformer_spec.TransformerEncoderSpec(
        _LAYERS,
        _HEADS,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    encoder.scale_embeddings = False
    words, segments = encoder.embeddings
    words.weight = tensors["embeddings.word_embeddings.weight"]
    segments.weight = tensors["embeddings.token_type_embeddings.weight"]
    encoder.position_encodings.encodings = tensors["embeddings.position_embeddings.weight"]
    _norm(encoder.layernorm_embedding, tensors, "embeddings.LayerNorm")
    for index, layer in enumerate(encoder.layer):
        name = f"encoder.layer.{index}"
        inward, outward = layer.self_attention.linear
        parts = [common_spec.LinearSpec() for _ in range(3)]
        for part, role in zip(parts, ("query", "key", "value"), strict=True):
            _linear(part, tensors, f"{name}.attention.self.{role}")
        fuse_linear(inward, parts)
        _linear(outward, tensors, f"{name}.attention.output.dense")
        _norm(layer.self_attention.layer_norm, tensors, f"{name}.attention.output.LayerNorm")
        _linear(layer.ffn.linear_0, tensors, f"{name}.intermediate.dense")
        _linear(layer.ffn.linear_1, tensors, f"{name}.output.dense")
        _norm(layer.ffn.layer_norm, tensors, f"{name}.output.LayerNorm")
    return transformer_spec.TransformerEncoderModelSpec(encoder)


def _linear(spec: Spec, tensors: Tensors, name: str) -> None:
    spec.weight, spec.bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def _norm(spec: Spec, tensors: Tensors, name: str) -> None:
    spec.gamma, spec.beta = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
