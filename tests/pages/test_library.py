"""How a document reads in the list."""

from __future__ import annotations

from typing import Any

import pytest

from pages._parts.library import row
from rag_core.indexing.records import DocumentRecord, Progress
from rag_core.parsing.records import FailedPage


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


def test_a_ready_document_says_what_it_holds() -> None:
    drawn = row(record(pages=24, tables=6, figures=1, searchable=True))
    assert drawn["line"] == "24 pages · 6 tables · 1 figure"
    assert drawn["state"] == {"sign": "●", "words": "ready", "grade": "full"}
    assert drawn["actions"] == ["open", "delete"]
    assert drawn["stages"] == []


def test_a_document_that_is_refined_is_searchable_and_getting_better() -> None:
    progress = Progress(stage="refine", done=61, total=158, per_s=3.1, left_s=31)
    drawn = row(record(state="refining", pages=158, searchable=True, progress=progress))
    assert drawn["line"] == "158 pages · searchable, getting better: page 61"
    assert [stage["share"] for stage in drawn["stages"]] == pytest.approx([1, 1, 1, 1, 61 / 158])
    assert drawn["pace"] == ["3.1 p/s", "0:31 left"]
    assert drawn["state"] is None


def test_pages_that_failed_are_told_once_a_reason() -> None:
    reason = "the page's drawing has 66,104 paths, the limit is 20,000."
    failed = [FailedPage(page=7, reason=reason), FailedPage(page=12, reason=reason)]
    drawn = row(record(state="partial", pages=18, searchable=True, failed_pages=failed))
    assert drawn["line"] == f"18 pages · pages 7 and 12 could not be read: {reason.rstrip('.')}"
    assert drawn["state"]["words"] == "16 of 18 pages"
    assert drawn["actions"] == ["open", "retry", "delete"]


def test_a_thousand_failed_pages_stay_one_line() -> None:
    failed = [FailedPage(page=page, reason="it is damaged") for page in range(1, 1001)]
    assert row(record(state="partial", pages=1200, failed_pages=failed))["line"].endswith(
        "pages 1, 2, 3, 4, 5, 6, 7, 8 and 992 more could not be read: it is damaged"
    )


@pytest.mark.parametrize(("code", "first"), [("locked", "password"), ("not_pdf", "retry")])
def test_a_document_that_failed_says_why_and_what_can_be_done(code: str, first: str) -> None:
    drawn = row(record(state="failed", code=code, reason="It is so."))
    assert drawn["line"] == "It is so."
    assert drawn["actions"][0] == first


def test_a_stage_without_a_total_is_not_divided_by_it() -> None:
    drawn = row(record(state="reading", progress=Progress(stage="read", done=0, total=0)))
    assert drawn["stages"][0] == {"name": "read", "share": 0.0, "now": True}
    assert drawn["pace"] == []
