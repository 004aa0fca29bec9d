import math

import pytest

from benchmarks.retrieval import Found, Labelled, plans, scores, scores_of, spread
from rag_core.pipeline.plan import PRESETS


def test_metrics_of_a_question_are_those_worked_out_by_hand() -> None:
    scored = scores_of(["a", "x", "b", *"cdefghi"], {"a", "b", "z"})
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert scored["nDCG@10"] == pytest.approx((1 + 1 / 2) / ideal)
    assert scored["recall@2"] == pytest.approx(1 / 3)
    assert scored["recall@5"] == pytest.approx(2 / 3)
    assert scored["all@10"] == 0


def test_all_evidence_first_is_the_best_there_is() -> None:
    assert set(scores_of(["a", "b"], {"a", "b"}).values()) == {1.0}


def test_what_is_found_after_the_tenth_place_counts_for_nothing() -> None:
    assert set(scores_of([*"0123456789", "a"], {"a"}).values()) == {0.0}


def test_questions_count_the_same() -> None:
    questions = [Labelled(question="?", evidence_ids=["a"]), Labelled(question="??", evidence_ids=["b"])]
    found = [Found(["a"], 1, 1), Found([], 1, 1)]
    assert set(scores(questions, found).values()) == {0.5}


def test_some_questions_of_a_set_are_spread_over_it() -> None:
    questions = [Labelled(question=str(number), evidence_ids=[]) for number in range(10)]
    assert [one.question for one in spread(questions, 3)] == ["0", "3", "6"]
    assert spread(questions, None) == spread(questions, 99) == questions


def test_every_technique_and_preset_has_a_row() -> None:
    rows = plans()
    assert {"BM25", "vectors", "hybrid", "expand", "hyde", "rerank", "multi_hop", "sub_queries"} <= set(rows)
    assert {row.removeprefix("preset "): plan for row, plan in rows.items() if row.startswith("preset ")} == PRESETS
    assert {"expand", "hybrid", "answer"} == set(rows["expand"].techniques)
