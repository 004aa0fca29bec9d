from __future__ import annotations

from typing import Any

from rag_core.parsing.reading import LOST_IN_A_ROW, Reading
from rag_core.parsing.records import FileFacts


def reading(pages: int) -> Reading:
    made = Reading()
    made.take({"facts": FileFacts(pages=pages, title="", page_sizes=((10, 10),) * pages).model_dump(mode="json")})
    return made


def page(number: int) -> dict[str, Any]:
    return {"page": {"page": number, "height": 10, "source": "fonts", "blocks": []}}


def test_a_page_that_costs_its_worker_is_tried_once_more_then_named() -> None:
    state = reading(3)
    state.take(page(1))
    state.lose("took too long", again=True)
    assert state.done == 1
    state.lose("crashed", again=True)
    state.take(page(3))
    assert state.complete
    assert [(failed.page, failed.reason) for failed in state.parsed().failed] == [(2, "took too long")]


def test_a_document_is_given_up_when_page_after_page_is_lost() -> None:
    state = reading(100)
    state.take(page(1))
    for _ in range(LOST_IN_A_ROW):
        assert not state.complete
        state.lose("crashed", again=False)
    assert state.complete
    failed = state.parsed().failed
    assert [found.page for found in failed] == list(range(2, 101))
    assert failed[-1].reason == "was not tried, since several before it could not be read"


def test_lost_pages_that_are_not_in_a_row_do_not_end_a_document() -> None:
    state = reading(100)
    for number in range(1, 100, 2):
        state.lose("crashed", again=False)
        state.take(page(number + 1))
    assert state.complete
    assert len(state.parsed().failed) == 50
