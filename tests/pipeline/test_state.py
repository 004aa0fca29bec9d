import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.pipeline.state import RunState, next_step


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({}, "retrieve"),
        ({"scans": True}, "scan"),
        ({"answered": True}, "validate"),
        ({"current_hop": 1}, "answer"),
        ({"current_hop": 1, "answered": True}, "validate"),
        ({"current_hop": 1, "answered": True, "quality": 0.5}, None),
        ({"current_hop": 1, "answered": True, "found": False}, None),
        ({"current_hop": 1, "answered": True, "validates": False}, None),
        ({"error": "broken"}, None),
    ],
)
def test_what_comes_next_is_a_table(fields: dict, step: str | None) -> None:
    assert next_step(RunState(question="?", **fields)) == step


WRITES = {
    "scan": {"scans": False},
    "retrieve": {"current_hop": 1},
    "answer": {"answered": True},
    "validate": {"quality": 0.1},
}


@given(
    st.builds(
        RunState,
        question=st.just("?"),
        current_hop=st.integers(0, 2),
        answered=st.booleans(),
        scans=st.booleans(),
    )
)
def test_every_run_ends(state: RunState) -> None:
    for _ in range(len(WRITES) + 1):
        if (step := next_step(state)) is None:
            return
        state = state.model_copy(update=WRITES[step])
    raise AssertionError("it goes on for ever")
