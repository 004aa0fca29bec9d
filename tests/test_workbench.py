"""The whole library over a real Weaviate: files in, cited answers out, bad input said in a sentence."""

import gzip
import json
import os
import shutil
import signal
import stat
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from string import ascii_lowercase

import pytest

from rag_core.errors import DocumentError, QuestionError, RagError, UnknownCollection, UnknownDocument
from rag_core.indexing.records import DocumentRecord
from rag_core.llm.connections import ModelConnection
from rag_core.settings import Settings
from rag_core.workbench import DEMO_FOLDER, Workbench
from tests.model_server import Turn, model_server, says
from tests.papers import a_pdf

FOX = "The red fox lives in the old forest near Lake Wanaka. It hunts at night."
OWL = "The barn owl sleeps in the church tower of Queenstown. It eats 1,460 mice a year."


@pytest.fixture
def collection() -> str:
    return f"c {uuid.uuid4().hex}"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Workbench]:
    """A workbench with its background work on, over a data directory of the test's own."""
    with Workbench.open(Settings(data_dir=tmp_path / "data", max_pages=20, max_file_mb=1)) as opened:
        opened.serve()
        yield opened


def pages_of(text: str, pages: int) -> list[str]:
    """Pages that are alike but not the same: what comes again and again at the same place is a running head."""
    return [f"{text} {letter * 8}." for letter in ascii_lowercase[:pages]]


