from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_core.errors import ForkError
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.fork import edit_from, fork, offers
from rag_core.pipeline.history import History
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.points import BranchInfo, Packing, Point, PointStore, unpacked
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Collaborators, Request, run
from rag_core.techniques.base import Turn
from rag_core.types import Hit
from tests.fakes import Documents, WordVectors, a_hit
from tests.pipeline.library import ELSE, FILM, QUESTION, TOWN, Library

RED = a_hit("The fox is red. It lives in the forest.", id_="red", page=2)
BROWN = a_hit("The fox is brown in summer.", id_="brown", page=3).model_copy(update={"score": 0.4})
COLOUR = "What colour is the fox?"
FOXES = {"fox": [RED, BROWN], "badger": [a_hit("The badger is grey.", id_="badger")]}
EVERYTHING = (
    PRESETS["quality"].set("self_rag").set("multi_hop", quality_threshold=1.0).set("crag", relevance_threshold=0.2)
)
Kept = tuple[Run, list[Point]]


def kept(plan: Plan, shelves: dict[str, Sequence[Hit]], question: str = COLOUR, **how: Any) -> Kept:
    points: list[Point] = []
    with_ = Collaborators(
        Library(shelves, whole=question), Documents(), WordVectors(), Reading(WordVectors()), KeylessEngine()
    )
    asked = {name: how.pop(name) for name in ("branch", "turns") if name in how}
    request = Request(question=question, plan=plan, collection="Films", **asked)
    told = run(request, with_, passed=lambda point, until_then: points.append(point), **how)
    return told, points


def branched(parent: Kept, edit: dict[str, Any], step: int | None = None, shelves: Any = FOXES) -> Kept:
    told, points = parent
    made = fork(told, points, edit_from(edit), step)
    again = kept(made.plan, shelves, told.question, branch=made.branch, beginning=made.beginning)
    return again[0], [*made.beginning.points, *again[1]]


def steps(points: Sequence[Point]) -> list[str | None]:
    return [point.step for point in points]


def searched(told: Run) -> list[Any]:
    return [span.attributes["query"] for span in told.spans if span.name in ("retrieve", "sub_query")]


def test_a_run_tells_where_it_stood_before_each_step_and_at_its_end() -> None:
    told, points = kept(PRESETS["simple"], FOXES)
    assert steps(points) == ["retrieve", "answer", "validate", None]
    assert [point.n for point in points] == [0, 1, 2, 3]
    assert [span.name for point in points for span in told.spans if span.span_id == point.span_id] == [
        "retrieve",
        "answer",
        "validate",
    ]
    assert points[-1].state.sentences == told.sentences


def test_a_question_that_was_rewritten_for_the_choice_of_its_plan_can_be_branched_from_and_is_rewritten_once() -> None:
    turns = (Turn(question="What colour is the fox?", answer="The fox is red."),)
    parent = told, points = kept(PRESETS["auto"].off("gate"), FOXES, "And the badger?", turns=turns)
    assert steps(points)[:2] == ["rewrite", "retrieve"]
    assert [span.name for span in told.spans if span.span_id == points[0].span_id] == ["rewrite"]
    assert points[0].state.question == "And the badger?"
    edited, _ = branched(parent, {"kind": "queries", "queries": ["Is the badger grey?"]}, 0)
    assert edited.spans[0].name == "auto", "what was chosen stays"
    assert searched(edited)[0] == "Is the badger grey?"
    for step in (0, 1):
        other, _ = branched(parent, {"kind": "plan", "plan": PRESETS["balanced"].as_json()}, step)
        assert [span.name for span in other.spans].count("rewrite") == 1
        assert searched(other)[0] == searched(told)[0]


@pytest.mark.parametrize("shelves", [FOXES, {"Harbour": [FILM], "Vesely": [TOWN], "fox": [RED]}])
def test_a_fork_at_every_step_of_a_run_with_everything_on_gives_the_same_answer(shelves: Any) -> None:
    question = COLOUR if shelves is FOXES else QUESTION
    parent = told, points = kept(EVERYTHING, shelves, question)
    assert told.status == "done"
    assert len(points) > 5
    for point in points[:-1]:
        again, after = branched(parent, {"kind": "again"}, point.n, shelves)
        assert again.final_answer == told.final_answer
        assert again.sentences == told.sentences
        assert again.evidence == told.evidence
        assert steps(after) == steps(points)
        assert [span.name for span in again.spans] == [span.name for span in told.spans]
        assert [span.span_id for span in again.spans] == [*range(len(again.spans))]
        assert again.branch is not None
        assert (again.branch.parent, again.branch.step, again.branch.at) == (told.id, point.n, point.step)


