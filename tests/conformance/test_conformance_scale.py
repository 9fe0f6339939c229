"""Cases cut down to what a CPU can afford."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_conformance.scale import elements, scale
from npukb_conformance.tensors import all_tensors
from npukernelbench.nouns import Case, DType, TensorCase, TensorShape, ValueSpec

Shape = tuple[int, ...]


def case(inputs: dict[str, Shape | list[Shape] | None], outputs: dict[str, Shape | list[Shape]]) -> Case:
    def given_tensor(shape: Shape) -> TensorCase:
        return TensorCase(TensorShape(shape, DType.FLOAT32), ValueSpec())

    def argument(value: Shape | list[Shape] | None) -> TensorCase | tuple[TensorCase, ...] | None:
        if value is None:
            return None
        return tuple(given_tensor(one) for one in value) if isinstance(value, list) else given_tensor(value)

    def result(value: Shape | list[Shape]) -> TensorShape | tuple[TensorShape, ...]:
        if isinstance(value, list):
            return tuple(TensorShape(one, DType.FLOAT32) for one in value)
        return TensorShape(value, DType.FLOAT32)

    return Case("0", {n: argument(v) for n, v in inputs.items()}, {n: result(v) for n, v in outputs.items()}, {})


def shapes(one: Case) -> list[Shape]:
    return [tensor.shape for tensor in all_tensors(one)]


def test_a_small_case_stays_as_it_is():
    small = case({"x": (10, 10)}, {"y": (10, 10)})
    scaled = scale(small, limit=100)
    assert scaled.case is small
    assert not scaled.is_smaller


def test_the_outer_axis_is_cut_and_the_inner_ones_kept():
    scaled = scale(case({"x": (100, 3, 7)}, {"y": (100, 3, 7)}), limit=210)
    assert shapes(scaled.case) == [(10, 3, 7), (10, 3, 7)]
    assert (scaled.before, scaled.after) == ((100, 3, 7), (10, 3, 7))


def test_axes_of_extent_one_are_no_outer_axis():
    assert shapes(scale(case({"x": (1, 50, 4)}, {"y": (1, 50, 4)}), limit=40).case) == [(1, 10, 4)] * 2


def test_what_goes_with_the_rows_is_cut_with_them_and_what_goes_with_the_columns_is_not():
    scaled = scale(case({"x": (64, 8, 50), "gamma": (50,)}, {"y": (64, 8, 50), "mean": (64, 8, 1)}), limit=3300)
    assert shapes(scaled.case) == [(8, 8, 50), (50,), (8, 8, 50), (8, 8, 1)]


def test_every_large_tensor_of_a_list_is_cut_and_small_ones_are_kept():
    lists: list[Shape] = [(3,), (64, 10, 10), (2, 5), (32, 10, 10)]
    scaled = scale(case({"x": lists, "absent": None}, {"y": lists}), limit=4813)
    assert shapes(scaled.case) == [(3,), (32, 10, 10), (2, 5), (16, 10, 10)] * 2


@pytest.mark.parametrize(("rows", "kept"), [(1024, 544), (1000, 520), (600, 360), (640, 352)])
def test_what_is_left_over_when_rows_are_dealt_out_to_cores_stays_the_same(rows, kept):
    (first, _) = shapes(scale(case({"x": (rows, 10)}, {"y": (rows, 10)}), limit=rows * 10 * 6 // 10).case)
    assert first == (kept, 10)
    assert (rows - kept) % 48 == 0


@pytest.mark.parametrize(("rows", "most", "kept"), [(100, 50, 44), (64, 7, 7), (64, 9, 8)])
def test_few_rows_are_cut_by_what_costs_little(rows, most, kept):
    assert shapes(scale(case({"x": (rows, 10)}, {"y": (rows, 10)}), limit=most * 10).case)[0] == (kept, 10)


def test_named_tensors_go_along_whatever_their_rank():
    large = case({"x": (48, 1000), "lengths": (48,), "other": (48,)}, {"y": (48, 1000)})
    assert shapes(scale(large, limit=8096, along=("lengths",)).case) == [(8, 1000), (8,), (48,), (8, 1000)]


def test_a_case_that_cannot_be_cut_that_far_is_an_error():
    with pytest.raises(ValueError, match="cannot be scaled"):
        scale(case({"x": (2, 1000)}, {"y": (2, 1000)}), limit=500)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6))
def test_the_limit_holds_and_inner_sizes_never_change(lists):
    before = case({"x": lists, "z": list(lists)}, {"y": lists})
    limit = 400
    try:
        scaled = scale(before, limit=limit)
    except ValueError:
        return
    assert elements(scaled.case) <= limit
    for old, new in zip(shapes(before), shapes(scaled.case), strict=True):
        changed = [axis for axis in range(3) if old[axis] != new[axis]]
        assert len(changed) <= 1
        assert all(prod(old[:axis]) == 1 and new[axis] < old[axis] for axis in changed)
    thirds = len(lists)
    assert shapes(scaled.case)[:thirds] == shapes(scaled.case)[thirds : 2 * thirds] == shapes(scaled.case)[2 * thirds :]
