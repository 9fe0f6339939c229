from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, DType, InputSpec, Presence, Task, TensorCase, TensorShape, ValueSpec
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.inputs import draw
from npukernelbench.tasks.values import FRACTIONAL, KINDS, parse_values
from npukernelbench.testing.tasks import tiny_task
from tests.suite import suite

FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)


def tensor(raw: object, dtype: DType, shape: tuple[int, ...] = (4000,)) -> TensorCase:
    return TensorCase(TensorShape(shape, dtype), parse_values(raw))


def with_inputs(**inputs: TensorCase | tuple[TensorCase, ...] | None) -> tuple[Task, Case]:
    task = tiny_task()
    specs = tuple(InputSpec(name, tuple(DType), Presence.REQUIRED) for name in inputs)
    return replace(task, inputs=specs), Case("c", inputs, {}, {})


def test_equal_seeds_give_equal_bytes_and_others_do_not() -> None:
    task, case = with_inputs(x=tensor({"normal": []}, DType.FLOAT16))
    first, again, other = (generate_inputs(task, case, seed)["x"] for seed in (7, 7, 8))
    assert isinstance(first, np.ndarray)
    assert first.tobytes() == again.tobytes() != other.tobytes()  # type: ignore[union-attr]


def test_values_are_the_same_on_every_machine() -> None:
    got = {
        kind: draw(tensor(raw, DType.FLOAT32, (3,)), 12345).tolist()
        for kind, raw in {
            "uniform": {"uniform": [-1.0, 1.0]},
            "normal": {"normal": [1.0, 2.0]},
            "integers": {"integers": [-5, 6]},
            "bernoulli": {"bernoulli": 0.5},
            "choice": {"choice": [1.0, 2.0, 3.0]},
            "varying_normal": {"varying_normal": [-1.0, 1.0, 0.5, 2.0]},
            "probabilities": {"probabilities": [0.5, 1.0]},
            "factors": {"factors": 0.25},
            "log_uniform": {"log_uniform": [0.5, 2.0]},
            "away_from_zero": {"away_from_zero": [0.5, 2.0]},
            "multiples": {"multiples": [0.25, -8, 8]},
            "with_infinities": {"with_infinities": [2]},
        }.items()
    }
    assert got == EXPECTED


def test_an_argument_more_changes_no_other() -> None:
    x, y = tensor({"normal": []}, DType.FLOAT32), tensor({"uniform": [0.0, 1.0]}, DType.FLOAT32)
    alone = generate_inputs(*with_inputs(x=x), 3)["x"]
    together = generate_inputs(*with_inputs(y=y, x=x), 3)
    assert np.array_equal(alone, together["x"])  # type: ignore[arg-type]
    assert list(together) == ["y", "x"]


def test_arguments_of_equal_shape_differ_and_so_do_list_items_and_cases() -> None:
    x = tensor({"normal": []}, DType.FLOAT32)
    task, case = with_inputs(a=x, b=x, c=(x, x))
    inputs = generate_inputs(task, case, 1)
    other_case = generate_inputs(task, replace(case, id="d"), 1)
    items = inputs["c"]
    assert isinstance(items, list)
    drawn = [inputs["a"], inputs["b"], *items, other_case["a"]]
    assert len({item.tobytes() for item in drawn}) == 5  # type: ignore[union-attr]


def test_absent_inputs_are_none_and_empty_lists_empty() -> None:
    assert generate_inputs(*with_inputs(a=None, b=()), 1) == {"a": None, "b": []}


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_keeps_its_bounds_up_to_rounding(dtype: DType) -> None:
    values = draw(tensor({"uniform": [-3.0, 5.0]}, dtype), 1)
    assert values.dtype == dtype.numpy()
    wide = values.astype(np.float64)
    assert -3.0 <= wide.min() < -2.9
    assert 4.9 < wide.max() <= 5.0
    assert abs(wide.mean() - 1.0) < 0.15