def test_a_branch_shows_what_it_took_over_and_counts_only_what_it_did() -> None:
    parent = told, _ = kept(PRESETS["simple"], FOXES)
    heard: list[tuple[str, Any]] = []
    made = fork(told, parent[1], edit_from({"kind": "again"}), 2)
    again, _ = kept(made.plan, FOXES, beginning=made.beginning, emit=lambda kind, data: heard.append((kind, data)))
    assert again.searches == 0
    assert again.spans[:3] == told.spans[:3]
    assert [data["name"] for kind, data in heard if kind == "close"][:3] == [
        "retrieve",
        "answer",
        "llm.answer.generate",
    ]
    assert [kind for kind, _ in heard][:6] == ["close", "close", "close", "prompt", "evidence", "draft"]
    assert [span.start_s for span in again.spans] == sorted(span.start_s for span in again.spans)


def test_a_dropped_chunk_is_not_evidence_and_not_found_again() -> None:
    parent = kept(PRESETS["simple"], FOXES)
    assert parent[0].final_answer.startswith("The fox is red.")
    for step in (None, 0):
        told, points = branched(parent, {"kind": "drop", "chunk": "red"}, step)
        assert [hit.chunk.id for hit in told.evidence] == ["brown"]
        assert told.final_answer == "The fox is brown in summer."
        assert points[-1].state.told.dropped == ("red",)
    assert told.branch is not None
    assert branched(parent, {"kind": "drop", "chunk": "red"})[0].branch.edited == "dropped report.pdf p.2"


def test_a_pinned_chunk_comes_first_whatever_correction_says_of_it() -> None:
    plan = PRESETS["simple"].set("crag", relevance_threshold=0.3, upper=0.9, lower=0.6)
    parent = told, _ = kept(plan, {"fox": [RED, ELSE]})
    assert [hit.chunk.id for hit in told.evidence] == ["red", "else"]
    pinned, points = branched(parent, {"kind": "pin", "chunk": "else"}, shelves={"fox": [RED, ELSE]})
    assert pinned.evidence[0].chunk.id == "else"
    assert points[-1].state.evidence[0].chunk.id == "else"
    assert parent[1][-1].state.aside == 1
    loosened, _ = branched((pinned, points), {"kind": "drop", "chunk": "else"}, shelves={"fox": [RED, ELSE]})
    assert [hit.chunk.id for hit in loosened.evidence] == ["red"]


def test_another_query_is_searched_for_in_place_of_the_hops_own() -> None:
    told, _ = branched(kept(PRESETS["simple"], FOXES), {"kind": "queries", "queries": ["badger"]})
    assert searched(told) == ["badger"]
    assert [hit.chunk.id for hit in told.evidence] == ["badger"]


def test_sub_questions_are_searched_for_as_they_are_edited() -> None:
    plan = PRESETS["simple"].set("sub_queries", max_iterations=1)
    parent = kept(plan, FOXES)
    told, points = branched(parent, {"kind": "queries", "queries": ["badger colour", "fox in summer"]}, 1)
    assert searched(told)[1:] == ["badger colour", "fox in summer"]
    assert "badger" in {hit.chunk.id for hit in told.evidence}
    assert points[-1].state.told.queries == ()


def test_the_rewritten_question_can_be_another() -> None:
    parent = _, points = kept(PRESETS["simple"].on("rewrite"), FOXES)
    assert points[0].step == "rewrite"
    again, after = branched(parent, {"kind": "queries", "queries": ["What colour is the badger?"]}, 0)
    assert again.question == COLOUR
    assert after[-1].state.question == "What colour is the badger?"
    assert again.final_answer == "The badger is grey."


def test_an_overruled_chunk_is_judged_as_the_user_says() -> None:
    plan = PRESETS["simple"].set("crag", refine=False)
    parent = told, _ = kept(plan, FOXES)
    (before,) = [span for span in told.spans if span.name == "crag"]
    was = {one["chunk"]: one["relevant"] for one in before.attributes["chunks"]}
    edit = {"kind": "relevance", "chunk": "brown", "relevant": not was["brown"]}
    again, _ = branched(parent, edit)
    (after,) = [span for span in again.spans if span.name == "crag"]
    assert {one["chunk"]: one["relevant"] for one in after.attributes["chunks"]} == was | {"brown": not was["brown"]}
    verdict, _ = branched(parent, {"kind": "retrieved", "verdict": "incorrect"})
    assert next(span for span in verdict.spans if span.name == "crag").attributes["verdict"] == "incorrect"


