"""Files of questions and results, as they come and as they break."""

import errno
import json
import os
import threading
from io import FileIO
from pathlib import Path

import pytest

from rag_core.cli.asking import Question
from rag_core.cli.lines import append, going_on, read_lines
from rag_core.errors import PlanError, RagError


def test_a_mark_of_its_encoding_at_the_start_of_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    given = tmp_path / "given.jsonl"
    given.write_text('{"id": 1, "question": "Wo?\u2028Dort?"}\r\n\r\n', encoding="utf-8-sig")
    assert [question.question for question in read_lines(given, Question, "id and question")] == ["Wo?\u2028Dort?"]


@pytest.mark.parametrize("line", ["[" * 100_000, "NaN", '{"id": NaN, "question": "a"}'], ids=["deep", "NaN", "NaN id"])
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    given = tmp_path / "given.jsonl"
    given.write_text(f'{{"id": 1, "question": "a"}}\n{line}\n')
    with pytest.raises(PlanError, match="line 2: it is not an object with id and question"):
        read_lines(given, Question, "id and question")


def test_results_are_gone_on_with_after_half_a_line(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    out.write_text('{"id": 1}\n{"id": "tw')
    with going_on(out, given, [1, "two"], "questions") as (file, done):
        assert done == 1
        append(file, {"id": "two", "text": "half \ud83d"})
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [1, "two"]


def test_where_there_are_no_locks_results_are_written_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    out = tmp_path / "out.jsonl"
    out.write_text('{"id": 1}\n')
    with going_on(out, tmp_path / "given.jsonl", [1, 2], "questions") as (_, done):
        assert done == 1
    assert "cannot be locked" in caplog.text


def test_one_process_at_a_time_writes_a_file_of_results(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    with going_on(out, given, [1], "questions") as (file, _):
        append(file, {"id": 1})
        with pytest.raises(PlanError, match="Another process is writing"), going_on(out, given, [1], "questions"):
            pass
    with going_on(out, given, [1], "questions") as (_, done):
        assert done == 1, "what was written stays, and the file is free again"


def test_questions_are_not_taken_for_their_answers(tmp_path: Path) -> None:
    given = tmp_path / "given.jsonl"
    given.write_text('{"id": 1, "question": "a"}\n')
    with pytest.raises(PlanError, match="another file than the questions"), going_on(given, given, [1], "questions"):
        pass


def test_results_go_into_a_pipe_that_nobody_else_writes(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    with going_on(pipe, tmp_path / "given.jsonl", [1], "questions") as (file, done):
        append(file, {"id": done})
    reader.join(timeout=30)
    assert read == ['{"id": 0}\n']


def test_a_place_that_cannot_be_written_is_named_once(tmp_path: Path) -> None:
    out = tmp_path / "none" / "out.jsonl"
    with pytest.raises(PlanError) as raised, going_on(out, tmp_path / "given.jsonl", [1], "questions"):
        pass
    assert str(raised.value) == f"{out} cannot be written: {os.strerror(errno.ENOENT)}."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_full_disk_is_said() -> None:
    with FileIO("/dev/full", "a") as file, pytest.raises(RagError, match="make room and start again"):
        append(file, {"id": 1})
