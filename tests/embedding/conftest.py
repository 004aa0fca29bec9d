from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.settings import Settings


@pytest.fixture(scope="session")
def weights() -> Path:
    return find_weights(Settings.from_env())


@pytest.fixture(scope="session")
def int8(weights: Path) -> TextEmbedder:
    return TextEmbedder(weights, "int8")


@pytest.fixture(scope="session")
def float32(weights: Path) -> TextEmbedder:
    return TextEmbedder(weights, "float32")
