"""How a document reads in the list."""

from __future__ import annotations

from typing import Any

import pytest

from pages._parts.library import notices, row, to_retry
from rag_core.indexing.records import DocumentRecord, Progress
from rag_core.parsing.records import FailedPage, PageOcr

BROKEN = FailedPage(page=7, reason="it is damaged.")


def record(**given: Any) -> DocumentRecord:
    base = {
        "id": "d",
        "collection": "c",
        "name": "a.pdf",
        "sha256": "",
        "bytes": 1,
        "state": "ready",
        "added_at": "2026",
    }
    return DocumentRecord.model_validate({**base, **given})


def shares(drawn: dict[str, Any]) -> dict[str, float]:
    return {stage["name"]: stage["share"] for stage in drawn["stages"]}


def test_a_ready_document_says_what_it_holds() -> None:
    drawn = row(record(pages=24, tables=6, figures=1, searchable=True))
    assert drawn["line"] == "24 pages · 6 tables · 1 figure"
    assert drawn["state"] == {"sign": "●", "words": "ready", "grade": "full"}
    assert (drawn["group"], drawn["actions"], drawn["more"]) == ("ready", ["open"], ["again", "move", "delete"])
    assert drawn["stages"] == []


def test_found_by_words_by_meaning_and_refined_are_told_apart() -> None:
    read = Progress(stage="read", done=40, total=158, per_s=90.2, left_s=1.3)
    drawn = row(record(state="reading", progress=read))
    assert shares(drawn) == pytest.approx({"read": 40 / 158, "words": 0, "meaning": 0, "refine": 0})
    assert drawn["pace"] == ["90.2 p/s", "0:01 left"]

    embed = Progress(stage="embed", done=100, total=400)
    drawn = row(record(state="refining", pages=158, searchable=True, progress=embed))
    assert shares(drawn) == pytest.approx({"read": 1, "words": 1, "meaning": 0.25, "refine": 0})
    assert drawn["line"] == "158 pages · searchable by its words"

    refine = Progress(stage="refine", done=61, total=158, per_s=3.1, left_s=31)
    drawn = row(record(state="refining", pages=158, searchable=True, by_meaning=True, progress=refine))
    assert shares(drawn) == pytest.approx({"read": 1, "words": 1, "meaning": 1, "refine": 61 / 158})
    assert drawn["line"] == "158 pages · searchable, getting better"
    assert drawn["pace"] == ["3.1 p/s", "0:31 left"]


def test_the_bar_does_not_jump_back_when_refined_pages_are_cut_and_embedded() -> None:
    embed = Progress(stage="embed", done=0, total=400)
    drawn = row(record(state="refining", searchable=True, by_meaning=True, progress=embed))
    assert shares(drawn) == {"read": 1, "words": 1, "meaning": 1, "refine": 1}


def test_a_new_version_being_read_says_that_the_earlier_one_is_searched() -> None:
    drawn = row(
        record(
            state="reading", pages=3, searchable=True, by_meaning=True, progress=Progress(stage="read", done=0, total=3)
        )
    )
    assert drawn["line"].endswith("its earlier version is searched")
    assert shares(drawn)["refine"] == 0


def test_pages_that_failed_are_told_once_a_reason() -> None:
    reason = "the page's drawing has 66,104 paths, the limit is 20,000."
    failed = [FailedPage(page=7, reason=reason), FailedPage(page=12, reason=reason)]
    drawn = row(record(state="partial", pages=18, searchable=True, failed_pages=failed))
    assert drawn["problem"] == f"Pages 7 and 12 could not be read: {reason}"
    assert drawn["state"]["words"] == "16 of 18 pages"
    assert (drawn["group"], drawn["actions"], drawn["more"][0]) == ("attention", ["open"], "retry")


def test_a_scan_says_how_many_pages_were_read_by_ocr_and_how_well() -> None:
    read = {1: PageOcr(confidence=0.9, reason="scan"), 4: PageOcr(confidence=0.98, reason="characters")}
    assert row(record(pages=9, ocr=read))["line"] == "9 pages · 2 pages read by OCR, 94% sure"


def test_a_thousand_failed_pages_stay_one_line() -> None:
    failed = [FailedPage(page=page, reason="it is damaged") for page in range(1, 1001)]
    assert row(record(state="partial", pages=1200, failed_pages=failed))["problem"].endswith(
        "Pages 1, 2, 3, 4, 5, 6, 7, 8 and 992 more could not be read: it is damaged."
    )


@pytest.mark.parametrize(("code", "action"), [("locked", "password"), ("not_pdf", "delete"), ("lost", "retry")])
def test_a_document_that_failed_says_why_and_what_can_be_done(code: str, action: str) -> None:
    drawn = row(record(state="failed", code=code, reason="It is so."))
    assert (drawn["problem"], drawn["state"]["words"]) == ("It is so.", "not indexed")
    assert drawn["actions"] == [action]
    assert [*drawn["actions"], *drawn["more"]].count("retry") == 1


def test_a_failed_new_version_can_be_opened_as_the_earlier_one() -> None:
    drawn = row(record(state="failed", reason="It is so.", searchable=True, pages=3, chunks=2))
    assert drawn["state"]["words"] == "earlier version"
    assert (drawn["actions"], drawn["more"][0]) == (["open"], "retry")


def test_a_document_on_its_way_can_only_be_waited_for() -> None:
    drawn = row(record(moving_to="Papers", pages=2, searchable=True))
    assert drawn["line"] == "2 pages · on its way to Papers"
    assert (drawn["group"], drawn["actions"], drawn["more"]) == ("working", [], [])


def test_a_stage_without_a_total_is_not_divided_by_it() -> None:
    drawn = row(record(state="reading", progress=Progress(stage="read", done=0, total=0)))
    assert drawn["stages"][0] == {"name": "read", "share": 0.0, "now": True}
    assert drawn["pace"] == []


def test_what_is_stale_is_said_with_its_number() -> None:
    (told,) = notices([record(stale=True), record(stale=True), record()])
    assert told["text"].startswith("2 documents read with earlier settings")


def test_all_that_another_try_may_help_can_be_tried_at_once() -> None:
    records = [
        record(id="damaged", state="failed", code="unreadable"),
        record(id="locked", state="failed", code="locked"),
        record(id="in part", state="partial", failed_pages=[BROKEN], pages=9),
        record(id="well"),
    ]
    assert [one.id for one in to_retry(records)] == ["damaged", "in part"]
    (told,) = notices(records)
    assert (told["action"], told["text"][:11]) == ("retry-failed", "2 documents")