@pytest.mark.parametrize("relevant", [True, False])
def test_self_rag_writes_from_what_the_user_calls_relevant(relevant: bool) -> None:
    parent = kept(PRESETS["simple"].set("self_rag", isrel_threshold=0.5), FOXES)
    edit = {"kind": "relevance", "chunk": "brown", "relevant": relevant}
    _, points = branched(parent, edit)
    assert points[-1].state.reflection is not None
    judged = {one.chunk: one for one in points[-1].state.reflection.isrel}
    assert (judged["brown"].relevant, judged["brown"].by) == (relevant, "user")
    written_from = {segment.isrel.chunk for path in points[-1].state.reflection.beam for segment in path.segments}
    assert relevant or "brown" not in written_from


def test_the_gate_can_be_overruled() -> None:
    told, points = kept(PRESETS["simple"].on("gate"), FOXES, "Hello")
    assert told.searches == 0
    again, _ = branched((told, points), {"kind": "search"})
    assert searched(again) == ["Hello"]


def test_an_answer_called_bad_is_healed_and_one_called_good_is_not() -> None:
    plan = PRESETS["simple"].set("heal", max_healing=1, quality_target=0.5)
    parent = told, _ = kept(plan, FOXES)
    assert told.healing_attempts == 0
    assert branched(parent, {"kind": "quality", "quality": 0.0})[0].healing_attempts == 1
    good, _ = branched(parent, {"kind": "quality", "quality": 0.9})
    assert (good.healing_attempts, good.quality_achieved) == (0, 0.9)


def test_an_edited_draft_is_checked_and_keeps_the_citations_of_what_it_stands_for() -> None:
    parent = kept(PRESETS["simple"], FOXES)
    told, points = branched(parent, {"kind": "draft", "text": "The fox is green. It lives in the forest."})
    assert steps(points) == ["retrieve", "answer", "validate", None]
    first, second = told.sentences
    assert (first.text, first.citations) == ("The fox is green.", ("red",))
    assert first.support != "fully_supported"
    assert (second.citations, second.support) == (("red",), "fully_supported")


def test_another_plan_goes_on_from_there_and_does_nothing_twice() -> None:
    parent = kept(PRESETS["simple"].off("validate"), FOXES)
    plan = PRESETS["simple"].on("rewrite").set("heal", quality_target=0.5).as_json()
    told, points = branched(parent, {"kind": "plan", "plan": plan}, 1)
    assert steps(points) == ["retrieve", "answer", "validate", None]
    assert told.plan["techniques"].keys() >= {"rewrite", "heal", "validate"}
    at_end, _ = branched(parent, {"kind": "plan", "plan": plan}, 2)
    assert at_end.quality_achieved is not None


def test_branches_of_branches_keep_all_that_was_said() -> None:
    shelves = {"fox": [RED, BROWN, a_hit("The fox is white in winter.", id_="white", page=4)]}
    first = branched(kept(PRESETS["simple"], shelves), {"kind": "drop", "chunk": "red"}, 0, shelves)
    second = branched(first, {"kind": "pin", "chunk": "white"}, None, shelves)
    told, points = branched(second, {"kind": "draft", "text": "The fox is white."}, None, shelves)
    assert [hit.chunk.id for hit in told.evidence] == ["white", "brown"]
    assert told.sentences[0].citations == ("white",)
    assert told.branch is not None
    assert told.branch.parent == second[0].id
    assert steps(points) == steps(first[1])


@pytest.mark.parametrize(
    ("edit", "step", "why"),
    [
        ({"kind": "again"}, 9, "no step 9"),
        ({"kind": "again"}, 3, "Nothing comes after"),
        ({"kind": "queries", "queries": ["x"]}, 1, "'answer' searches for nothing"),
        ({"kind": "queries", "queries": ["x", "y"]}, 0, "one thing"),
        ({"kind": "queries", "queries": [" "]}, 0, "cannot be edited so"),
        ({"kind": "relevance", "chunk": "red", "relevant": True}, None, "No step of this run judged"),
        ({"kind": "retrieved", "verdict": "correct"}, 1, "does not judge"),
        ({"kind": "search"}, None, "No gate"),
        ({"kind": "pin", "chunk": "nowhere"}, None, "not among"),
        ({"kind": "pin", "chunk": "red"}, 0, "not found by then"),
        ({"kind": "draft", "text": "x"}, 0, "no draft by then"),
        ({"kind": "quality", "quality": 2}, None, "cannot be edited so"),
        ({"kind": "quality", "quality": 1}, 1, "not checked by then"),
        ({"kind": "magic"}, None, "cannot be edited so"),
    ],
)
def test_what_cannot_be_forked_is_refused_in_one_sentence(edit: dict, step: int | None, why: str) -> None:
    parent = kept(PRESETS["simple"], FOXES)
    with pytest.raises(ForkError, match=why) as refused:
        branched(parent, edit, step)
    assert str(refused.value).count("\n") == 0


