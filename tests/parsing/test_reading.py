from __future__ import annotations

import threading
from typing import Any

from rag_core.parsing.reading import LOST_IN_A_ROW, Reading, Span
from rag_core.parsing.records import FileFacts


def reading(pages: int, *, span: int = 2, again: bool = True, seconds: float = 1_000) -> Reading:
    facts = FileFacts(pages=pages, title="", page_sizes=((10, 10),) * pages)
    return Reading(facts=facts, span=span, again=again, seconds=seconds)


def page(number: int, **more: Any) -> dict[str, Any]:
    return {"number": number, "page": {"page": number, "height": 10, "source": "fonts", "blocks": []}, **more}


def begun(state: Reading) -> Span:
    span = state.next_span()
    assert span is not None
    return span


def failures(state: Reading) -> dict[int, str]:
    return {failed.page: failed.reason for failed in state.parsed().failed}


def test_a_document_is_given_out_in_spans_and_every_page_once() -> None:
    state = reading(5)
    assert [span.pages for span in iter(state.next_span, None)] == [(1, 2), (3, 4), (5,)]


def test_a_page_that_costs_its_worker_is_tried_once_more_alone_then_named() -> None:
    state = reading(4, span=4)
    span = begun(state)
    state.take(span, page(1))
    state.lose(span, "took too long")
    alone = begun(state)
    assert (alone.pages, alone.lost) == ((2,), "took too long")
    state.lose(alone, "crashed")
    rest = begun(state)
    assert rest.pages == (3, 4)
    for number in rest.pages:
        state.take(rest, page(number))
    assert state.done == 4
    assert failures(state) == {2: "took too long"}


def test_a_page_whose_text_is_read_at_the_second_try_says_what_it_lacks() -> None:
    state = reading(1)
    state.lose(begun(state), "crashed the reader")
    alone = begun(state)
    state.take(alone, page(1))
    assert failures(state) == {1: "crashed the reader; only its text was read"}
    assert sorted(state.pages) == [1]


def test_a_worker_that_dies_after_its_last_page_costs_nothing() -> None:
    state = reading(1)
    span = begun(state)
    state.take(span, page(1))
    state.lose(span, "crashed the reader")
    assert state.next_span() is None
    assert failures(state) == {}


def test_a_document_is_given_up_when_page_after_page_is_lost() -> None:
    state = reading(100, again=False)
    span = begun(state)
    state.take(span, page(1))
    for _ in range(LOST_IN_A_ROW):
        state.lose(span, "crashed")
        span = state.next_span() or span
    assert state.next_span() is None
    assert sorted(failures(state)) == list(range(2, 101))
    assert failures(state)[100] == "was not tried, since several before it could not be read"


def test_lost_pages_that_are_not_in_a_row_do_not_end_a_document() -> None:
    state = reading(100, span=1, again=False)
    while span := state.next_span():
        if span.pages[0] % 2:
            state.lose(span, "crashed")
        else:
            state.take(span, page(span.pages[0]))
    assert len(failures(state)) == 50
    assert sorted(state.pages) == list(range(2, 101, 2))


def test_a_document_that_takes_too_long_is_read_only_so_far() -> None:
    state = reading(6, seconds=10)
    span = begun(state)
    for number in span.pages:
        state.take(span, page(number))
    state.spend(10.5)
    assert state.next_span() is None
    assert failures(state)[6] == "was not tried, since the document took longer than 10 s"
    assert sorted(failures(state)) == [3, 4, 5, 6]


def test_text_without_end_is_cut_and_said(monkeypatch: Any) -> None:
    monkeypatch.setattr("rag_core.parsing.reading.MAX_CHARS", 15)
    state = reading(2)
    span = begun(state)
    for number in span.pages:
        block = {"text": "ten chars.", "box": {"x0": 0, "y0": 0, "x1": 1, "y1": 1}}
        state.take(span, {"number": number, "page": {**page(number)["page"], "blocks": [block]}})
    assert failures(state) == {2: "was not kept: the pages before it hold 15 characters"}
    assert sorted(state.pages) == [1]


def test_pages_come_in_order_whoever_brings_them() -> None:
    state = reading(60, span=3)

    def bring() -> None:
        while span := state.next_span():
            for number in span.pages:
                state.take(span, page(number))

    threads = [threading.Thread(target=bring) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.done == 60
    assert state.parsed().failed == ()
