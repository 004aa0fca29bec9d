import numpy as np
import pytest

from benchmarks.reflection import error_by_chance


def test_the_error_by_chance_shrinks_with_the_examples_and_is_none_where_nothing_is_uncertain() -> None:
    few, many = error_by_chance(np.full(25, 0.5)), error_by_chance(np.full(2_500, 0.5))
    # The mean distance of a share of 25 coins from a half is sqrt(2/pi) * 0.5 / sqrt(25).
    assert few[0] == pytest.approx(0.0798, abs=0.005)
    assert many[0] == pytest.approx(few[0] / 10, rel=0.1)
    assert few[0] < few[1]
    assert error_by_chance(np.array([0.0, 1.0])) == (0, 0)