def until(settled: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not settled():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def settled(workbench: Workbench, document_id: str) -> DocumentRecord:
    def over() -> bool:
        record = workbench.document(document_id)
        return record is not None and record.state in ("ready", "partial", "failed")

    until(over)
    record = workbench.document(document_id)
    assert record is not None
    return record


def test_a_folder_goes_in_and_a_cited_answer_comes_out(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    a_pdf(tmp_path / "fox.pdf", FOX)
    a_pdf(tmp_path / "owl.pdf", "A page about nothing much.", OWL)
    results = workbench.ingest(tmp_path, collection=collection)
    assert [(result.name, result.state) for result in results] == [("fox.pdf", "indexed"), ("owl.pdf", "indexed")]
    told = workbench.ask("How many mice does the barn owl eat a year?", collection=collection)
    assert "1,460 mice" in told.final_answer
    cited = next(hit.chunk for hit in told.evidence if hit.chunk.id == told.sentences[0].citations[0])
    assert (cited.name, cited.page) == ("owl.pdf", 2)
    assert cited.places[0].boxes, "a citation has a box"
    assert workbench.run(told.id) == told


def test_the_same_folder_again_costs_nothing(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    a_pdf(tmp_path / "fox.pdf", FOX)
    workbench.ingest(tmp_path, collection=collection)
    before = workbench.documents(collection)
    (again,) = workbench.ingest(tmp_path, collection=collection)
    assert again.state == "unchanged"
    assert workbench.documents(collection) == before


def test_a_changed_file_takes_the_place_of_its_earlier_version(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    a_pdf(tmp_path / "notes.pdf", FOX)
    workbench.ingest(tmp_path, collection=collection)
    a_pdf(tmp_path / "notes.pdf", OWL)
    workbench.ingest(tmp_path, collection=collection)
    texts = [chunk.text for chunk in workbench.chunks(workbench.documents(collection)[0].id)]
    assert len(texts) == 1
    assert "barn owl" in texts[0]


def test_a_question_can_be_limited_to_documents(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    a_pdf(tmp_path / "fox.pdf", FOX)
    a_pdf(tmp_path / "owl.pdf", OWL)
    workbench.ingest(tmp_path, collection=collection)
    told = workbench.ask("Where does the barn owl sleep?", collection=collection, documents=["fox.pdf"])
    assert {hit.chunk.name for hit in told.evidence} == {"fox.pdf"}
    with pytest.raises(UnknownDocument, match=r"cat\.pdf"):
        workbench.ask("Where?", collection=collection, documents=["cat.pdf"])


def test_passages_keep_their_ids_and_bad_lines_stop_nothing(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    lines = [json.dumps({"id": 7, "title": "Fox", "text": FOX}), "no JSON", json.dumps({"id": "o", "text": OWL})]
    with gzip.open(tmp_path / "animals.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    (result,) = workbench.ingest(tmp_path / "animals.jsonl.gz", collection=collection)
    assert (result.state, result.chunks) == ("partial", 2)
    assert "Line 2" in (result.reason or "")
    told = workbench.ask("Where does the fox live?", collection=collection)
    assert told.evidence[0].chunk.source == "7"
    assert told.evidence[0].chunk.page is None


def test_a_removed_document_is_no_longer_found_and_its_file_is_gone(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    unique = uuid.uuid4().hex
    a_pdf(tmp_path / "fox.pdf", f"{FOX} {unique}")
    a_pdf(tmp_path / "owl.pdf", OWL)
    workbench.ingest(tmp_path, collection=collection)
    sha256 = next(record.sha256 for record in workbench.documents(collection) if record.name == "fox.pdf")
    workbench.remove("fox.pdf", collection)
    told = workbench.ask("Where does the red fox live?", collection=collection)
    assert {hit.chunk.name for hit in told.evidence} == {"owl.pdf"}
    assert not list(workbench.settings.data_dir.glob(f"originals/**/{sha256}"))


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("notes.pdf", b"just some text", "not_pdf", "not a PDF"),
        ("empty.pdf", b"", "empty", "empty"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_in_a_sentence(
    serving: Workbench, name: str, content: bytes, code: str, said: str
) -> None:
    serving.create_collection("Papers")
    record = settled(serving, serving.add(content, name, "Papers").id)
    assert (record.state, record.code) == ("failed", code)
    assert said in (record.reason or "")
    assert (record.reason or "").count("\n") == 0


def test_limits_are_said_with_how_to_raise_them(serving: Workbench, tmp_path: Path) -> None:
    serving.create_collection("Papers")
    with pytest.raises(DocumentError, match="RAGSCOPE_MAX_FILE_MB"):
        serving.add(b"%PDF" + b"0" * 1_100_000, "big.pdf", "Papers")
    many = a_pdf(tmp_path / "many.pdf", *[f"Page {n}" for n in range(21)])
    record = settled(serving, serving.add(many, "many.pdf", "Papers").id)
    assert record.code == "too_many_pages"


def test_a_locked_file_asks_for_its_password_and_then_opens(serving: Workbench, tmp_path: Path) -> None:
    serving.create_collection("Papers")
    locked = a_pdf(tmp_path / "locked.pdf", FOX, password="sesame")
    document = serving.add(locked, "locked.pdf", "Papers").id
    record = settled(serving, document)
    assert (record.code, "password" in (record.reason or "")) == ("locked", True)
    serving.retry(document, password="wrong")
    until(lambda: (serving.document(document) or record).code == "wrong_password")
    serving.retry(document, password="sesame")
    until(lambda: (serving.document(document) or record).state == "ready")
    assert serving.page_image(document, 1).startswith(b"\x89PNG")


def test_background_work_goes_on_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    with Workbench.open(settings) as first:
        first.create_collection("Papers")
        document = first.add(a_pdf(tmp_path / "fox.pdf", FOX), "fox.pdf", "Papers").id
    with Workbench.open(settings) as second:
        second.serve()
        assert settled(second, document).state == "ready"


def test_after_a_change_of_settings_documents_are_read_again_and_until_then_it_is_said(tmp_path: Path) -> None:
    paper, data = a_pdf(tmp_path / "fox.pdf", FOX), tmp_path / "data"
    with Workbench.open(Settings(data_dir=data)) as before:
        before.ingest(paper)
    with Workbench.open(Settings(data_dir=data, precision="float32")) as after:
        with pytest.raises(QuestionError, match="Settings have changed, so the documents of 'Documents'"):
            after.ask("Where does the fox live?", engine="keyless")
        assert [result.state for result in after.ingest(paper)] == ["indexed"]
        assert "forest" in after.ask("Where does the fox live?", engine="keyless").final_answer


def test_deleting_what_is_being_read_ends_the_reading(serving: Workbench, tmp_path: Path) -> None:
    serving.create_collection("Papers")
    document = serving.add(a_pdf(tmp_path / "fox.pdf", *pages_of(FOX, 15)), "fox.pdf", "Papers").id
    until(lambda: (record := serving.document(document)) is not None and record.state != "waiting")
    serving.delete(document)
    until(lambda: serving.document(document) is None)
    assert serving.documents("Papers") == []


def test_nothing_can_be_asked_of_nothing(tmp_path: Path) -> None:
    with Workbench.open(Settings(data_dir=tmp_path)) as empty:
        with pytest.raises(QuestionError, match="no documents yet"):
            empty.ask("What?")
        empty.create_collection("Papers")
        with pytest.raises(QuestionError, match="searchable yet"):
            empty.ask("What?")


def test_bad_questions_are_refused_before_anything_runs(workbench: Workbench) -> None:
    with pytest.raises(QuestionError, match="empty"):
        workbench.start("   ")
    with pytest.raises(QuestionError, match="10,000"):
        workbench.start("x" * 10_000)


def test_an_unknown_collection_is_an_error_and_never_a_wider_search(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=collection)
    with pytest.raises(UnknownCollection, match="'Nowhere'"):
        workbench.ask("Where does the fox live?", collection="Nowhere")


def test_a_run_goes_on_without_anybody_watching_and_is_there_afterwards(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=collection)
    chat = uuid.uuid4().hex
    run_id = workbench.start("Where does the fox live?", collection=collection, chat=chat)
    until(lambda: (run := workbench.run(run_id)) is not None and run.status == "done")
    assert [run.id for run in workbench.chat(chat)] == [run_id]
    workbench.feedback(run_id, "good")
    assert workbench.chat(chat)[0].feedback == "good"


def test_a_run_can_be_stopped_while_the_model_writes(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=collection)
    with model_server() as server:
        server.then = Turn(["slow "] * 600, pause_s=0.1)
        workbench.connect(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        try:
            run_id = workbench.start("Where does the fox live?", collection=collection, chat="stop")
            live = workbench.live(run_id)
            assert live is not None
            until(lambda: any(event.kind == "text" for event in live.events))
            began = time.monotonic()
            workbench.stop(run_id)
            record = live.wait(30)
            assert time.monotonic() - began < 20
        finally:
            workbench.connect(None)
    assert record is not None
    assert (record.status, len(record.evidence)) == ("stopped", 1)


def test_the_model_that_was_chosen_is_used_and_its_key_is_nobody_else_s(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=collection)
    with model_server() as server:
        server.key = "secret"
        server.script = [says("In the old forest [1].\nCONFIDENCE: 0.9"), says('{"quality": 0.9}')]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted", api_key="secret")
        assert workbench.test_connection(connection).ok
        workbench.connect(connection)
        try:
            told = workbench.ask("Where does the fox live?", collection=collection)
        finally:
            workbench.connect(None)
    assert (told.engine, told.final_answer) == ("scripted", "In the old forest.")
    saved = workbench.settings.data_dir / "connection.json"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert "secret" not in told.model_dump_json()


def test_asking_a_model_where_there_is_none_says_what_to_set(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX), collection=collection)
    with pytest.raises(QuestionError, match="OPENAI_BASE_URL"):
        workbench.ask("Where?", collection=collection, engine="model")


def test_weaviate_killed_during_an_upload_and_during_questions_costs_nothing(
    serving: Workbench, tmp_path: Path
) -> None:
    serving.create_collection("Papers")
    first = serving.add(a_pdf(tmp_path / "fox.pdf", FOX), "fox.pdf", "Papers").id
    settled(serving, first)
    pid = int((serving.settings.data_dir / "weaviate" / "pid").read_text())
    second = serving.add(a_pdf(tmp_path / "owl.pdf", *pages_of(OWL, 12)), "owl.pdf", "Papers").id
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    told = [serving.ask("Where does the red fox live?", collection="Papers") for _ in range(20)]
    assert all("forest" in run.final_answer for run in told), [run.error for run in told if run.error]
    assert settled(serving, second).state == "ready"
    assert "tower" in serving.ask("Where does the barn owl sleep?", collection="Papers").final_answer


def test_every_part_says_how_it_is(workbench: Workbench) -> None:
    parts = {part.part: part for part in workbench.health()}
    assert set(parts) == {"Weaviate", "Embedder", "Model", "Disk", "OCR"}
    assert parts["Weaviate"].ok
    assert parts["Weaviate"].details["version"] == "1.39.0"


def test_a_data_directory_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RagError, match="RAGSCOPE_DATA_DIR"):
        Workbench.open(Settings(data_dir=tmp_path / "file" / "below"))


def test_the_demo_answers_its_headline_question(workbench: Workbench, collection: str) -> None:
    files = [DEMO_FOLDER / "dataweave-press-release.pdf", DEMO_FOLDER / "innovatecorp-q3-2023-report.pdf"]
    workbench.ingest(*files, collection=collection, quick=True)
    told = workbench.ask(
        "What new product was launched by the company that InnovateCorp acquired?", collection=collection
    )
    assert "QuantumLeap Analytics" in told.final_answer


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 330 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=330M", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_said_in_a_sentence_and_nothing_is_lost(small_disk: Path, tmp_path: Path) -> None:
    settings = Settings(data_dir=small_disk / "data")
    filler = small_disk / "filler"
    with Workbench.open(settings) as workbench:
        workbench.ingest(a_pdf(tmp_path / "fox.pdf", FOX))
        fill(filler, leaving=1_000_000)
        (result,) = workbench.ingest(a_pdf(tmp_path / "owl.pdf", OWL))
        assert result.state == "failed"
        assert "full" in (result.reason or "")
        assert "forest" in workbench.ask("Where does the red fox live?").final_answer
        fill(filler, leaving=0)
        assert workbench.ask("Where does the red fox live?").status == "done"
    with pytest.raises(RagError, match="with some space"):
        Workbench.open(settings)
    filler.unlink()
    with Workbench.open(settings) as again:
        (result,) = again.ingest(tmp_path / "owl.pdf")
        assert result.state == "indexed"
        assert "tower" in again.ask("Where does the barn owl sleep?").final_answer
        assert "forest" in again.ask("Where does the red fox live?").final_answer


def fill(file: Path, *, leaving: int) -> None:
    with suppress(OSError), file.open("ab", buffering=0) as growing:
        while (room := shutil.disk_usage(file.parent).free - leaving) > 0:
            growing.write(b"\0" * min(room, 1 << 20))
