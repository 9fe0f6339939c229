from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import tensor_move

RNG = np.random.default_rng(14)


def sparse(nnz: int, dims: int, tail: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any, Any]:
    """Codes, ranks, coordinates and values of a sparse tensor with repeats."""
    indices = RNG.integers(0, 3, size=(nnz, dims))
    _, ranks = np.unique(indices, axis=0, return_inverse=True)
    ranks = ranks.reshape(-1)
    values = RNG.integers(-50, 50, size=(nnz, *tail)).astype(dtype)
    return np.arange(ranks.max() + 1), ranks, indices, values


@pytest.mark.parametrize(("dims", "tail", "dtype"), [(1, (), "int32"), (2, (4,), "float64"), (3, (2, 3), "int32")])
def test_coalescing_with_a_dictionary(dims: int, tail: tuple[int, ...], dtype: str) -> None:
    codes, ranks, indices, values = sparse(20, dims, tail, dtype)
    new_indices, new_values = tensor_move.coalesce_sparse(codes, ranks, indices, values)
    sums: dict[tuple[int, ...], Any] = {}
    for row, value in zip(indices.tolist(), values, strict=True):
        sums[tuple(row)] = sums.get(tuple(row), 0) + value
    assert [tuple(row) for row in new_indices.tolist()] == sorted(sums)
    assert np.array_equal(new_values, np.stack([sums[row] for row in sorted(sums)]))
    assert (new_indices.dtype, new_values.dtype) == (indices.dtype, values.dtype)


def test_coalesced_integers_wrap() -> None:
    ones = np.full(2, 2**31 - 1, np.int32)
    coalesced = tensor_move.coalesce_sparse(
        np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros((2, 1), np.int64), ones
    )
    assert coalesced[1].tolist() == [-2]


def test_expanding() -> None:
    assert tensor_move.expand(np.array([1, 2]), (3, 2)).tolist() == [[1, 2]] * 3
    assert tensor_move.expand(np.array([[1], [2]]), (2, 2, 3)).tolist() == [[[1, 1, 1], [2, 2, 2]]] * 2
    with pytest.raises(ValueError, match="broadcast"):
        tensor_move.expand(np.array([1, 2]), (2, 3))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_repeating_feeds(dtype: str) -> None:
    feeds = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = tensor_move.feeds_repeat(feeds, np.array([0, 1, 2], dtype), 4)
    assert y.tolist() == [[3.0, 4.0], [5.0, 6.0], [5.0, 6.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="3 rows do not fit"):
        tensor_move.feeds_repeat(feeds, np.array([0, 1, 2], dtype), 2)


@pytest.mark.parametrize(("seq_dim", "batch_dim"), [(1, 0), (0, 1), (2, 0), (0, 2), (-1, 1), (1, -1)])
@pytest.mark.parametrize("dtype", ["float64", "int8", "complex128", "bool"])
def test_reversing_sequence_by_sequence(seq_dim: int, batch_dim: int, dtype: str) -> None:
    x = RNG.integers(0, 100, size=(3, 4, 5)).astype(dtype)
    lengths = RNG.integers(0, x.shape[seq_dim] + 1, size=x.shape[batch_dim])
    y = tensor_move.reverse_sequence(x, lengths, seq_dim, batch_dim)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    for place in np.ndindex(*x.shape):
        source = list(place)
        length, position = lengths[place[batch_dim]], place[seq_dim]
        if position < length:
            source[seq_dim] = length - 1 - position
        assert y[place] == x[tuple(source)]


def test_sequences_that_cannot_be_reversed() -> None:
    with pytest.raises(ValueError, match="must differ"):
        tensor_move.reverse_sequence(np.zeros((2, 3)), np.array([1, 1]), 1, -1)
    with pytest.raises(ValueError, match="one length per batch"):
        tensor_move.reverse_sequence(np.zeros((2, 3)), np.array([1, 4]), 1, 0)


def slice_of(*triples: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    begin, end, strides = (np.array(column, np.int64) for column in zip(*triples, strict=True))
    return begin, end, strides


def test_assigning_to_a_slice_element_by_element() -> None:
    var, value = RNG.normal(size=(6, 5, 4)), RNG.normal(size=(3, 5, 2))
    y = tensor_move.strided_slice_assign(var, value, *slice_of((1, 3, 1), (0, 5, 2)), np.array([2, 0]))
    expected = var.copy()
    for i, j, k in np.ndindex(3, 5, 2):
        expected[2 * i, j, 1 + k] = value[i, j, k]
    assert np.array_equal(y, expected)
    assert not np.array_equal(y, var)


def test_without_axes_the_leading_ones_are_sliced() -> None:
    var, value = np.arange(12, dtype=np.int64).reshape(4, 3), np.array([[-1, -2], [-3, -4]])
    y = tensor_move.strided_slice_assign(var, value, *slice_of((1, 4, 2), (0, 2, 1)), None)
    assert y.tolist() == [[0, 1, 2], [-1, -2, 5], [6, 7, 8], [-3, -4, 11]]
    with pytest.raises(ValueError, match="shape"):
        tensor_move.strided_slice_assign(var, value[:1], *slice_of((1, 4, 2), (0, 2, 1)), None)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_agreement_with_torch(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    codes, ranks, indices, values = sparse(30, 3, (2,), dtype)
    dense = torch.sparse_coo_tensor(
        torch.from_numpy(indices.T.copy()), torch.from_numpy(values), check_invariants=True
    ).coalesce()
    new_indices, new_values = tensor_move.coalesce_sparse(codes, ranks, indices, values)
    assert np.array_equal(new_indices, dense.indices().numpy().T)
    assert np.array_equal(new_values, dense.values().numpy())
    x = RNG.integers(-9, 9, size=(4, 5)).astype(dtype)
    t = torch.from_numpy(x)
    assert np.array_equal(tensor_move.expand(x, (3, 4, 5)), t.expand(3, 4, 5).numpy())
    times = RNG.integers(0, 3, size=4)
    repeated = torch.repeat_interleave(t, torch.from_numpy(times), dim=0).numpy()
    assert np.array_equal(tensor_move.feeds_repeat(x, times, len(repeated)), repeated)
    flipped = torch.flip(t, [1]).numpy()
    assert np.array_equal(tensor_move.reverse_sequence(x, np.full(4, 5), 1, 0), flipped)
    u, value = t.clone(), torch.zeros(2, 5, dtype=t.dtype)
    u[0:4:3] = value
    assert np.array_equal(tensor_move.strided_slice_assign(x, value.numpy(), *slice_of((0, 4, 3)), None), u.numpy())
