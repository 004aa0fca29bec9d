"""One real workbench for all tests of the pages, with a small document in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pages._server.state import use_workbench
from rag_core.settings import Settings
from rag_core.workbench import Workbench
from tests.pages.visits import COLLECTION, TIDE, pdf, wait_until_read


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    with Workbench.open(Settings(data_dir=tmp_path_factory.mktemp("pages"))) as opened:
        opened.serve()
        opened.create_collection(COLLECTION, "Ledgers of a harbour.")
        opened.add(pdf(TIDE, "The lighthouse keeper counted forty ships."), "tide.pdf", COLLECTION)
        wait_until_read(opened, COLLECTION)
        yield opened


@pytest.fixture
def shown(workbench: Workbench) -> Iterator[Workbench]:
    """The workbench that the pages show."""
    use_workbench(workbench)
    yield workbench
    use_workbench(None)
