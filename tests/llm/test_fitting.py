import numpy as np
import pytest

from rag_core.llm.critic.fitting import auc, calibration, calibration_error, cross_validated, fitted, macro_f1


def test_auc_is_the_chance_to_rank_right_and_ties_count_half() -> None:
    right = np.array([True, True, False, False])
    assert auc(np.array([0.9, 0.4, 0.5, 0.1]), right) == 0.75
    assert auc(np.ones(4), right) == 0.5


def test_macro_f1_is_worked_out_by_hand() -> None:
    # class 0: 2·1/(1+2), class 1: 2·1/(2+1), both 2/3
    assert macro_f1(np.array([0, 1, 1]), np.array([0, 0, 1]), 2) == pytest.approx(2 / 3)


def test_calibration_is_by_tenths_and_its_error_by_their_share() -> None:
    said, right = np.array([0.15, 0.15, 0.95, 1.0]), np.array([False, True, True, True])
    assert calibration(said, right) == [(pytest.approx(0.15), 0.5, 2), (pytest.approx(0.975), 1.0, 2)]
    assert calibration_error(said, right) == pytest.approx((0.35 + 0.025) / 2)


def test_a_head_finds_what_separates_and_leaves_the_rest() -> None:
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 3, 600)
    rows = [{"tells": label + draw.normal(0, 0.3), "noise": draw.normal(), "constant": 1.0} for label in labels]
    head = fitted(rows, labels, np.ones(600), ("a", "b", "c"), penalty=1.0)
    assert (head.probabilities(rows).argmax(axis=1) == labels).mean() > 0.9
    assert np.abs(head.weights["noise"]).max() < 0.3 < np.abs(head.weights["tells"]).max()
    assert head.probabilities(rows).sum(axis=1) == pytest.approx(np.ones(600))


def test_the_share_of_each_class_is_met_where_nothing_tells_them_apart() -> None:
    labels = np.array([0] * 75 + [1] * 25)
    head = fitted([{"x": 1.0}] * 100, labels, np.ones(100), ("no", "yes"), penalty=1.0)
    assert head.probabilities([{"x": 1.0}])[0] == pytest.approx([0.75, 0.25], abs=1e-3)


def test_what_a_group_alone_tells_is_not_learnt_from_itself() -> None:
    draw = np.random.default_rng(2)
    groups = [f"doc {number // 4}" for number in range(200)]
    labels = np.repeat(draw.integers(0, 2, 50), 4)
    rows = [{"noise": float(draw.normal())} for _ in groups]
    chances = cross_validated(rows, labels, np.ones(200), groups, ("no", "yes"), penalty=1.0)
    assert 0.3 < auc(chances[:, 1], labels == 1) < 0.7
