"""One real Weaviate for the session, in a folder of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.settings import Settings
from rag_core.stores.weaviate.chunks import ChunkStore


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(data_dir=tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def store(settings: Settings) -> Iterator[ChunkStore]:
    opened = ChunkStore.open(settings, "test", say=print)
    yield opened
    opened.close()


@pytest.fixture
def tenant(store: ChunkStore) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex}"
    store.ensure_tenant(name)
    yield name
    store.drop_tenant(name)


@pytest.fixture
def own_settings(tmp_path: Path) -> Settings:
    """Settings with a data folder, hence a server, of the test's own."""
    return Settings(data_dir=tmp_path)
