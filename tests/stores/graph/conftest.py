"""Both back ends, each with an empty graph for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.settings import Settings
from rag_core.stores.graph import open_graph
from rag_core.stores.graph.facts import GraphStore
from tests.stores.graph.neo4j_server import started


@pytest.fixture(scope="session")
def neo4j_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with started(Settings.from_env().cache_dir, tmp_path_factory.mktemp("neo4j")) as address:
        yield address


@pytest.fixture(params=["ladybug", "neo4j"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    uri = request.getfixturevalue("neo4j_uri") if request.param == "neo4j" else None
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "neo4j-id").write_text("tests")  # always the same: Neo4j keeps the plans of queries
    return Settings(data_dir=tmp_path, graph_uri=uri)


@pytest.fixture
def graph(settings: Settings) -> Iterator[GraphStore]:
    opened = open_graph(settings, "tests-1")  # always the same, too
    yield opened
    opened.clear()
    opened.close()
