"""Quantised outputs: integers judged against values before rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npukernelbench.judge.check import METRICS, exact, pcl
from npukernelbench.nouns import DType, Outcome, ToleranceLimits

LIMITS = ToleranceLimits(0.01, 0.0)


def judged(actual: list[int], expected: list[float], limits: ToleranceLimits | None = LIMITS) -> Any:
    return exact(np.array(actual, np.int8), np.array(expected), DType.INT8, limits)


def test_the_nearest_integer_is_right_and_both_are_near_a_tie() -> None:
    expected = [1.4, -1.6, 2.495, 2.505, -3.5, 127.0, -128.0, 0.0]
    for actual in ([1, -2, 2, 3, -4, 127, -128, 0], [1, -2, 3, 2, -3, 127, -128, 0]):
        result = judged(actual, expected)
        assert result.passed, result.reason
        assert set(result.metrics) == set(METRICS)
        assert result.metrics["mismatch_fraction"] == 0


@pytest.mark.parametrize(("actual", "expected"), [(2, 2.52), (1, 2.4), (-3, -3.52), (0, 1.0), (-128, 128.6)])
def test_any_other_integer_is_wrong(actual: int, expected: float) -> None:
    result = judged([0, actual, 0], [0.0, expected, 0.0])
    assert result.outcome is Outcome.WRONG_VALUE
    assert result.wrong.tolist() == [False, True, False]
    assert "1 of 3 elements" in result.reason
    assert result.metrics["pcl_pass"] == result.metrics["cann_pass"] == 0


def test_a_value_that_is_no_number_is_never_met() -> None:
    result = judged([0, 1], [float("nan"), 1.0])
    assert result.wrong.tolist() == [True, False]
    assert np.isfinite(list(result.metrics.values())).all()


def test_integers_of_the_reference_stay_exact_whatever_the_limits() -> None:
    actual = np.array([3], np.int8)
    assert not exact(actual, np.array([2], np.int8), DType.INT8, ToleranceLimits(5.0, 5.0)).passed
    assert pcl(actual, np.array([2.6]), DType.INT8, LIMITS).passed


def test_empty_outputs_pass() -> None:
    assert judged([], []).passed
