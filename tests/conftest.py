"""What tests of several rooms share: one workbench over a real Weaviate, in a data directory of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_core.settings import Settings
from rag_core.workbench import Workbench


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    with Workbench.open(Settings(data_dir=tmp_path_factory.mktemp("workbench"))) as opened:
        yield opened