@pytest.mark.parametrize("dtype", [*FLOATS, DType.COMPLEX64, DType.COMPLEX128])
def test_normal_has_its_mean_and_deviation(dtype: DType) -> None:
    values = draw(tensor({"normal": [2.0, 3.0]}, dtype, (20000,)), 1)
    assert values.dtype == dtype.numpy()
    wide = values.astype(np.complex128)
    parts = [wide.real, wide.imag] if dtype.is_complex else [wide.real]
    for part in parts:
        assert abs(part.mean() - 2.0) < 0.1
        assert abs(part.std() - 3.0) < 0.1


@pytest.mark.parametrize("dtype", [item for item in DType if item.is_exact and item is not DType.BOOL])
def test_integers_reach_both_ends_of_a_type(dtype: DType) -> None:
    info = np.iinfo(dtype.numpy())
    values = draw(tensor({"integers": [int(info.max) - 3, int(info.max)]}, dtype), 1)
    assert set(values.tolist()) == {int(info.max) - 3, int(info.max) - 2, int(info.max) - 1}
    low = draw(tensor({"integers": [int(info.min), int(info.min) + 2]}, dtype), 1)
    assert set(low.tolist()) == {int(info.min), int(info.min) + 1}


def test_bernoulli_constant_literal_and_choice() -> None:
    flags = draw(tensor({"bernoulli": 0.25}, DType.BOOL), 1)
    assert flags.dtype == np.bool_
    assert 0.2 < flags.mean() < 0.3
    assert draw(tensor({"constant": 1.5}, DType.BFLOAT16, (2, 2)), 1).astype(float).tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert draw(tensor({"literal": [512, 3]}, DType.INT64, (2,)), 1).tolist() == [512, 3]
    picked = draw(tensor({"choice": [-0.0, 2.0]}, DType.FLOAT16), 1)
    assert set(picked.tolist()) == {0.0, 2.0}
    assert np.signbit(picked[picked == 0]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_float_reaches_the_edges_of_a_type(dtype: DType) -> None:
    wild = draw(tensor({"every_float": 0.5}, dtype), 1).astype(np.float64)
    assert 0.45 < np.mean(~np.isfinite(wild)) < 0.55
    assert np.isnan(wild).any()
    assert {np.inf, -np.inf} <= set(wild[np.isinf(wild)].tolist())
    tame = draw(tensor({"every_float": 0.0}, dtype), 1)
    limits: Any = ml_dtypes.finfo
    info = limits(dtype.numpy())
    assert tame.dtype == dtype.numpy()
    assert np.isfinite(tame.astype(np.float64)).all()
    for edge in (info.max, info.smallest_subnormal, dtype.numpy().type(0)):
        assert {edge, -edge} <= set(tame.tolist())
    assert len(np.unique(tame.astype(np.float64))) > 100


def test_some_non_finite_are_as_many_as_asked_for() -> None:
    values = draw(tensor({"some_non_finite": 3}, DType.FLOAT16), 1)
    assert np.count_nonzero(~np.isfinite(values)) == 3
    places = {
        int(np.argmin(np.isfinite(draw(tensor({"some_non_finite": 1}, DType.FLOAT32), seed)))) for seed in range(9)
    }
    assert len(places) == 9
    assert not np.isfinite(draw(tensor({"some_non_finite": 5}, DType.BFLOAT16, (2,)), 1).astype(np.float32)).any()


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
def test_spans_are_within_their_extent(dtype: DType) -> None:
    spans: NDArray[np.int64] = draw(tensor({"spans": 7}, dtype, (500, 2)), 1).astype(np.int64, casting="safe")
    start, length = spans[:, 0], spans[:, 1]
    assert (start >= 0).all()
    assert (start + length <= 7).all()
    assert set(length.tolist()) == set(range(1, 8))
    assert set(start.tolist()) == set(range(7))


def test_varying_normal_draws_its_mean_and_deviation_for_each_tensor() -> None:
    spec = tensor({"varying_normal": [-1.0, 3.0, 0.5, 2.0]}, DType.FLOAT32, (20000,))
    drawn = [draw(spec, seed).astype(np.float64) for seed in range(40)]
    means, deviations = [values.mean() for values in drawn], [values.std() for values in drawn]
    assert -1.1 < min(means) < 0.0 < 2.0 < max(means) < 3.1
    assert 0.45 < min(deviations) < 0.8 < 1.6 < max(deviations) < 2.05


@pytest.mark.parametrize("dtype", FLOATS)
def test_probabilities_are_positive_and_sum_to_one_along_the_last_axis(dtype: DType) -> None:
    values = draw(tensor({"probabilities": [0.5, 2.0]}, dtype, (20, 3, 30)), 1).astype(np.float64)
    assert values.min() > 0
    assert np.allclose(values.sum(axis=-1), 1.0, atol=1e-6 if dtype in (DType.FLOAT32, DType.FLOAT64) else 5e-3)
    flat = draw(tensor({"probabilities": [0.0, 0.0]}, dtype, (3, 4)), 1).astype(np.float64)
    assert np.allclose(flat, 0.25)
    assert draw(tensor({"probabilities": [0.5, 2.0]}, dtype, ()), 1) == 1.0


@pytest.mark.parametrize("dtype", FLOATS)
def test_factors_have_both_signs_and_products_in_range(dtype: DType) -> None:
    values = draw(tensor({"factors": 0.25}, dtype), 1).astype(np.float64)
    assert 0.4 < (values < 0).mean() < 0.6
    assert 0.77 < np.abs(values).min() < 0.79
    assert 1.27 < np.abs(values).max() < 1.29
    assert abs(np.log(np.abs(values)).sum()) < 40


@pytest.mark.parametrize("kind", sorted(FRACTIONAL))
def test_fractions_do_not_go_into_integers(kind: str) -> None:
    positive = {"low": 1, "high": 2, "count": 1, "step": 1.0}
    raw = {kind: {parameter.name: positive.get(parameter.name, 0.0) for parameter in KINDS[kind]}}
    with pytest.raises(ValueError, match="cannot hold fractions"):
        draw(tensor(raw, DType.INT32, (2,)), 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_uniform_favours_no_power_of_two(dtype: DType) -> None:
    values = draw(tensor({"log_uniform": [0.0625, 16.0]}, dtype), 1).astype(np.float64)
    assert 0.0625 <= values.min() < 0.064
    assert 15.5 < values.max() <= 16.0
    assert abs(np.log2(values).mean()) < 0.15


@pytest.mark.parametrize("dtype", FLOATS)
def test_away_from_zero_has_both_signs_and_no_small_value(dtype: DType) -> None:
    values = draw(tensor({"away_from_zero": [0.5, 4.0]}, dtype), 1).astype(np.float64)
    assert 0.45 < (values < 0).mean() < 0.55
    assert 0.5 <= np.abs(values).min() < 0.51
    assert 3.9 < np.abs(values).max() <= 4.0


def test_multiples_of_a_step_reach_both_ends() -> None:
    values = draw(tensor({"multiples": [0.25, -6, 7]}, DType.BFLOAT16), 1).astype(np.float64)
    assert sorted(set(values.tolist())) == [count / 4 for count in range(-6, 7)]


def test_infinities_and_nans_stand_among_normal_values() -> None:
    raw: dict[str, object] = {"with_infinities": [3, 0.0, 256.0]}
    values = draw(tensor(raw, DType.FLOAT16), 1).astype(np.float64)
    assert sorted(values[~np.isfinite(values)].tolist()) == [-np.inf, np.inf, np.inf]
    assert 240 < values[np.isfinite(values)].std() < 270
    values = draw(tensor({"with_nans": [5]}, DType.BFLOAT16), 1).astype(np.float64)
    assert int(np.isnan(values).sum()) == int((~np.isfinite(values)).sum()) == 5
    assert np.isinf(draw(tensor({"with_infinities": [5]}, DType.FLOAT32, ()), 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_softmax_rows_are_logarithms_of_probabilities(dtype: DType) -> None:
    logs = draw(tensor({"log_softmax": 2.0}, dtype, (5, 40)), 1).astype(np.float64)
    assert (logs < 0).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=-1), 1.0, atol=0.02)
    assert draw(tensor({"log_softmax": 1.0}, dtype, ()), 1).tolist() == 0.0
    assert draw(tensor({"log_softmax": 1.0}, dtype, (2, 0)), 1).shape == (2, 0)


@pytest.mark.parametrize(("shape", "total"), [((1,), 9), ((3,), 9), ((50,), 9), ((2, 3), 0), ((4,), 1000)])
def test_partitions_sum_to_their_total(shape: tuple[int, ...], total: int) -> None:
    for seed in range(5):
        counts = draw(tensor({"partition": total}, DType.INT32, shape), seed)
        assert (counts.shape, counts.dtype.name) == (shape, "int32")
        assert (counts >= 0).all()
        assert counts.sum() == total


def test_derived_inputs_follow_from_the_drawn_ones() -> None:
    x = tensor({"normal": [1.0, 2.0]}, DType.FLOAT16, (4, 30))
    statistic = TensorCase(TensorShape((4, 1), DType.FLOAT32), parse_values({"derived": "rms_norm_rstd"}))
    inputs = generate_inputs(*with_inputs(rstd=statistic, x=x, gamma=tensor({"normal": []}, DType.FLOAT16, (30,))), 1)
    drawn, rstd = inputs["x"], inputs["rstd"]
    assert list(inputs) == ["rstd", "x", "gamma"]
    assert isinstance(drawn, np.ndarray)
    assert isinstance(rstd, np.ndarray)
    assert (rstd.shape, rstd.dtype.name) == ((4, 1), "float32")
    squares = np.square(drawn.astype(np.float64)).mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(rstd, 1.0 / np.sqrt(squares + 1e-5), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "shape", "words"),
    [("nothing", (4, 1), "there is no function 'nothing'"), ("rms_norm_rstd", (3, 1), "gives 4 values for 3 elements")],
)
def test_derivations_that_do_not_work_are_task_errors(function: str, shape: tuple[int, ...], words: str) -> None:
    x = tensor({"normal": []}, DType.FLOAT32, (4, 30))
    statistic = TensorCase(TensorShape(shape, DType.FLOAT32), parse_values({"derived": function}))
    task, case = with_inputs(x=x, gamma=tensor({"normal": []}, DType.FLOAT32, (30,)), rstd=statistic)
    with pytest.raises(TaskError, match=words) as caught:
        generate_inputs(task, case, 1)
    assert caught.value.field == "cases.c.inputs.rstd.values"


@pytest.mark.parametrize(
    ("raw", "dtype", "words"),
    [
        ({"every_float": 0.5}, DType.INT8, "cannot hold fractions"),
        ({"every_float": 0.5}, DType.COMPLEX64, "not a real"),
        ({"some_non_finite": 1}, DType.COMPLEX64, "not a real"),
        ({"spans": 9}, DType.INT64, "rows of two"),
        ({"constant": 300}, DType.INT8, "int8 cannot hold 300"),
        ({"constant": 1.5}, DType.INT32, "int32 cannot hold 1.5"),
        ({"constant": float("inf")}, DType.INT32, "int32 cannot hold inf"),
        ({"constant": float("nan")}, DType.INT64, "int64 cannot hold nan"),
        ({"constant": 2}, DType.BOOL, "bool cannot hold 2"),
        ({"constant": 1e6}, DType.FLOAT16, "exceed the range of float16"),
        ({"choice": [1, -1]}, DType.UINT8, "uint8 cannot hold -1"),
        ({"integers": [0, 70000]}, DType.FLOAT16, "exceed the range of float16"),
        ({"integers": [0, 257]}, DType.UINT8, "uint8 cannot hold 256"),
        ({"uniform": [0.0, 1.0]}, DType.INT32, "cannot hold fractions"),
        ({"multiples": [0.5, 0, 2]}, DType.INT32, "cannot hold fractions"),
        ({"with_nans": []}, DType.INT32, "cannot hold fractions"),
    ],
)
def test_values_that_do_not_fit_are_task_errors(raw: dict[str, object], dtype: DType, words: str) -> None:
    task, case = with_inputs(x=tensor(raw, dtype))
    with pytest.raises(TaskError, match=words) as caught:
        generate_inputs(task, case, 1)
    assert caught.value.field == "cases.c.inputs.x.values"


def test_an_unknown_generator_is_a_task_error() -> None:
    task, case = with_inputs(x=TensorCase(TensorShape((1,), DType.FLOAT32), ValueSpec("magic", {})))
    with pytest.raises(TaskError, match="no generator 'magic'"):
        generate_inputs(task, case, 1)


def test_scalars_and_empty_tensors_have_their_shape() -> None:
    for raw in ({"uniform": [0.0, 1.0]}, {"integers": [0, 5]}, {"bernoulli": 0.5}, {"constant": 1}, {"choice": [1]}):
        assert draw(tensor(raw, DType.FLOAT32, ()), 1).shape == ()
        assert draw(tensor(raw, DType.FLOAT32, (3, 0)), 1).shape == (3, 0)


def test_every_installed_case_has_inputs_of_the_right_kind() -> None:
    for task in suite().values():
        for case in task.cases:
            if "smoke" not in case.profiles and "extra" not in case.profiles:
                continue
            for name, value in generate_inputs(task, case, 0).items():
                spec = case.inputs[name]
                assert (value is None) == (spec is None)
                if value is None:
                    continue
                pairs = zip(value, spec, strict=True) if isinstance(spec, tuple) else [(value, spec)]  # type: ignore[arg-type]
                for array, item in pairs:
                    assert isinstance(array, np.ndarray)
                    assert isinstance(item, TensorCase)
                    assert (array.shape, array.dtype) == (item.tensor.shape, item.tensor.dtype.numpy())
                    assert array.flags.c_contiguous


@pytest.mark.parametrize(
    ("raw", "args"),
    [
        ({"uniform": [1, 2]}, {"low": 1.0, "high": 2.0}),
        ({"uniform": {"high": 2, "low": 1}}, {"low": 1.0, "high": 2.0}),
        ({"normal": []}, {"mean": 0.0, "std": 1.0}),
        ({"normal": [5.0]}, {"mean": 5.0, "std": 1.0}),
        ({"bernoulli": 0.1}, {"p": 0.1}),
        ({"constant": True}, {"value": True}),
        ({"literal": [1, 2]}, {"values": (1, 2)}),
        ({"literal": []}, {"values": ()}),
        ({"every_float": 0.25}, {"non_finite": 0.25}),
        ({"some_non_finite": 2}, {"count": 2}),
        ({"spans": 9}, {"extent": 9}),
        ({"choice": {"values": [1.5]}}, {"values": (1.5,)}),
        ({"log_uniform": [1, 2]}, {"low": 1.0, "high": 2.0}),
        ({"multiples": [0.5, -3, 4]}, {"step": 0.5, "low": -3, "high": 4}),
        ({"with_nans": []}, {"count": 1, "mean": 0.0, "std": 1.0}),
        ({"log_softmax": {}}, {"std": 1.0}),
        ({"log_softmax": 2}, {"std": 2.0}),
        ({"partition": 9}, {"total": 9}),
        ({"derived": "f"}, {"function": "f"}),
    ],
)
def test_parameters_by_position_or_name(raw: dict[str, object], args: dict[str, object]) -> None:
    assert parse_values(raw).args == args


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"uniform": [0.0, 1.0], "normal": []},
        {"uniform": [0.0]},
        {"uniform": [0.0, 1.0, 2.0]},
        {"uniform": {"low": 0.0, "top": 1.0}},
        {"uniform": "wide"},
        {"uniform": [0.0, True]},
        {"integers": [3, 3]},
        {"integers": [0, 1.5]},
        {"normal": [0.0, -1.0]},
        {"bernoulli": 2},
        {"choice": []},
        {"every_float": 1.5},
        {"some_non_finite": 0},
        {"spans": 0},
        {"spans": []},
        {"choice": 3},
        {"log_uniform": [0.0, 1.0]},
        {"log_uniform": [2.0, 1.0]},
        {"away_from_zero": [-1.0, 1.0]},
        {"multiples": [0.5, 3, 3]},
        {"with_infinities": [0]},
        {"with_nans": {"std": -1.0}},
        {"literal": [[1]]},
        {"constant": "a"},
        {"constant": None},
        {"subset": -1},
        {"group_ends": 0},
        {"distinct": [3, 3]},
        {"distinct_along": [0, 3, 3]},
        {"repeated_rows": [0, 1]},
        {"derived": "no such"},
        {"derived": 3},
        {"varying_normal": [1.0, 0.0, 1.0, 2.0]},
        {"varying_normal": [0.0, 1.0, -1.0, 2.0]},
        {"probabilities": [2.0, 1.0]},
        {"probabilities": [0.0, 11.0]},
        {"factors": -0.1},
        {"log_softmax": -1.0},
        {"partition": -1},
        {"partition": []},
        {"derived": "a.b"},
    ],
)
def test_malformed_generators_are_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_values(raw)


