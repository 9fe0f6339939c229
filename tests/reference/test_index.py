from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import index

RNG = np.random.default_rng(12)


def axis_of(value: int) -> Any:
    return np.array(value, np.int64)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("shape", [(4,), (2, 3), ()])
def test_gather_one_by_one(axis: int, shape: tuple[int, ...]) -> None:
    x = RNG.integers(-100, 100, size=(3, 5, 4))
    indices = np.asarray(RNG.integers(0, x.shape[axis], size=shape))
    y = index.gather(x, indices, axis_of(axis), 0, False)
    along = axis % 3
    assert y.shape == x.shape[:along] + shape + x.shape[along + 1 :]
    for place in np.ndindex(*y.shape):
        chosen = int(indices[place[along : along + len(shape)]])
        source = (*place[:along], chosen, *place[along + len(shape) :])
        assert y[place] == x[source]


@pytest.mark.parametrize(("batches", "axis"), [(1, 1), (1, 2), (2, 2), (2, 3), (1, -1)])
def test_gather_in_batches_is_gather_in_each(batches: int, axis: int) -> None:
    x = RNG.normal(size=(2, 3, 5, 4))
    indices = RNG.integers(0, x.shape[axis], size=(*x.shape[:batches], 6))
    y = index.gather(x, indices, axis_of(axis), batches, False)
    along = axis % 4
    for place in np.ndindex(*x.shape[:batches]):
        assert np.array_equal(y[place], np.take(x[place], indices[place], axis=along - batches))


def test_negative_indices_need_support() -> None:
    x = np.arange(12.0).reshape(3, 4)
    indices = np.array([-1, 0, -4])
    assert np.array_equal(index.gather(x, indices, axis_of(1), 0, True), x[:, [3, 0, 0]])
    with pytest.raises(IndexError, match="out of range"):
        index.gather(x, indices, axis_of(1), 0, False)
    with pytest.raises(IndexError, match="out of range"):
        index.gather(x, np.array([4]), axis_of(1), 0, True)


@pytest.mark.parametrize(("axis", "batches"), [(0, 1), (1, 1), (1, -1)])
def test_batch_axes_must_agree(axis: int, batches: int) -> None:
    with pytest.raises(ValueError, match="do not share"):
        index.gather(np.zeros((3, 4)), np.zeros((2, 4), np.int64), axis_of(axis), batches, False)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int64", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_agrees_with_torch(axis: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = RNG.integers(0, 2 if dtype == "bool" else 100, size=(3, 5, 4)).astype(dtype)
    indices = RNG.integers(0, x.shape[axis], size=7)
    expected = torch.index_select(torch.from_numpy(x), axis, torch.from_numpy(indices))
    assert np.array_equal(index.gather(x, indices, axis_of(axis), 0, False), expected.numpy())


def scatter_inputs(axis: int, dtype: str = "float64") -> tuple[list[Any], Any, Any]:
    var = [RNG.integers(0, 100, size=(3, 5, 4)).astype(dtype) for _ in range(3)]
    extent = var[0].shape[axis]
    indice = np.array([[1, extent - 1], [0, extent], [extent - 2, 1]])
    return var, indice, RNG.integers(100, 120, size=(3, 3, 5, 4)).astype(dtype)


@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("mask", [None, [1, 0, 255], [0, 0, 0]])
def test_scatter_list_one_by_one(axis: int, mask: list[int] | None) -> None:
    var, indice, updates = scatter_inputs(axis)
    before = [item.copy() for item in var]
    after = index.scatter_list(var, indice, updates, None if mask is None else np.array(mask, np.uint8), "update", axis)
    for k, (start, length) in enumerate(indice.tolist()):
        for place in np.ndindex(3, 5, 4):
            source = list(place)
            source[axis] -= start
            inside = 0 <= source[axis] < length and (mask is None or mask[k] != 0)
            assert after[k][place] == (updates[k][tuple(source)] if inside else before[k][place])
    assert all(np.array_equal(now, then) for now, then in zip(var, before, strict=True))


def test_scatter_list_refuses_what_it_does_not_know() -> None:
    var, indice, updates = scatter_inputs(-2)
    with pytest.raises(ValueError, match="must be update"):
        index.scatter_list(var, indice, updates, None, "add", -2)
    with pytest.raises(IndexError, match="do not fit"):
        index.scatter_list(var, indice + 3, updates, None, "update", -2)
    with pytest.raises(IndexError, match="do not fit"):
        index.scatter_list(var, indice, updates[:, :, :3], None, "update", -2)


@pytest.mark.parametrize("dtype", ["float16", "int8", "int32"])
@pytest.mark.parametrize("axis", [-1, -2])
def test_scatter_list_agrees_with_torch(axis: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    var, indice, updates = scatter_inputs(axis, dtype)
    mask = np.array([1, 1, 0], np.uint8)
    after = index.scatter_list(var, indice, updates, mask, "update", axis)
    for k, (start, length) in enumerate(indice.tolist()):
        expected = torch.from_numpy(var[k]).clone()
        if mask[k]:
            expected.narrow(axis, start, length).copy_(torch.from_numpy(updates[k]).narrow(axis, 0, length))
        assert np.array_equal(after[k], expected.numpy())
