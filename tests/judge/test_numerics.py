"""Numeric policies: facts that hold for every tensor, and the corners a device meets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from npukernelbench.errors import TaskError
from npukernelbench.judge.check import METRICS, cann, exact, loosened, pcl, ulp
from npukernelbench.judge.numerics import DEFAULT_LIMITS, FLOATS, Allowance, measure, refused
from npukernelbench.nouns import DType, Outcome, ToleranceLimits

POLICIES = [pcl, cann, ulp, exact]
FLOAT_TYPES = [DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64]
REALS = st.floats(-60000.0, 60000.0, allow_nan=False, width=64)
TENSORS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=9), elements=REALS)


def rounded(values, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", FLOAT_TYPES)
@given(want=TENSORS)
@settings(max_examples=40, deadline=None)
def test_the_correctly_rounded_result_passes_every_policy(policy, dtype, want):
    result = policy(rounded(want, dtype), want, dtype, None)
    assert result.passed, result.reason
    assert result.outcome is Outcome.OK
    assert set(result.metrics) == set(METRICS)
    assert result.metrics["max_ulp"] <= 0.5
    assert result.metrics["mismatch_fraction"] == 0
    assert result.metrics["pcl_pass"] == result.metrics["cann_pass"] == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", FLOAT_TYPES)
@given(want=TENSORS, data=st.data())
@settings(max_examples=40, deadline=None)
def test_one_element_far_off_fails_every_policy_and_is_the_one_marked(policy, dtype, want, data):
    position = data.draw(st.integers(0, want.size - 1))
    got = rounded(want, dtype)
    value = want.reshape(-1)[position]
    got.reshape(-1)[position] = rounded(value * 1.5 + np.copysign(2.0, value), dtype)
    result = policy(got, want, dtype, None)
    if not np.isfinite(got.reshape(-1)[position].astype(np.float64)):
        assert result.outcome is Outcome.NON_FINITE
    else:
        assert result.outcome is Outcome.WRONG_VALUE
    assert not result.passed
    assert result.reason
    assert np.flatnonzero(result.wrong).tolist() == [position]
    assert result.metrics["max_abs_error"] > 1 or result.outcome is Outcome.NON_FINITE


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@given(want=TENSORS, data=st.data())
@settings(max_examples=25, deadline=None)
def test_non_finite_masks_must_agree_on_both_sides(policy, bad, want, data):
    position = data.draw(st.integers(0, want.size - 1))
    got, spoiled = want.astype(np.float32), want.copy()
    spoiled.reshape(-1)[position] = bad
    assert policy(got, spoiled, DType.FLOAT32, None).outcome is Outcome.NON_FINITE
    got.reshape(-1)[position] = bad
    assert policy(got, want, DType.FLOAT32, None).outcome is Outcome.NON_FINITE
    assert policy(got, spoiled, DType.FLOAT32, None).passed


def test_opposite_infinities_disagree_and_equal_ones_agree():
    want = np.array([np.inf, 1.0])
    assert not pcl(np.array([-np.inf, 1.0], np.float32), want, DType.FLOAT32, None).passed
    assert pcl(np.array([np.inf, 1.0], np.float32), want, DType.FLOAT32, None).passed


def test_beyond_the_largest_number_infinity_and_the_near_largest_number_are_right():
    want = np.array([65530.0, 1.0])
    assert pcl(np.array([np.inf, 1.0], np.float16), want, DType.FLOAT16, None).passed
    assert pcl(np.array([65504.0, 1.0], np.float16), want, DType.FLOAT16, None).passed
    assert not pcl(np.array([-np.inf, 1.0], np.float16), want, DType.FLOAT16, None).passed
    assert not pcl(np.array([65504.0, 1.0], np.float16), np.array([9e4, 1.0]), DType.FLOAT16, None).passed


@given(
    want=st.floats(-1e4, 1e4).filter(lambda x: abs(x) > 1e-3),
    error=st.floats(-1.0, 1.0),
    atol=st.sampled_from([1e-4, 1e-2]),
    rtol=st.sampled_from([1e-4, 1e-2]),
)
def test_pcl_refuses_exactly_where_both_errors_exceed_their_limits(want, error, atol, rtol):
    got = want + error
    expected_failure = abs(got - want) > atol and abs(got - want) > rtol * abs(want)
    result = pcl(np.array([got]), np.array([want]), DType.FLOAT64, ToleranceLimits(atol, rtol))
    assert result.passed is not expected_failure


def test_cann_fails_on_the_mean_although_no_element_is_far_off():
    want = np.full(1000, 3.0)
    got = (want * (1 + 2.0**-8)).astype(np.float16)
    result = cann(got, want, DType.FLOAT16, None)
    assert result.outcome is Outcome.WRONG_VALUE
    assert "mean relative error" in result.reason
    assert result.wrong is None
    assert result.metrics["cann_pass"] == 0


def test_cann_fails_on_one_element_although_the_mean_is_small():
    want = np.full(100_000, 3.0)
    got = want.astype(np.float16)
    got[77] = 3.1
    result = cann(got, want, DType.FLOAT16, None)
    assert not result.passed
    assert np.flatnonzero(result.wrong).tolist() == [77]


def test_both_verdicts_are_recorded_whichever_policy_decides():
    want = np.full(64, 1e-6)
    got = np.full(64, 2e-6, np.float32)
    by_pcl, by_cann = pcl(got, want, DType.FLOAT32, None), cann(got, want, DType.FLOAT32, None)
    assert by_pcl.passed
    assert not by_cann.passed
    assert by_pcl.metrics == by_cann.metrics
    assert by_pcl.metrics["pcl_pass"] == 1
    assert by_pcl.metrics["cann_pass"] == 0


@pytest.mark.parametrize(("units", "passes"), [(1, True), (2, True), (3, False)])
def test_ulp_counts_steps_of_the_output_type(units, passes):
    got = np.ones(5, np.float16)
    for _ in range(units):
        got[2] = np.nextafter(got[2], np.float16(2))
    result = ulp(got, np.ones(5), DType.FLOAT16, None)
    assert result.passed is passes
    assert result.metrics["max_ulp"] == units


def test_ulp_takes_its_limits_from_the_task():
    got, want = np.array([1.0 + 2.0**-7], np.float16), np.ones(1)
    assert ulp(got, want, DType.FLOAT16, ToleranceLimits(atol=0.0, rtol=8)).passed
    assert not ulp(got, want, DType.FLOAT16, ToleranceLimits(atol=0.0, rtol=7)).passed
    assert ulp(got, want, DType.FLOAT16, ToleranceLimits(atol=0.1, rtol=1)).passed


def test_exact_for_floats_accepts_only_the_rounded_reference():
    want = np.array([1.0 + 2.0**-12, 0.0])
    assert exact(np.array([1.0, -0.0], np.float16), want, DType.FLOAT16, None).passed
    off = exact(np.array([1.0 + 2.0**-10, 0.0], np.float16), want, DType.FLOAT16, None)
    assert np.flatnonzero(off.wrong).tolist() == [0]


@pytest.mark.parametrize("policy", POLICIES)
def test_integers_are_exact_under_every_policy(policy):
    want = np.arange(10, dtype=np.int64)
    got = want.astype(np.int32)
    assert policy(got, want, DType.INT32, ToleranceLimits(9.0, 9.0)).passed
    got[3] += 1
    result = policy(got, want, DType.INT32, ToleranceLimits(9.0, 9.0))
    assert result.outcome is Outcome.WRONG_VALUE
    assert np.flatnonzero(result.wrong).tolist() == [3]
    assert result.metrics["max_abs_error"] == 1
    assert set(result.metrics) == set(METRICS)


def test_a_boolean_must_be_the_byte_zero_or_one():
    want = np.array([True, False, True])
    assert exact(np.array([1, 0, 1], np.uint8).view(np.bool_), want, DType.BOOL, None).passed
    result = exact(np.array([1, 0, 255], np.uint8).view(np.bool_), want, DType.BOOL, None)
    assert np.flatnonzero(result.wrong).tolist() == [2]


def test_a_reference_that_an_integer_output_cannot_hold_is_the_tasks_fault():
    with pytest.raises(TaskError, match="float64 values that int8 cannot hold"):
        exact(np.zeros(2, np.int8), np.array([0.5, 1.0]), DType.INT8, None)


def test_complex_errors_are_distances():
    want = np.array([3 + 4j, 1j])
    good = want.astype(np.complex64)
    assert pcl(good, want, DType.COMPLEX64, None).passed
    bad = good.copy()
    bad[1] += np.complex64(1e-3)
    result = pcl(bad, want, DType.COMPLEX64, None)
    assert np.flatnonzero(result.wrong).tolist() == [1]
    assert result.metrics["max_abs_error"] == pytest.approx(1e-3, rel=1e-4)
    bad[0] = complex(np.nan, 0)
    assert pcl(bad, want, DType.COMPLEX64, None).outcome is Outcome.NON_FINITE


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.INT32, DType.BOOL])
def test_an_empty_tensor_is_right(policy, dtype):
    empty = np.zeros((0, 4), dtype.numpy())
    assert policy(empty, empty, dtype, None).passed


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_a_scalar_output_is_judged(dtype):
    assert pcl(rounded(2.5, dtype), np.array(2.5), dtype, None).passed
    assert not pcl(rounded(3.5, dtype), np.array(2.5), dtype, None).passed


@given(
    want=hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(allow_nan=True, allow_infinity=True)),
    got=hnp.arrays(np.float32, st.integers(1, 200), elements=st.floats(width=32)),
)
@settings(deadline=None)
def test_counting_and_marking_agree_and_every_number_is_finite(want, got):
    size = min(want.size, got.size)
    want, got = want[:size], got[:size]
    allowance = Allowance(1e-3, 1e-3)
    stats = measure(got, want, DType.FLOAT32, (allowance,))
    wrong = refused(got, want, DType.FLOAT32, allowance)
    assert stats.outside[0] + stats.non_finite == np.count_nonzero(wrong)
    assert np.isfinite([stats.max_abs, stats.max_rel, stats.mean_rel, stats.max_ulp]).all()


def test_the_result_does_not_depend_on_where_pieces_end():
    rng = np.random.default_rng(1)
    want = rng.normal(size=100_003)
    got = want.astype(np.float16)
    got[70_000] = 9
    got[99_999] = np.nan
    result = pcl(got, want, DType.FLOAT16, None)
    assert np.flatnonzero(result.wrong).tolist() == [70_000, 99_999]
    assert result.metrics["max_abs_error"] == pytest.approx(abs(9 - want[70_000]))
    assert result.metrics["mismatch_fraction"] == 2 / want.size


def test_non_contiguous_tensors_are_judged_like_contiguous_ones():
    want = np.arange(24.0).reshape(4, 6)
    assert pcl(want.astype(np.float32).T, want.T, DType.FLOAT32, None).passed


def test_inputs_of_a_policy_are_left_alone():
    want = np.linspace(-3, 3, 1000)
    got = want.astype(np.float16)
    got[5] = np.nan
    before = want.tobytes(), got.tobytes()
    want.flags.writeable = got.flags.writeable = False
    for policy in POLICIES:
        policy(got, want, DType.FLOAT16, None)
    assert (want.tobytes(), got.tobytes()) == before


@pytest.mark.parametrize("dtype", list(FLOATS))
def test_every_float_type_has_default_limits_no_tighter_than_one_rounding(dtype):
    assert DEFAULT_LIMITS[dtype].rtol >= 2.0 ** -(FLOATS[dtype].digits + 1)


@pytest.mark.parametrize("policy", [pcl, ulp])
def test_a_loosened_policy_forgives_what_is_near_and_nothing_else(policy):
    want, limits = np.full(100, 2.0), ToleranceLimits(1e-3, 1e-3) if policy is pcl else ToleranceLimits(0.0, 4.0)
    near = want + (1.5e-2 if policy is pcl else 30 * 2.0**-22)
    far = want + 0.5
    loose = loosened(policy)
    for got, strict, wide in ((want, True, True), (near, False, True), (far, False, False)):
        got = got.astype(np.float32)
        assert policy(got, want, DType.FLOAT32, limits).passed is strict
        assert loose(got, want, DType.FLOAT32, limits).passed is wide


def test_a_loosened_policy_forgives_infinities_at_the_end_of_a_range():
    halves = np.array([np.inf, -np.inf, 1], np.float16)
    near, far = np.array([65510.4, -65500.0, 1.0]), np.array([32000.0, -65500.0, 1.0])
    beyond = np.array([70000.0, -1e9, 1.0])
    assert pcl(halves, beyond, DType.FLOAT16, None).passed
    assert loosened(pcl)(halves, beyond, DType.FLOAT16, None).passed
    assert pcl(halves, near, DType.FLOAT16, None).outcome is Outcome.NON_FINITE
    assert loosened(pcl)(halves, near, DType.FLOAT16, None).passed
    assert loosened(pcl)(halves, far, DType.FLOAT16, None).outcome is Outcome.NON_FINITE
    assert loosened(pcl)(-halves, near, DType.FLOAT16, None).outcome is Outcome.NON_FINITE


def test_a_loosened_policy_keeps_what_is_exact_and_what_is_not_finite():
    loose, floats = loosened(pcl), np.ones(4, np.float32)
    assert not loose(np.array([1, 2], np.int32), np.array([1, 3]), DType.INT32, None).passed
    assert loose(floats, np.array([1.0, 1.0, 1.0, np.nan]), DType.FLOAT32, None).outcome is Outcome.NON_FINITE
    assert loose(floats, floats * (1 + 3 * DEFAULT_LIMITS[DType.FLOAT32].rtol), DType.FLOAT32, None).passed