def test_a_subset_has_exactly_its_count() -> None:
    for dtype in (DType.BOOL, DType.INT8, DType.FLOAT16):
        drawn = draw(tensor({"subset": 17}, dtype, (5, 9)), 1).astype(np.float64)
        assert (drawn.sum(), set(drawn.reshape(-1))) == (17, {0, 1})
    assert not draw(tensor({"subset": 0}, DType.BOOL, (3,)), 1).any()
    with pytest.raises(ValueError, match="4 places for 5 ones"):
        draw(tensor({"subset": 5}, DType.BOOL, (2, 2)), 1)


def test_group_ends_ascend_to_their_total() -> None:
    for seed in range(20):
        ends = draw(tensor({"group_ends": 9}, DType.INT64, (6,)), seed).astype(int)
        assert ends[-1] == 9
        assert (np.diff(ends) >= 0).all()
        assert ends[0] >= 0
        assert ends[-2] < 9
    assert draw(tensor({"group_ends": 9}, DType.INT32, (1,)), 1).tolist() == [9]
    with pytest.raises(ValueError, match="no group"):
        draw(tensor({"group_ends": 9}, DType.INT64, (0,)), 1)


def test_distinct_integers_are_different_and_in_range() -> None:
    drawn = draw(tensor({"distinct": [-3, 9]}, DType.INT32, (3, 4)), 1)
    assert sorted(drawn.reshape(-1).tolist()) == [*range(-3, 9)]
    few = draw(tensor({"distinct": [0, 100]}, DType.INT32, (5,)), 2)
    assert len(set(few.tolist())) == 5
    assert set(few.tolist()) <= set(range(100))
    with pytest.raises(ValueError, match="12 numbers for 13"):
        draw(tensor({"distinct": [-3, 9]}, DType.INT32, (13,)), 1)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_numbers_are_different_along_an_axis(axis: int) -> None:
    shape = (4, 5, 6)
    drawn = draw(tensor({"distinct_along": [axis, -7, 9, 0.25]}, DType.FLOAT16, shape), 1).astype(np.float64)
    assert drawn.shape == shape
    assert (np.diff(np.sort(drawn, axis=axis), axis=axis) > 0).all()
    assert np.array_equal(drawn * 4, np.rint(drawn * 4))
    assert -1.75 <= drawn.min() < -1
    assert 1 < drawn.max() < 2.25
    lines = np.moveaxis(drawn, axis, -1).reshape(-1, shape[axis])
    assert len({tuple(line) for line in lines}) == len(lines)


