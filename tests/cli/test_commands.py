"""What a command says of wrong use, and how it is shown; tests/test_cli.py has them run as programs."""

import io
import signal
import sys
from pathlib import Path

import pytest

from rag_core.cli import asking, main


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests' own process keeps its signals and has its own data directory."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setenv("RAGSCOPE_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["  "], "Give a question, or --questions"),
        (["Where?", "--out", "a.jsonl"], "--out goes with --questions"),
        (["Where?", "--questions", "q.jsonl", "--out", "a.jsonl"], "not both"),
    ],
)
def test_what_would_be_left_unheeded_is_wrong_use(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_data_directory_that_is_a_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGSCOPE_DATA_DIR", str(tmp_path / "file"))
    assert main(["ask", "Where?"]) == 1
    assert "choose another place with RAGSCOPE_DATA_DIR" in capsys.readouterr().err


def test_what_a_terminal_has_no_character_for_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii", write_through=True))
    monkeypatch.setattr(asking, "ask", lambda _: print("Q3 — 50 €"))
    main(["ask", "How much?"])
    assert shown.getvalue() == b"Q3 \\u2014 50 \\u20ac\n"
