"""Vectors of pictures and of texts in one space, by CLIP (int8, on ONNX Runtime): an option, about 155 MB once.

A question then finds a figure by what it shows, also one without a word in it, and a picture finds its like.

Source: Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision",
https://arxiv.org/abs/2103.00020; the ONNX files: https://huggingface.co/Xenova/clip-vit-base-patch32 (MIT)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps

from rag_core.download import sha256_of
from rag_core.embedding.onnx import fetch, run, session, tokenizer
from rag_core.errors import ArtefactError, RagError
from rag_core.settings import Settings

if TYPE_CHECKING:
    import onnxruntime

MODEL = "clip-vit-base-patch32"
HUB = f"https://huggingface.co/Xenova/{MODEL}/resolve/main"
_FILES = {
    "tokenizer.json": "tokenizer.json",
    "vision.onnx": "onnx/vision_model_quantized.onnx",
    "text.onnx": "onnx/text_model_quantized.onnx",
}
"""Our name of each file, and its name at the hub."""

_SIDE = 224
_MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
_DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
_MAX_TOKENS = 77
_BATCH = 8
_MAX_PIXELS = 80_000_000

Say = Callable[[str], None]
log = logging.getLogger(__name__)


class PictureError(RagError):
    """A file is no picture that can be read, or one too large to."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} is no picture that can be read: save it as PNG or JPEG.")
        self.path = path


def find_clip(settings: Settings, say: Say = log.info) -> Path:
    """Give the folder with the model's three files, fetching them where they are not.

    Raises:
        ArtefactError: They are not to be had; the text says the way out.
    """
    if settings.clip_weights is not None:
        return settings.clip_weights.expanduser()
    return fetch(settings.cache_dir / MODEL, HUB, _FILES, "RAGSCOPE_CLIP", say)


class ImageEmbedder:
    """Turns pictures and texts into vectors of unit length that can be compared. Safe to call from many threads."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """Load the model.

        Args:
            folder: What `find_clip` gives.

        Raises:
            ArtefactError: A file is missing or is not such a model.
        """
        self._vision = _session(folder / "vision.onnx", "image_embeds", threads)
        # Goes into the index fingerprint: vectors of other weights are not to be compared with these.
        self.name = f"clip-{sha256_of(folder / 'vision.onnx')[:12]}"
        self._text = _session(folder / "text.onnx", "text_embeds", threads)
        self._tokenizer = tokenizer(folder / "tokenizer.json", _MAX_TOKENS)
        self.dimensions = int(self._vision.get_outputs()[0].shape[-1])

    def embed_images(self, paths: Sequence[Path]) -> np.ndarray:
        """Embed pictures: (len(paths), dimensions) float32, rows of unit length in the order of `paths`.

        Raises:
            PictureError: A file cannot be read as a picture.
        """
        batches = (np.stack([_pixels(path) for path in batch]) for batch in _batches(paths))
        return self._rows(run(self._vision, {"pixel_values": batch}) for batch in batches)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, of which the first 75 tokens count: (len(texts), dimensions) float32, rows of unit length."""
        # One by one: rows of one length need no padding, which this model has no mask for.
        return self._rows(run(self._text, self._tokens(text)) for text in texts)

    def _tokens(self, text: str) -> dict[str, np.ndarray]:
        ids = np.array([self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        return {wanted.name: given[wanted.name] for wanted in self._text.get_inputs()}

    def _rows(self, batches: Iterator[np.ndarray]) -> np.ndarray:
        rows = np.concatenate([np.empty((0, self.dimensions), np.float32), *batches])
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _session(path: Path, output: str, threads: int) -> onnxruntime.InferenceSession:
    loaded = session(path, threads)
    if loaded.get_outputs()[0].name != output:
        raise ArtefactError(f"{path} is another model: put {_FILES[path.name]} of {HUB} there.")
    return loaded


def _batches(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    return (paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH))


def _pixels(path: Path) -> np.ndarray:
    """(3, 224, 224) float32. What is no square gets a white margin: CLIP's own crop would cut the ends off a chart."""
    try:
        with Image.open(path) as opened:
            if opened.width * opened.height > _MAX_PIXELS:
                raise PictureError(path)
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
            flat = Image.new("RGBA", upright.size, "white")
            flat.alpha_composite(upright)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise PictureError(path) from error
    image = ImageOps.pad(flat.convert("RGB"), (_SIDE, _SIDE), Image.Resampling.BICUBIC, color="white")
    return ((np.asarray(image, np.float32) / 255 - _MEAN) / _DEVIATION).transpose(2, 0, 1)