def test_numbers_cannot_be_different_along_any_axis() -> None:
    with pytest.raises(ValueError, match="no axis 2"):
        draw(tensor({"distinct_along": [2, 0, 9]}, DType.FLOAT16, (3, 3)), 1)
    with pytest.raises(ValueError, match="2 numbers for 3"):
        draw(tensor({"distinct_along": [0, 0, 2]}, DType.FLOAT16, (3, 3)), 1)
    assert draw(tensor({"distinct_along": [0, 0, 2]}, DType.FLOAT16, (0, 3)), 1).shape == (0, 3)


@pytest.mark.parametrize(("rows", "width", "count"), [(30, 2, 30), (30, 2, 7), (1, 1, 1), (13, 12, 13), (40, 15, 9)])
def test_rows_repeat_so_that_a_given_number_is_different(rows: int, width: int, count: int) -> None:
    drawn = draw(tensor({"repeated_rows": [10, count]}, DType.INT64, (rows, width)), 1)
    assert 0 <= drawn.min() <= drawn.max() < 10
    assert len({tuple(row) for row in drawn.tolist()}) == count


@pytest.mark.parametrize(("shape", "count"), [((4, 1), 5), ((20, 1), 11), ((4,), 2), ((4, 2), 0)])
def test_rows_that_cannot_be_are_refused(shape: tuple[int, ...], count: int) -> None:
    with pytest.raises(ValueError, match="different rows"):
        draw(tensor({"repeated_rows": [10, count]}, DType.INT64, shape), 1)


