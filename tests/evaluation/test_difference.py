"""What one run did otherwise than another: nothing is lost, nothing counted twice, and it reads the same backwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_core.evaluation.difference import Cost, cost, difference
from rag_core.pipeline.run import Run
from rag_core.types import Usage
from tests.evaluation.records import a_run

ids = st.lists(st.sampled_from("abcdefgh"), unique=True)
words = st.lists(st.sampled_from(["owl", "sleeps", "in", "a", "tower."]), min_size=1).map(" ".join)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    found = draw(ids)
    cites = draw(st.lists(st.sampled_from(found), unique=True)) if found else []
    return a_run(draw(words), found=found, cites=cites, seconds=draw(st.floats(0, 9)), searches=draw(st.integers(0, 9)))


@given(runs(), runs())
def test_every_chunk_is_shared_gained_or_lost_and_in_its_order(before: Run, after: Run) -> None:
    found = difference(before, after)
    old, new = ([hit.chunk.id for hit in run.evidence] for run in (before, after))
    assert [chunk for chunk in old if chunk in {*found.shared, *found.lost}] == old
    assert [chunk for chunk in new if chunk in {*found.shared, *found.gained}] == new
    assert not {*found.shared} & {*found.gained, *found.lost}
    assert all(old[move.before - 1] == new[move.after - 1] == move.chunk for move in found.moves)
    assert {move.chunk for move in found.moves} == {one for one in found.shared if old.index(one) != new.index(one)}


@given(runs(), runs())
def test_backwards_what_was_lost_is_gained(before: Run, after: Run) -> None:
    there, back = difference(before, after), difference(after, before)
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert (there.cited_gained, there.cited_lost) == (back.cited_lost, back.cited_gained)
    assert there.same_answer == back.same_answer
    assert there.more.searches == -back.more.searches


@given(runs(), runs())
def test_the_words_are_both_answers(before: Run, after: Run) -> None:
    told = difference(before, after).words
    for run, other in ((before, "insert"), (after, "delete")):
        assert [
            word for piece in told if piece.kind != other for word in piece.text.split()
        ] == run.final_answer.split()


@given(runs())
def test_a_run_does_not_differ_from_itself(run: Run) -> None:
    found = difference(run, run)
    assert found.same_answer
    assert (found.gained, found.lost, found.moves, found.cited_lost, found.cited_gained) == ((),) * 5
    assert found.more == Cost(money=0.0)


def test_what_is_cited_is_told_apart() -> None:
    found = difference(
        a_run("One.", found="abc", cites="ab"),
        a_run("One.", found="bcd", cites="d"),
    )
    assert (found.cited_lost, found.cited_gained) == (("a",), ("d",))
    assert [move.chunk for move in found.moves] == ["b", "c"]
    assert [move.chunk for move in found.cited_moves] == ["b"]


def test_money_is_nothing_without_a_call_and_unknown_without_a_price() -> None:
    assert cost(a_run()).money == 0.0
    assert cost(a_run(usage=Usage(model_calls=2))).money is None
    assert (Cost(money=None) - Cost(money=0.5)).money is None
