"""What holds for every run, whatever an engine says and however its threads are timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from rag_core.errors import StoreError
from rag_core.llm.engine import Watch
from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import Signature
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.run import Run
from rag_core.types import Hit
from tests.fakes import a_hit
from tests.pipeline.library import QUESTION, Library, ask

Out = TypeVar("Out", bound=BaseModel)

HOPS_AND_PARTS = PRESETS["simple"].on("multi_hop").on("sub_queries")
PARTS = PRESETS["simple"].set("sub_queries", max_iterations=1)


class Restless:
    """An engine that never finds the evidence complete, and searches for what it is given, over and over."""

    name = "restless"

    def __init__(self, queries: Sequence[str]) -> None:
        self._queries: Iterator[str] = cycle(queries)
        self._all = queries

    def complete(
        self, signature: Signature[Any, Out], inputs: Any, reading: Reading, watch: Watch, *, stream: bool = False
    ) -> Out:
        says = {
            "query": next(self._queries),
            "tool": "vector_search",
            "refined_query": next(self._queries),
            "context": "Something.",
            "completeness": 0.1,
            "sub_questions": list(self._all),
            "focused_queries": list(self._all),
            "synthesis": "Something.",
            "needs_more": True,
            "sentences": [{"text": "It is so.", "passages": [1]}],
            "quality": 0.5,
        }
        fields = {name: value for name, value in says.items() if name in signature.outputs.model_fields}
        return signature.outputs.model_validate(fields)


class Endless(Library):
    """A collection in which every search finds something new."""

    def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
        super().hybrid(query, vector, **asked)
        return [a_hit(f"Found for {query}.", id_=f"hit {len(self.asked)}")]


# The same few queries, in other cases and with other spaces.
QUERIES = st.lists(
    st.builds(
        lambda words, space, case: getattr(space.join(words), case)(),
        st.lists(st.sampled_from(["silent", "harbour", "director", "town"]), min_size=1, max_size=2),
        st.sampled_from([" ", "  ", "\n"]),
        st.sampled_from(["lower", "upper", "title", "strip"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(QUERIES, st.integers(1, 8), st.integers(1, 5))
def test_no_query_is_searched_twice_and_no_loop_goes_on_beyond_its_maximum(
    queries: list[str], max_hops: int, max_iterations: int
) -> None:
    plan = HOPS_AND_PARTS.set("multi_hop", max_hops=max_hops).set("sub_queries", max_iterations=max_iterations)
    library = Endless({})
    told = ask(QUESTION, plan, library, Restless(queries))
    assert told.status == "done"
    assert told.total_hops <= max_hops
    assert told.iteration_count <= max_iterations
    bare = [" ".join(query.casefold().split()) for query in library.asked]
    assert len(bare) == len(set(bare))


@settings(max_examples=30, deadline=None)
@given(QUERIES, st.integers(1, 12))
def test_an_agent_searches_for_nothing_twice_and_takes_no_more_turns_than_it_may(
    queries: list[str], max_steps: int
) -> None:
    library = Endless({})
    told = ask(QUESTION, HOPS_AND_PARTS.set("agent", max_steps=max_steps), library, Restless(queries))
    assert told.status == "done"
    assert sum(span.name == "agent" for span in told.spans) <= max_steps
    bare = [" ".join(query.casefold().split()) for query in library.asked]
    assert len(bare) == len(set(bare))


@pytest.mark.parametrize("budget_s", [0.0, 0.05, 0.2])
def test_the_seconds_of_a_run_are_spent_by_no_more_than_the_step_that_is_under_way(budget_s: float) -> None:
    class Slow(Endless):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            time.sleep(0.04)
            return super().hybrid(query, vector, **asked)

    plan = HOPS_AND_PARTS.set("multi_hop", max_hops=8)
    told = ask(QUESTION, plan, Slow({}), Restless([f"query {n}" for n in range(20)]), budget_s=budget_s)
    assert told.status == "done"
    assert "seconds were spent before" in (told.note or "")
    begun = [span.start_s for span in told.spans if span.parent_id is None and span.name != "answer"]
    assert all(start <= budget_s for start in begun)
    assert bool(told.final_answer) == bool(told.evidence)  # what was found until then is answered from


def timed(delays: Sequence[float]) -> Run:
    """A run over parts whose searches take so long, one after the other as they come."""

    class Delayed(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            if query.startswith("part"):
                time.sleep(delays[int(query.split()[1])])
            # Every part finds its own and what the next one finds too, all with the same score.
            number = sum(map(ord, query)) % 7
            return [a_hit(f"Passage {one}.", id_=str(one)) for one in (number, number + 1, 0)]

    queries = [f"part {number}" for number in range(len(delays))]
    return ask(QUESTION, PARTS, Delayed({}), Restless(queries))


AT_ONCE = timed([0.0] * 4)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.004, 0.012]), min_size=4, max_size=4))
def test_results_do_not_depend_on_which_thread_is_first(delays: list[float]) -> None:
    told = timed(delays)
    assert [(hit.chunk.id, hit.score) for hit in told.evidence] == [
        (hit.chunk.id, hit.score) for hit in AT_ONCE.evidence
    ]
    assert told.final_answer == AT_ONCE.final_answer


@pytest.mark.parametrize("failing", [None, "part 2"])
def test_a_part_that_comes_last_or_not_at_all_keeps_nobody_from_the_others(failing: str | None) -> None:
    others = threading.Semaphore(0)

    class Uneven(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            if query == failing:
                others.release()
                raise StoreError("It is down: start it.")
            if query == "part 0":
                assert all(others.acquire(timeout=60) for _ in range(3)), "the others wait for it"
            elif query.startswith("part"):
                others.release()
            return [a_hit(f"Found for {query}.", id_=query)]

    told = ask(QUESTION, PARTS, Uneven({}), Restless([f"part {number}" for number in range(4)]))
    assert told.status == "done"
    found = [hit.chunk.id for hit in told.evidence if hit.chunk.id.startswith("part")]
    assert found == [f"part {number}" for number in range(4) if f"part {number}" != failing]