def test_a_run_that_was_kept_without_its_steps_says_so() -> None:
    told, _ = kept(PRESETS["simple"], FOXES)
    with pytest.raises(ForkError, match="kept without its steps"):
        fork(told, [], edit_from({"kind": "again"}), 0)


def store(path: Path) -> tuple[History, PointStore]:
    return History(path / "runs.sqlite"), PointStore(path / "runs.sqlite")


def packed(points: Sequence[Point]) -> list[tuple[Point, bytes]]:
    packing = Packing()
    return [(point, packing.packed(point.state)) for point in points]


def test_points_come_back_as_they_were_with_each_text_once(tmp_path: Path) -> None:
    _, points = kept(EVERYTHING, FOXES)
    _, kept_points = store(tmp_path)
    kept_points.keep("one", packed(points))
    assert kept_points.get("one") == points
    assert kept_points.get("another") == []
    states = [packed_state for _, packed_state in packed(points)]
    assert unpacked(states) == [point.state for point in points]
    assert sum(map(len, states)) < sum(len(point.state.model_dump_json()) for point in points) / 4


def test_what_a_killed_process_kept_is_enough_to_branch_from(tmp_path: Path) -> None:
    told, points = kept(PRESETS["simple"], FOXES)
    history, kept_points = store(tmp_path)
    history.keep(told.model_copy(update={"status": "running", "spans": told.spans[:1]}))
    kept_points.keep(told.id, packed(points)[:2])
    stored = history.get(told.id)
    assert stored is not None
    again, _ = branched((stored, kept_points.get(told.id)), {"kind": "again"}, 1)
    assert again.final_answer == told.final_answer


def test_a_tree_of_branches_is_kept_and_goes_with_its_runs(tmp_path: Path) -> None:
    history, kept_points = store(tmp_path)
    told, points = kept(PRESETS["simple"], FOXES)
    history.keep(told)
    kept_points.keep(told.id, packed(points))
    one = BranchInfo(run="one", parent=told.id, step=1, edited="dropped a chunk")
    two = BranchInfo(run="two", parent="one", step=2, edited="edited the draft")
    kept_points.branch(one)
    kept_points.branch(two)
    for run_id in (told.id, "one", "two"):
        assert kept_points.family(run_id) == (told.id, [one, two])
    history.keep(told)  # a run that is kept anew keeps its points
    assert kept_points.get(told.id) == points
    history._db.execute("DELETE FROM runs WHERE id = ?", (told.id,))
    history._db.commit()
    assert kept_points.get(told.id) == []


def test_a_stopped_run_can_be_gone_on_with() -> None:
    stops = iter([False, True])
    told, points = kept(PRESETS["simple"], FOXES, stopped=lambda: next(stops))
    assert told.status == "stopped"
    again, _ = branched((told, points), {"kind": "again"}, points[-1].n)
    assert (again.status, again.final_answer) == ("done", kept(PRESETS["simple"], FOXES)[0].final_answer)


def test_what_can_be_edited_before_each_step_is_offered_with_what_the_run_did() -> None:
    plan = PRESETS["simple"].on("rewrite").on("crag").set("sub_queries", max_iterations=1)
    told, points = kept(plan, FOXES, "What colour is the fox, and where does the badger live?")
    offered = {offer.step: offer.edits for offer in offers(told, points)}
    assert offered["rewrite"][0] == {"kind": "queries", "queries": [points[1].state.question]}
    assert offered["sub_queries"][0] == {"kind": "queries", "queries": searched(told)[1:]}
    assert len(searched(told)) == 3
    (crag,) = [span.attributes for span in told.spans if span.name == "crag"]
    assert offered["crag"][0] == {"kind": "retrieved", "verdict": crag["verdict"]}
    assert offered["validate"][0] == {"kind": "draft", "text": told.final_answer}
    assert [edit["kind"] for edit in offered[None]] == ["draft", "quality", "plan"]
    for offer in offers(told, points):
        for edit in offer.edits:
            whole = {**edit, "plan": told.plan} if edit["kind"] == "plan" else edit
            if offer.step or edit["kind"] != "plan":
                assert fork(told, points, edit_from(whole), offer.n).branch.step == offer.n
    assert offers(told, []) == []
