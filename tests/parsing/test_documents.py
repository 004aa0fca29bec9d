"""Documents as they are met: real papers, and files made or found to break readers."""

from __future__ import annotations

import time
from pathlib import Path

import pymupdf

from rag_core.errors import PdfParseError
from rag_core.parsing import ChunkSettings, Parser, chunk
from rag_core.settings import Settings
from tests.eval_data import eval_set

SAMPLE = 25


def test_a_paper_gives_its_sections_tables_and_figures(tmp_path: Path, parser: Parser) -> None:
    paper = tmp_path / "paper.pdf"
    with pymupdf.open(eval_set("starter") / "pdfs" / "tacl_a_00660.pdf") as document:
        document.select([0, 1, 4, 5])
        document.save(paper)
    parsed = parser.parse(paper, level="full", figures=tmp_path / "figures")
    titles = [element.text for element in parsed.elements if element.kind == "title"]
    assert titles[0].startswith("Automatically Correcting Large Language Models")
    assert {"1 Introduction", "2 Conceptual Framework", "3 Methodologies"} <= set(titles)

    chunks = chunk(parsed.elements, document="d", name="paper.pdf", settings=ChunkSettings())
    captions = {made.caption[:8] for made in chunks if made.kind != "text"}
    assert captions == {"Table 1:", "Table 2:", "Figure 1", "Figure 2"}
    table = next(made for made in chunks if made.caption.startswith("Table 1"))
    assert "RLHF (Ouyang et al., 2022) | Reward Model" in table.text
    assert all((tmp_path / "figures" / made.image).is_file() for made in chunks if made.image)


def test_hostile_files_are_read_or_refused_in_time(tmp_path: Path) -> None:
    files = sorted((eval_set("hostile") / "pdfs").iterdir())
    parser = Parser(Settings(page_seconds=10))
    refused = set()
    for path in files[:: len(files) // SAMPLE][:SAMPLE]:
        began = time.monotonic()
        try:
            parsed = parser.parse(path, level="quick", figures=tmp_path)
        except PdfParseError as error:
            refused.add(error.code)
        else:
            named = {failed.page for failed in parsed.failed}
            assert named <= set(range(1, parsed.pages + 1))
            chunk(parsed.elements, document="d", name=path.name, settings=ChunkSettings())
        assert time.monotonic() - began < 120, path.name
    parser.close()
    assert refused <= {"locked", "no_pages", "not_pdf", "unreadable"}
