"""Files of every family, from the file to the answer, over a real Weaviate."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.workbench import Workbench
from tests.parsing import files


def page(tag: str) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_text(tag, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("report.docx", files.word),
        ("talk.pptx", files.slides),
        ("note.html", page(f"<h1>Tides</h1><p>{files.TIDE}</p>")),
        ("note.md", page(f"# Tides\n\n{files.TIDE}\n")),
        ("note.txt", page(f"Tides\n\n{files.TIDE}\n")),
        ("scan.png", files.scan),
    ],
)
def test_an_answer_cites_its_place_in_a_file_of_any_kind(
    workbench: Workbench, tmp_path: Path, name: str, make: Callable[[Path], Path]
) -> None:
    collection = f"c {uuid.uuid4().hex}"
    make(tmp_path / name)
    (result,) = workbench.ingest(tmp_path, collection=collection)
    assert (result.name, result.state) == (name, "indexed")
    told = workbench.ask("How many times a year is the tide measured in Oban?", collection=collection)
    assert "730 times" in told.final_answer
    cited = next(hit.chunk for hit in told.evidence if hit.chunk.id == told.sentences[0].citations[0])
    assert (cited.name, cited.page) == (name, 1)
    assert cited.places[0].boxes
    assert workbench.page_image(cited.document, 1).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["catches.xlsx", "catches.csv"])
def test_a_sheet_is_found_by_what_its_cells_say(workbench: Workbench, tmp_path: Path, name: str) -> None:
    collection = f"c {uuid.uuid4().hex}"
    lines = "Harbour,Catch in tonnes\nOban,1455\nMallaig,980\n"
    (files.excel if name.endswith("xlsx") else page(lines))(tmp_path / name)
    (result,) = workbench.ingest(tmp_path, collection=collection)
    assert result.state == "indexed"
    told = workbench.ask("What is the catch in Oban harbour?", collection=collection)
    best = told.evidence[0].chunk
    assert (best.kind, best.name, best.page) == ("table", name, 1)
    assert best.places[0].boxes
    assert "data-box" in (best.html or "")
