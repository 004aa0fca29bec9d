from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_core.parsing import Parsed, Parser
from rag_core.settings import Settings


@pytest.fixture(scope="session")
def parser() -> Iterator[Parser]:
    made = Parser(Settings(page_seconds=20))
    yield made
    made.close()


@pytest.fixture
def read(parser: Parser, tmp_path: Path) -> Callable[..., Parsed]:
    def read(path: Path, level: str = "quick", password: str | None = None) -> Parsed:
        return parser.parse(path, level=level, figures=tmp_path / "figures", password=password)

    return read
