"""Descriptions of figures by a model that sees, over a real Weaviate and a scripted endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.errors import RagError
from rag_core.settings import Settings
from rag_core.types import Chunk
from rag_core.workbench import Workbench
from tests.model_server import ModelServer, Turn, model_server, says
from tests.parsing import pdfs

SAID = "A zeppelin moored above a harbour."


@pytest.fixture
def seeing() -> Iterator[ModelServer]:
    with model_server(models=["seeing"]) as server:
        server.then = says(f'{{"description": "{SAID}"}}')
        yield server


@pytest.fixture
def bench(tmp_path: Path, seeing: ModelServer) -> Iterator[Workbench]:
    settings = Settings(
        data_dir=tmp_path / "data", openai_base_url=seeing.base_url, openai_model="text-only", vision_model="seeing"
    )
    with Workbench.open(settings) as opened:
        opened.ingest(pdfs.figures(tmp_path / "a.pdf"))
        yield opened


def figures(bench: Workbench) -> list[Chunk]:
    (record,) = bench.documents("Documents")
    return [chunk for chunk in bench.chunks(record.id) if chunk.kind == "figure"]


def test_nothing_is_described_until_it_is_asked_for(bench: Workbench, seeing: ModelServer) -> None:
    expected = bench.estimate_descriptions("Documents")
    assert expected.figures == len(figures(bench)) > 0
    assert expected.input_tokens > 1_000
    assert seeing.asked == []


def test_described_figures_are_found_by_what_they_show_and_paid_for_once(
    bench: Workbench, seeing: ModelServer, tmp_path: Path
) -> None:
    bench.describe("Documents", now=True)
    paid = len(seeing.asked)
    assert paid == len(figures(bench))
    assert all(chunk.nearby.endswith(SAID) for chunk in figures(bench))
    told = bench.ask("Where is the zeppelin moored?", engine="keyless")
    assert told.evidence[0].chunk.kind == "figure"
    assert bench.estimate_descriptions("Documents").figures == 0
    bench.describe("Documents", now=True)
    (record,) = bench.documents("Documents")
    bench.retry(record.id)
    bench.ingest(tmp_path / "a.pdf")
    assert len(seeing.asked) == paid
    assert all(chunk.nearby.endswith(SAID) for chunk in figures(bench))


def test_what_comes_later_into_that_collection_is_described_too(
    bench: Workbench, seeing: ModelServer, tmp_path: Path
) -> None:
    bench.describe("Documents", now=True)
    before = len(seeing.asked)
    bench.ingest(pdfs.picture_of_text(tmp_path / "b.pdf"))
    assert len(seeing.asked) > before


def test_where_the_model_fails_the_document_says_so_and_the_next_time_goes_on(
    bench: Workbench, seeing: ModelServer
) -> None:
    before = figures(bench)
    good, seeing.then = seeing.then, Turn(status=400)
    results = []
    bench.describe("Documents", now=True, told=results.append)
    (result,) = results
    assert result.state == "indexed"
    assert f"{len(before)} of its figures are found by their own texts alone" in str(result.reason)
    assert figures(bench) == before
    seeing.then = good
    bench.describe("Documents", now=True)
    assert bench.documents("Documents")[0].reason is None
    assert all(chunk.nearby.endswith(SAID) for chunk in figures(bench))


@pytest.mark.parametrize("model", ["seeing", None])
def test_where_the_environment_says_so_figures_are_described_as_they_come(
    seeing: ModelServer, tmp_path: Path, model: str | None
) -> None:
    settings = Settings(
        data_dir=tmp_path / "data",
        openai_base_url=seeing.base_url,
        openai_model="text-only",
        vision_model=model,
        describe_figures=True,
    )
    with Workbench.open(settings) as opened:
        (result,) = opened.ingest(pdfs.figures(tmp_path / "a.pdf"))
        described = [chunk.nearby.endswith(SAID) for chunk in figures(opened)]
    assert result.state == "indexed"
    assert described == [model is not None] * 2
    assert ("MULTIMODAL_VISION_MODEL" in str(result.reason)) == (model is None)


def test_without_a_model_that_sees_it_says_what_to_set(workbench: Workbench) -> None:
    with pytest.raises(RagError, match="MULTIMODAL_VISION_MODEL"):
        workbench.describe("Documents")