def test_arrangements_must_fit_the_element_type() -> None:
    with pytest.raises(ValueError, match="int8 cannot hold"):
        draw(tensor({"group_ends": 200}, DType.INT8, (3,)), 1)


def sparse() -> tuple[Task, Case]:
    return with_inputs(
        ranks=tensor({"derived": "coalesced_ranks"}, DType.INT64, (9,)),
        codes=tensor({"derived": "coalesced_codes"}, DType.INT64, (4,)),
        indices=tensor({"repeated_rows": [10, 4]}, DType.INT64, (9, 3)),
    )


def test_derived_inputs_follow_from_the_others() -> None:
    inputs = generate_inputs(*sparse(), 5)
    assert list(inputs) == ["ranks", "codes", "indices"]
    rows = [tuple(row) for row in inputs["indices"].tolist()]  # type: ignore[union-attr]
    different = sorted(set(rows))
    assert inputs["ranks"].tolist() == [different.index(row) for row in rows]  # type: ignore[union-attr]
    extents = [max(row[axis] for row in rows) + 1 for axis in range(3)]
    codes = [(row[0] * extents[1] + row[1]) * extents[2] + row[2] for row in different]
    assert inputs["codes"].tolist() == codes  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("function", "size", "words"), [("nothing", 9, "no function 'nothing'"), ("coalesced_ranks", 8, "9 values for 8")]
)
def test_a_derivation_that_does_not_fit_is_a_task_error(function: str, size: int, words: str) -> None:
    task, case = sparse()
    wrong = replace(case, inputs={**case.inputs, "ranks": tensor({"derived": function}, DType.INT64, (size,))})
    with pytest.raises(TaskError, match=words) as caught:
        generate_inputs(task, wrong, 5)
    assert caught.value.field == "cases.c.inputs.ranks.values"


def test_every_generator_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()
    for kind in KINDS:
        assert f"`{kind}`" in text


EXPECTED: dict[str, list[float]] = {
    "uniform": [0.2127683162689209, -0.6175945997238159, 0.936514139175415],
    "normal": [2.3473105430603027, 0.23242050409317017, 4.283227443695068],
    "integers": [1.0, -3.0, 5.0],
    "bernoulli": [0.0, 1.0, 0.0],
    "choice": [2.0, 1.0, 3.0],
    "varying_normal": [-0.22810012102127075, 0.6578344702720642, -2.1950106620788574],
    "probabilities": [0.5750282406806946, 0.14949452877044678, 0.27547723054885864],
    "factors": [-1.0546321868896484, 0.8569303154945374, -1.263806939125061],
    "log_uniform": [0.651756763458252, 0.7643793225288391, 0.988091230392456],
    "away_from_zero": [0.8191524744033813, -1.426391839981079, 1.9047712087631226],
    "multiples": [0.25, -1.25, 1.75],
    "with_infinities": [0.6736552715301514, float("inf"), -float("inf")],
}
