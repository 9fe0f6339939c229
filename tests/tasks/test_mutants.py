"""Wrong answers: each kind is what it says, those that are right are not tried, and the checker decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from npukernelbench.judge.check import cann, exact, pcl, ulp
from npukernelbench.nouns import DType, Task, TensorShape, Tolerance, ToleranceLimits
from npukernelbench.tasks.mutants import CODES, Output, flat_outputs, mutants, survives
from npukernelbench.testing.tasks import tiny_case, tiny_task

LIMITS = {
    DType.FLOAT16: ToleranceLimits(1e-4, 1e-3),
    DType.FLOAT32: ToleranceLimits(1e-6, 1e-5),
    DType.BFLOAT16: ToleranceLimits(1e-4, 4e-3),
    DType.COMPLEX64: ToleranceLimits(1e-6, 1e-5),
}


def task(policy: str = "pcl") -> Task:
    return replace(tiny_task(), tolerance=Tolerance(policy, LIMITS))


def output(values: Any, dtype: DType, name: str = "y") -> Output:
    array = np.asarray(values)
    return Output(name, array, TensorShape(array.shape, dtype))


def tried(
    one: Output, others: tuple[Output, ...] = (), inputs: Mapping[str, Any] | None = None
) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for mutant in mutants(task(), one, (one, *others), inputs or {}):
        assert mutant.answer.shape == one.tensor.shape
        assert mutant.answer.dtype == one.tensor.dtype.numpy()
        result.setdefault(mutant.code, []).append(mutant.answer)
    assert set(result) <= set(CODES)
    return result


def ordinary(dtype: DType) -> Output:
    rng = np.random.default_rng(3)
    values: Any = rng.uniform(0.5, 4.0, (7, 11)) * rng.choice([-1.0, 1.0], (7, 11))
    if dtype.is_complex:
        values = values + 1j * rng.uniform(0.5, 4.0, (7, 11))
    if dtype.is_exact:
        values = rng.integers(0, 2, (7, 11)) if dtype is DType.BOOL else rng.integers(2, 100, (7, 11))
    return output(values.astype(dtype.numpy()) if dtype.is_exact else values, dtype)


@pytest.mark.parametrize("dtype", LIMITS)
def test_no_mutant_is_the_right_answer_where_that_has_nan(dtype: DType) -> None:
    zeros = output(np.array([0.0, np.nan]), dtype)
    right = zeros.expected.astype(dtype.numpy())
    for answers in tried(zeros).values():
        assert not any(answer.tobytes() == right.tobytes() for answer in answers)


DTYPES = [*LIMITS, DType.INT8, DType.INT32, DType.UINT8, DType.BOOL]


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_mutant_of_an_ordinary_output_survives(dtype: DType) -> None:
    one = ordinary(dtype)
    count = 0
    for mutant in mutants(task(), one, (one, ordinary(dtype)._replace(name="z", expected=one.expected[::-1])), {}):
        assert not survives(task(), pcl, one, mutant.answer), mutant.words
        count += 1
    assert count >= (7 if dtype.is_exact else 9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_right_answer_survives(dtype: DType) -> None:
    one = ordinary(dtype)
    assert survives(task(), pcl, one, one.expected.astype(dtype.numpy()))


def test_every_kind_is_what_it_says() -> None:
    one = ordinary(DType.FLOAT32)
    right = one.expected.astype(np.float32)
    other = Output("z", one.expected + 1.0, one.tensor)
    x = np.full((7, 11), 2.5, np.float32)
    inputs = {"x": x, "small": x[0], "half": x.astype(np.float16), "none": None, "many": [x + 1]}
    found = tried(one, (other,), inputs)
    assert (found["zeros"][0] == 0).all()
    assert (found["ones"][0] == 1).all()
    assert np.unique(found["constant"][0]).size == 1
    assert [float(item[0, 0]) for item in found["passthrough"]] == [2.5, 3.5]
    row, tail = found["tail_dropped"]
    assert (row[-1] == 0).all()
    assert np.array_equal(row[:-1], right[:-1])
    assert np.array_equal(np.flatnonzero(tail.reshape(-1) == 0), np.arange(72, 77))
    assert np.array_equal(found["shifted"][0].reshape(-1)[1:], right.reshape(-1)[:-1])
    assert np.array_equal(found["swapped"][0], other.expected.astype(np.float32))
    assert np.array_equal(found["sign_flipped"][0], -right)
    assert np.allclose(found["scaled"][0], right * (1 + 1e-4), rtol=3e-7, atol=0)
    assert np.count_nonzero(found["one_wrong"][0] != right) == 1
    assert np.array_equal(found["low_precision"][0], right) is False
    assert set(found) == set(CODES) - {"truncated"}


def test_a_mistake_that_changes_nothing_is_not_tried() -> None:
    flat = tried(output(np.full((6, 8), 3.0), DType.FLOAT32))
    assert {"constant", "shifted", "swapped"}.isdisjoint(flat)
    assert {"zeros", "sign_flipped", "scaled", "one_wrong", "tail_dropped"} <= set(flat)
    zeros = tried(output(np.zeros((6, 8)), DType.FLOAT32))
    assert {"zeros", "tail_dropped", "one_wrong"} <= set(zeros)
    assert {"sign_flipped", "scaled"}.isdisjoint(zeros)


def test_nothing_can_be_wrong_with_nothing() -> None:
    assert tried(output(np.zeros((0, 3)), DType.FLOAT32)) == {}


def test_one_element_is_enough_for_some() -> None:
    found = tried(output(np.asarray(2.75), DType.FLOAT16))
    assert {"zeros", "ones", "scaled", "one_wrong", "sign_flipped"} == set(found)


def test_quantised_outputs_may_not_be_truncated() -> None:
    rng = np.random.default_rng(4)
    one = output(rng.uniform(-100, 100, (5, 9)), DType.INT8)
    found = tried(one)
    assert np.array_equal(found["truncated"][0], np.trunc(one.expected).astype(np.int8))


@pytest.mark.parametrize("policy", [pcl, cann, ulp, exact])
def test_scaling_goes_beyond_every_policy(policy: Any) -> None:
    name = policy.__name__
    limits = {dtype: ToleranceLimits(0.0, 4.0) for dtype in LIMITS} if name == "ulp" else LIMITS
    judged = replace(tiny_task(), tolerance=Tolerance(name, limits if name != "exact" else {}))
    for dtype in LIMITS:
        one = ordinary(dtype)
        [mutant] = [item for item in mutants(judged, one, (one,), {}) if item.code == "scaled"]
        assert not survives(judged, policy, one, mutant.answer)


def test_a_tolerance_that_is_too_wide_lets_mutants_live() -> None:
    wide = replace(tiny_task(), tolerance=Tolerance("pcl", {DType.FLOAT16: ToleranceLimits(10.0, 0.0)}))
    one = output(np.full((4, 4), 0.5), DType.FLOAT16)
    survivors = {item.code for item in mutants(wide, one, (one,), {}) if survives(wide, pcl, one, item.answer)}
    assert {"zeros", "ones", "sign_flipped", "tail_dropped"} <= survivors


def test_members_of_lists_are_outputs_of_their_own() -> None:
    case = tiny_case()
    shapes = (TensorShape((2,), DType.FLOAT32), TensorShape((3,), DType.FLOAT32))
    outputs = list(flat_outputs(replace(case, outputs={"y": shapes}), {"y": [np.zeros(2), np.ones(3)]}))
    assert [(item.name, item.expected.shape, item.tensor) for item in outputs] == [
        ("y[0]", (2,), shapes[0]),
        ("y[1]", (3,), shapes[1]),
    ]
