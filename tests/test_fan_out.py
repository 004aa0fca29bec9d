import threading

import pytest

from rag_core.errors import RagError, Stopped
from rag_core.fan_out import fan_out
from rag_core.trace import Tracer


def test_results_keep_the_order_asked_whoever_is_first() -> None:
    second_is_done = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            assert second_is_done.wait(60)
        second_is_done.set()
        return number * 10

    assert fan_out(work, [1, 2], at_once=2) == [10, 20]


def test_one_that_fails_spoils_no_other() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise RagError("It is broken: mend it.")
        return number

    first, second, third = fan_out(work, [1, 2, 3], at_once=2)
    assert (first, third) == (1, 3)
    assert isinstance(second, RagError)


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_stop_and_what_nobody_foresaw_go_on_up(at_once: int) -> None:
    def stopped(_: int) -> int:
        raise Stopped("The run was stopped.")

    def broken(_: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(Stopped):
        fan_out(stopped, [1, 2, 3], at_once=at_once)
    with pytest.raises(ZeroDivisionError):
        fan_out(broken, [1, 2, 3], at_once=at_once)


def test_spans_of_the_work_are_children_of_the_callers_span() -> None:
    tracer = Tracer()

    def work(number: int) -> None:
        with tracer.span("part", number=number):
            pass

    with tracer.span("all", phase="sub_queries") as whole:
        fan_out(work, [1, 2], at_once=2)
    parts = [event for event in tracer.events if event.name == "part"]
    assert {event.parent_id for event in parts} == {whole.span_id}
    assert {event.phase for event in parts} == {"sub_queries"}
