import pytest

from rag_core.trace import Tracer


def test_a_span_inside_another_is_its_child_and_has_its_phase() -> None:
    tracer = Tracer()
    with tracer.span("outer", phase="retrieve"), tracer.span("inner"):
        tracer.past("call", 0.0, tokens=3)
    outer, inner, call = tracer.events
    assert (outer.name, outer.parent_id, outer.phase) == ("outer", None, "retrieve")
    assert (inner.name, inner.parent_id, inner.phase) == ("inner", outer.span_id, "retrieve")
    assert (call.parent_id, call.attributes) == (inner.span_id, {"tokens": 3})


def test_an_exception_closes_its_span_with_its_text_and_goes_on() -> None:
    heard: list[tuple[str, dict]] = []
    tracer = Tracer(lambda kind, data: heard.append((kind, data)))
    with pytest.raises(ValueError, match="broken"), tracer.span("whole"), tracer.span("step"):
        raise ValueError("broken")
    assert [(event.error, event.error_type) for event in tracer.events] == [("broken", "ValueError")] * 2
    assert [(kind, data["name"]) for kind, data in heard] == [
        ("open", "whole"),
        ("open", "step"),
        ("exception", "step"),
        ("close", "step"),
        ("exception", "whole"),
        ("close", "whole"),
    ]
    assert heard[2][1]["error"] == "broken"
    assert heard[2][1]["error_type"] == "ValueError"


def test_an_exception_without_a_text_is_told_by_its_name() -> None:
    tracer = Tracer()
    with pytest.raises(KeyboardInterrupt), tracer.span("step"):
        raise KeyboardInterrupt
    assert tracer.events[0].error == "KeyboardInterrupt"


def test_the_live_view_is_told_of_opening_and_closing_in_order() -> None:
    heard: list[tuple[str, str]] = []
    tracer = Tracer(lambda kind, data: heard.append((kind, data.get("name", ""))))
    with tracer.span("step") as span:
        span.set(found=2)
        tracer.emit("text", delta="a")
    assert heard == [("open", "step"), ("text", ""), ("close", "step")]
    assert tracer.events[0].attributes == {"found": 2}


def test_a_span_that_is_over_lies_inside_the_run() -> None:
    tracer = Tracer()
    tracer.past("slow", 3600)
    assert tracer.events[0].start_s == 0
