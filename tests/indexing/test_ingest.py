"""The offline flow over a real Weaviate: words first, meaning after, only what changed, nothing lost at a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_core.indexing.ledger import Ledger
from rag_core.indexing.records import DocumentRecord
from rag_core.pipeline.run import Run
from rag_core.settings import ROOT, Settings
from rag_core.types import Chunk
from rag_core.workbench import Workbench
from tests.papers import a_pdf
from tests.parsing import pdfs

THINGS = "anchor bakery candle dolphin engine falcon garden harbour island jungle kettle lantern meadow needle".split()


def page_about(thing: str) -> str:
    return f"Chapter on the {thing}. The {thing} was described by the clerk of {thing} town in {len(thing)} letters."


class Embeddings:
    """What the embedder was given; documents wait for their vectors while `go_on` is clear, questions do not."""

    def __init__(self, workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.go_on = threading.Event()
        self.go_on.set()
        embed = workbench._embedder.embed

        def noted(texts: Sequence[str], *rest: Any) -> np.ndarray:
            if threading.current_thread().name == "ingest-meaning":
                self.go_on.wait(30)
            self.texts += texts
            return embed(texts, *rest)

        monkeypatch.setattr(workbench._embedder, "embed", noted)

    def about(self, thing: str) -> int:
        return sum(thing in text for text in self.texts)


@pytest.fixture
def embeddings(workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Embeddings:
    return Embeddings(workbench, monkeypatch)


@pytest.fixture
def collection(workbench: Workbench) -> str:
    name = f"c {uuid.uuid4().hex}"
    workbench.create_collection(name)
    return name


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Workbench]:
    with Workbench.open(Settings(data_dir=tmp_path / "data")) as opened:
        opened.serve()
        yield opened


def the(workbench: Workbench, collection: str) -> DocumentRecord:
    (record,) = workbench.documents(collection)
    return record


def until(workbench: Workbench, document: str, reached: str, seconds: float = 120) -> DocumentRecord:
    """Wait until the field of the record is true, or the state is reached."""
    end = time.monotonic() + seconds
    while True:
        record = workbench.document(document)
        assert record is not None
        if getattr(record, reached, record.state == reached):
            return record
        assert time.monotonic() < end, f"{record.state}, {record.reason}"
        time.sleep(0.02)


def stored(workbench: Workbench, record: DocumentRecord) -> list[Chunk]:
    return workbench.chunks(record.id, limit=10_000)


def without_vector(workbench: Workbench, record: DocumentRecord) -> set[str]:
    """The chunks of a document that a search for their own vector does not find."""
    tenant = workbench._ledger.tenant(record.collection)
    ids = [chunk.id for chunk in stored(workbench, record)]
    vectors = workbench._store.vectors(tenant, ids)
    found = {
        chunk_id
        for chunk_id, vector in vectors.items()
        if chunk_id in {hit.chunk.id for hit in workbench._store.near_vector(tenant, vector, limit=3)}
    }
    return set(ids) - found


def by_words(told: Run) -> object:
    """What the trace says was searched by words alone."""
    (span,) = [span for span in told.spans if span.name == "retrieve"]
    return span.attributes.get("by_words")


def test_a_document_is_found_by_words_before_it_has_vectors(serving: Workbench, tmp_path: Path, monkeypatch) -> None:
    embeddings = Embeddings(serving, monkeypatch)
    embeddings.go_on.clear()
    serving.create_collection("Papers")
    document = serving.add(a_pdf(tmp_path / "a.pdf", *map(page_about, THINGS)), "a.pdf", "Papers").id
    record = until(serving, document, "searchable")
    assert not record.by_meaning
    told = serving.ask("What was described by the clerk of falcon town?", collection="Papers")
    assert "falcon" in told.evidence[0].chunk.text
    assert "dense" not in told.evidence[0].scores
    assert by_words(told) == ["a.pdf"]
    embeddings.go_on.set()
    until(serving, document, "by_meaning")
    told = serving.ask("What was described by the clerk of falcon town?", collection="Papers")
    assert "dense" in told.evidence[0].scores
    assert by_words(told) is None


def test_the_page_that_a_question_hits_gets_its_vectors_first(serving: Workbench, tmp_path: Path, monkeypatch) -> None:
    embeddings = Embeddings(serving, monkeypatch)
    embeddings.go_on.clear()
    serving.create_collection("Papers")
    numbered = [page_about(f"{THINGS[n % len(THINGS)]}{n}") for n in range(200)]
    document = serving.add(a_pdf(tmp_path / "a.pdf", *numbered), "a.pdf", "Papers").id
    until(serving, document, "searchable")
    serving.ask("clerk of kettle192 town", collection="Papers")
    embeddings.go_on.set()
    until(serving, document, "by_meaning")
    first = next(number for number, text in enumerate(embeddings.texts) if "kettle192" in text)
    assert first <= 128, "the last of 200 pages came with the first batch after the question"


def test_of_a_changed_file_only_what_changed_is_embedded_and_read(
    workbench: Workbench, collection: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    path = tmp_path / "a.pdf"
    a_pdf(path, *map(page_about, THINGS))
    workbench.ingest(path, collection=collection)
    before = {chunk.id: chunk for chunk in stored(workbench, the(workbench, collection))}
    embeddings.texts.clear()
    a_pdf(path, *map(page_about, [*THINGS[:5], "zeppelin", *THINGS[6:]]))
    workbench.ingest(path, collection=collection)
    after = {chunk.id: chunk for chunk in stored(workbench, the(workbench, collection))}
    assert len(after) == len(before)
    assert len(set(after) - set(before)) == len(embeddings.texts) == embeddings.about("zeppelin")
    assert without_vector(workbench, the(workbench, collection)) == set()


def test_a_page_put_in_front_moves_the_others_and_embeds_itself_alone(
    workbench: Workbench, collection: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    path = tmp_path / "a.pdf"
    a_pdf(path, *map(page_about, THINGS[:6]))
    workbench.ingest(path, collection=collection)
    embeddings.texts.clear()
    a_pdf(path, *map(page_about, ["zeppelin", *THINGS[:6]]))
    workbench.ingest(path, collection=collection)
    assert len(embeddings.texts) == embeddings.about("zeppelin") > 0
    assert [chunk.page for chunk in stored(workbench, the(workbench, collection)) if "falcon" in chunk.text] == [7]


def test_a_folder_where_nothing_changed_is_neither_read_nor_copied(
    workbench: Workbench, collection: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_pdf(tmp_path / "a.pdf", page_about("anchor"))
    workbench.ingest(tmp_path, collection=collection)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was done again")

    monkeypatch.setattr(workbench._parser, "parse", never)
    monkeypatch.setattr(workbench._originals, "keep", never)
    (result,) = workbench.ingest(tmp_path, collection=collection)
    assert result.state == "unchanged"


def test_refining_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", parse_workers=1)
    path = a_pdf(tmp_path / "a.pdf", *map(page_about, THINGS))
    with Workbench.open(settings) as first:
        first.create_collection("Papers")
        first.serve()
        document = first.add(path, "a.pdf", "Papers").id
        while (progress := first._ingest.progress(document)) is None or not (
            progress.stage == "refine" and progress.done >= 3
        ):
            time.sleep(0.01)
    (kept,) = settings.data_dir.glob("originals/*/pages-*.jsonl")
    # A page that were read again would not say what is written here.
    kept.write_text(kept.read_text().replace("Chapter on the anchor", "Kept page of the anchor"))
    with Workbench.open(settings) as second:
        second.serve()
        record = until(second, document, "ready")
        texts = " ".join(chunk.text for chunk in stored(second, record))
    assert "Kept page of the anchor" in texts
    assert all(thing in texts for thing in THINGS)


def test_citations_of_a_run_open_after_refining_has_replaced_the_chunks(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(a_pdf(tmp_path / "a.pdf", *map(page_about, THINGS)), collection=collection, quick=True)
    told = workbench.ask("What was described by the clerk of falcon town?", collection=collection)
    workbench.ingest(tmp_path / "a.pdf", collection=collection)
    assert the(workbench, collection).state == "ready"
    run = workbench.run(told.id)
    assert run is not None
    cited = next(hit.chunk for hit in run.evidence if hit.chunk.id == run.sentences[0].citations[0])
    assert cited.page == 6
    assert cited.places[0].boxes
    assert workbench.page_image(cited.document, cited.page).startswith(b"\x89PNG")


@pytest.mark.parametrize("reached", ["searchable", "by_meaning"])
def test_after_a_kill_everything_is_there_with_its_vector(tmp_path: Path, reached: str) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    path = a_pdf(tmp_path / "a.pdf", *(page_about(f"{THINGS[n % len(THINGS)]}{n}") for n in range(40)))
    process = subprocess.Popen(
        [sys.executable, "-m", "rag_core", "ingest", str(path)],
        cwd=ROOT,
        env={**os.environ, "RAGSCOPE_DATA_DIR": str(settings.data_dir)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not (settings.data_dir / "ledger.sqlite").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    ledger = Ledger(settings.data_dir / "ledger.sqlite")
    while not any(getattr(record, reached) for record in ledger.documents("Documents")):
        assert time.monotonic() < end
        time.sleep(0.01)
    server = int((settings.data_dir / "weaviate" / "pid").read_text())
    for pid in (process.pid, server):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    ledger.close()
    with Workbench.open(settings) as workbench:
        workbench.serve()
        record = until(workbench, the(workbench, "Documents").id, "ready", seconds=110)
        assert len(stored(workbench, record)) == record.chunks
        assert {chunk.page for chunk in stored(workbench, record)} == set(range(1, 41))
        assert without_vector(workbench, record) == set()


def test_a_scan_is_kept_with_how_well_each_page_was_read(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    workbench.ingest(pdfs.scan(tmp_path / "a.pdf"), collection=collection)
    ((page, read),) = the(workbench, collection).ocr.items()
    assert (page, read.reason) == (1, "scan")
    assert 0.5 < read.confidence <= 1
