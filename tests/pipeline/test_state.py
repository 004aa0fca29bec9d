import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.pipeline.state import RunState, next_step
from rag_core.techniques.agent import Act
from rag_core.techniques.multi_hop import Hop

ALL = "How many tables are in the whole document?"


def a_hop(suggested: str = "") -> Hop:
    return Hop(context="", completeness=0.5, missing=(), suggested=suggested)


def acted(**fields: bool) -> Act:
    return Act(thought="", result="", **fields)


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({}, "retrieve"),
        ({"scans": True}, "retrieve"),
        ({"scans": True, "question": ALL}, "scan"),
        ({"question": ALL}, "retrieve"),
        ({"scans": True, "question": ALL, "rewrites": True}, "rewrite"),
        ({"answered": True}, "validate"),
        ({"current_hop": 1}, "answer"),
        ({"current_hop": 1, "max_hops": 3, "hop": a_hop("more")}, "retrieve"),
        ({"current_hop": 1, "max_hops": 3, "hop": a_hop()}, "answer"),
        ({"current_hop": 3, "max_hops": 3, "hop": a_hop("more")}, "answer"),
        ({"current_hop": 1, "max_iterations": 2}, "sub_queries"),
        ({"current_hop": 1, "max_hops": 3, "hop": a_hop("more"), "max_iterations": 2}, "retrieve"),
        ({"current_hop": 1, "max_iterations": 2, "iteration": 1, "focused": ("gap",)}, "sub_queries"),
        ({"current_hop": 1, "max_iterations": 2, "iteration": 1}, "answer"),
        ({"current_hop": 1, "max_iterations": 2, "iteration": 2, "focused": ("gap",)}, "answer"),
        ({"max_steps": 2}, "agent"),
        ({"max_steps": 2, "current_hop": 1, "scratchpad": (acted(),)}, "agent"),
        ({"max_steps": 2, "current_hop": 1, "scratchpad": (acted(refused=True), acted())}, "answer"),
        ({"max_steps": 2, "current_hop": 1, "scratchpad": (acted(done=True),)}, "answer"),
        ({"max_steps": 2, "scratchpad": (acted(done=True),)}, "retrieve"),
        ({"answered": True, "max_iterations": 2}, "validate"),
        ({"current_hop": 1, "answered": True}, "validate"),
        ({"current_hop": 1, "answered": True, "quality": 0.5}, None),
        ({"current_hop": 1, "answered": True, "found": False}, None),
        ({"current_hop": 1, "answered": True, "validates": False}, None),
        ({"error": "broken"}, None),
    ],
)
def test_what_comes_next_is_a_table(fields: dict, step: str | None) -> None:
    assert next_step(RunState(**{"question": "?", **fields})) == step


def written(state: RunState, step: str) -> dict:
    """What a step writes that never wants to stop."""
    return {
        "rewrite": {"rewrites": False},
        "gate": {"gates": False},
        "scan": {"scans": False},
        "agent": {"scratchpad": (*state.scratchpad, acted())},
        "retrieve": {"current_hop": state.current_hop + 1, "hop": a_hop("more")},
        "sub_queries": {"iteration": state.iteration + 1, "focused": ("more",)},
        "answer": {"answered": True},
        "validate": {"quality": 0.1},
    }[step]


@given(
    st.builds(
        RunState,
        question=st.sampled_from(["?", ALL]),
        max_hops=st.integers(1, 8),
        max_iterations=st.integers(0, 5),
        max_steps=st.integers(0, 6),
        current_hop=st.integers(0, 9),
        iteration=st.integers(0, 6),
        hop=st.sampled_from([None, a_hop(), a_hop("more")]),
        focused=st.sampled_from([(), ("more",)]),
        answered=st.booleans(),
        rewrites=st.booleans(),
        gates=st.booleans(),
        scans=st.booleans(),
        validates=st.booleans(),
        found=st.booleans(),
        quality=st.sampled_from([None, 0.1, 1.0]),
        error=st.sampled_from([None, "broken"]),
    )
)
def test_every_run_ends_within_its_bounds(state: RunState) -> None:
    began = state
    loops = state.max_hops + state.max_iterations + state.max_steps
    for _ in range(loops + len(("rewrite", "gate", "scan", "answer", "validate"))):
        if (step := next_step(state)) is None:
            break
        state = state.model_copy(update=written(state, step))
    assert next_step(state) is None
    assert state.current_hop <= max(began.max_hops, began.current_hop)
    assert state.iteration <= max(began.max_iterations, began.iteration)
    assert len(state.scratchpad) <= began.max_steps
