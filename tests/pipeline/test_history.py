from pathlib import Path

from rag_core.pipeline.forecast import PAST, Spent
from rag_core.pipeline.history import History
from rag_core.pipeline.run import Run


def a_run(id_: str, *, chat: str = "c", at: str = "2026-01-01T00:00:00", status: str = "done") -> Run:
    known = {"question": f"{id_}?", "plan": {}, "engine": "keyless", "collection": "Papers"}
    return Run.model_validate({"id": id_, "chat": chat, "created_at": at, "status": status, **known})


def test_a_run_comes_back_as_it_was_also_after_a_restart(tmp_path: Path) -> None:
    first = History(tmp_path / "runs.sqlite")
    first.keep(a_run("one"))
    first.close()
    assert History(tmp_path / "runs.sqlite").get("one") == a_run("one")


def test_a_later_state_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    history.keep(a_run("one", status="running"))
    assert [run.id for run in history.interrupted()] == ["one"]
    history.keep(a_run("one"))
    assert history.interrupted() == []
    assert len(history.chat("c")) == 1


def test_a_chat_has_its_runs_in_order_and_the_latest_chat_comes_first(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    history.keep(a_run("2", chat="a", at="2026-01-02"))
    history.keep(a_run("1", chat="a", at="2026-01-01"))
    history.keep(a_run("3", chat="b", at="2026-01-03"))
    assert [run.id for run in history.chat("a")] == ["1", "2"]
    chats = history.recent_chats()
    assert [(chat.id, chat.first_question, chat.runs) for chat in chats] == [("b", "3?", 1), ("a", "1?", 2)]


def test_the_questions_of_a_chat_come_by_run_and_in_order(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    for run in (a_run("2", at="2026-01-02"), a_run("1", at="2026-01-01"), a_run("other", chat="d")):
        history.keep(run)
    assert [*history.questions("c").items()] == [("1", "1?"), ("2", "2?")]


def test_what_was_answered_last_in_a_chat_comes_oldest_first(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    for day in range(1, 5):
        history.keep(a_run(str(day), at=f"2026-01-0{day}").model_copy(update={"final_answer": f"{day}!"}))
    history.keep(a_run("refused", at="2026-01-05").model_copy(update={"refused": True}))
    history.keep(a_run("failed", at="2026-01-06", status="failed"))
    history.keep(a_run("other", chat="d", at="2026-01-07"))
    assert [(turn.question, turn.answer) for turn in history.turns("c", 3)] == [
        ("2?", "2!"),
        ("3?", "3!"),
        ("4?", "4!"),
    ]


def test_feedback_is_kept_and_can_be_taken_back(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    history.keep(a_run("one"))
    history.feedback("one", "good")
    assert history.get("one") == a_run("one").model_copy(update={"feedback": "good"})
    history.feedback("one", None)
    assert history.get("one") == a_run("one")


def test_two_processes_share_one_file(tmp_path: Path) -> None:
    mine, other = History(tmp_path / "runs.sqlite"), History(tmp_path / "runs.sqlite")
    mine.keep(a_run("one"))
    other.keep(a_run("two"))
    assert {run.id for run in mine.chat("c")} == {"one", "two"}


def test_what_runs_took_is_of_those_that_ended_by_themselves_and_were_asked_here(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    usual = {"plan": {"name": "fast"}, "seconds": 2.5}
    for at, other in enumerate(
        ({}, {"refused": True}, {"status": "stopped"}, {"imported": "x"}, {"ledger_of": "0"}, {"engine": "m"})
    ):
        run = a_run(str(at), at=f"2026-01-0{at + 1}")
        history.keep(run.model_copy(update={**usual, **other}))
    assert history.spent("keyless") == [Spent("1", "fast", 2.5, 0), Spent("0", "fast", 2.5, 0)]
    assert history.spent("keyless", {"1"}) == [Spent("0", "fast", 2.5, 0)]
    history.close()


def test_what_a_plan_took_is_not_forgotten_over_many_runs_of_another(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    history.keep(a_run("once", at="2026-01-01").model_copy(update={"plan": {"name": "quality"}}))
    for at in range(450):
        history.keep(a_run(str(at), at=f"2026-02-01T{at:04}").model_copy(update={"plan": {"name": "fast"}}))
    runs = [one.run for one in history.spent("keyless")]
    assert runs == [*(str(at) for at in range(449, 449 - PAST, -1)), "once"]
    history.close()
