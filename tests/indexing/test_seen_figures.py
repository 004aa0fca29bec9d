"""Figures found by what they show, from the file to the evidence, over a real Weaviate and a CLIP of random weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.embedding.clip import ImageEmbedder, PictureError
from rag_core.errors import QuestionError
from rag_core.pipeline.plan import PRESETS
from rag_core.settings import Settings
from rag_core.types import Chunk
from rag_core.workbench import Workbench
from tests.parsing import pdfs
from tests.tiny_clip import tiny_clip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("seen")
    settings = Settings(data_dir=folder / "data", clip=True, clip_weights=tiny_clip(folder))
    with Workbench.open(settings) as opened:
        opened.ingest(pdfs.figures(folder / "a.pdf"))
        yield opened


def figures(bench: Workbench, collection: str = "Documents") -> list[Chunk]:
    return [
        chunk
        for record in bench.documents(collection)
        for chunk in bench.chunks(record.id)
        if chunk.kind == "figure" and chunk.image
    ]


def crop(bench: Workbench, figure: Chunk, folder: Path) -> Path:
    path = folder / "uploaded.png"
    path.write_bytes(bench.figure(figure.document, str(figure.image)))
    return path


def test_a_picture_finds_its_like_before_all_else(bench: Workbench, tmp_path: Path) -> None:
    assert len(figures(bench)) == 2
    for figure in figures(bench):
        told = bench.ask("What is this?", picture=crop(bench, figure, tmp_path))
        assert told.evidence[0].chunk.id == figure.id
        assert told.evidence[0].scores["image"] == pytest.approx(1, abs=1e-3)
        (span,) = [span for span in told.spans if span.name == "multimodal"]
        assert span.attributes["by_picture"]


def test_a_question_finds_figures_by_what_they_show(bench: Workbench) -> None:
    embedder = ImageEmbedder(Path(str(bench.settings.clip_weights)))
    (asked,) = embedder.embed_texts(["a red chart"])
    tenant = bench._ledger.tenant("Documents")
    vectors = bench._store.image_vectors(tenant, [figure.id for figure in figures(bench)])
    closest = max(vectors, key=lambda chunk_id: float(vectors[chunk_id] @ asked))
    told = bench.ask("a red chart")
    assert told.evidence[0].chunk.id == closest
    assert [hit.score for hit in told.evidence] == sorted((hit.score for hit in told.evidence), reverse=True)


def test_a_question_for_text_keeps_its_order(bench: Workbench) -> None:
    question = "What was caught in 2022?"
    seen = bench.ask(question).evidence
    plain = bench.ask(question, plan=PRESETS["simple"].off("multimodal")).evidence
    assert [hit.chunk.id for hit in seen][: len(plain)] == [hit.chunk.id for hit in plain]


def test_image_vectors_go_along_to_another_collection(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest(pdfs.picture_of_text(tmp_path / "b.pdf"), collection="Here")
    bench.create_collection("There")
    (record,) = bench.documents("Here")
    moved = figures(bench, "Here")
    bench.move(record.id, "There")
    bench._ingest.work(record.id)
    assert figures(bench, "There") == moved != []
    found = bench._store.image_vectors(bench._ledger.tenant("There"), [figure.id for figure in moved])
    assert set(found) == {figure.id for figure in moved}


def test_what_is_no_picture_is_refused_before_anything_is_searched(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    with pytest.raises(PictureError, match=r"notes\.png"):
        bench.start("What is this?", picture=tmp_path / "notes.png")
    with pytest.raises(QuestionError, match="multimodal"):
        bench.ask("What?", picture=tmp_path / "notes.png", plan=PRESETS["simple"].off("multimodal"))


def test_without_clip_a_picture_cannot_be_searched_by(workbench: Workbench, tmp_path: Path) -> None:
    workbench.ingest(pdfs.figures(tmp_path / "a.pdf"), collection="Unseen")
    with pytest.raises(QuestionError, match="RAGSCOPE_CLIP"):
        workbench.ask("What is this?", collection="Unseen", picture=tmp_path / "a.png")
