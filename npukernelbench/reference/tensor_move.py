"""Moving elements without arithmetic, sparse tensors apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["coalesce_sparse", "expand", "feeds_repeat", "reverse_sequence", "strided_slice_assign"]

_Integers = NDArray[np.int32] | NDArray[np.int64]


def coalesce_sparse(
    unique_len: _Integers, unique_indices: _Integers, indices: _Integers, values: NDArray[Any]
) -> tuple[_Integers, NDArray[Any]]:
    """Coordinates and summed values of a sparse tensor without repeats.

    ``new_indices[unique_indices[i]] = indices[i]`` and ``new_values[u] = sum of values[i] with unique_indices[i] = u``,
    for ``indices`` of shape ``[nnz, D]``, ``values`` of shape ``[nnz, ...]`` and ``u`` below the extent of
    ``unique_len``. Integers stay in their type and wrap. Source: ``torch.Tensor.coalesce``.
    """
    count = unique_len.size
    new_indices = np.zeros((count, indices.shape[1]), indices.dtype)
    new_indices[unique_indices] = indices
    new_values = np.zeros((count, *values.shape[1:]), values.dtype)
    # Plain indexing would add only one of several values with the same index.
    np.add.at(new_values, unique_indices, values)
    return new_indices, new_values


def expand(x: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """``x`` broadcast to ``shape``: missing axes in front and axes of extent 1 are repeated. Source:
    ``torch.Tensor.expand``."""
    # A copy: a broadcast view is read-only, and its elements share memory.
    return np.array(np.broadcast_to(x, shape))


def feeds_repeat(feeds: NDArray[Any], feeds_repeat_times: _Integers, output_feeds_size: int) -> NDArray[Any]:
    """Row ``i`` of ``feeds`` as often as ``feeds_repeat_times[i]`` says, one after the other, then zeros up to
    ``output_feeds_size`` rows.

    Source: CANN's ``aclnnFeedsRepeat``; without the zeros ``torch.repeat_interleave``.
    """
    repeated = np.repeat(feeds, feeds_repeat_times, axis=0)
    if len(repeated) > output_feeds_size:
        raise ValueError(f"{len(repeated)} rows do not fit into {output_feeds_size}")
    result = np.zeros((output_feeds_size, *feeds.shape[1:]), feeds.dtype)
    result[: len(repeated)] = repeated
    return result


def reverse_sequence(x: NDArray[Any], seq_lengths: _Integers, seq_dim: int, batch_dim: int) -> NDArray[Any]:
    """The first ``seq_lengths[b]`` elements along ``seq_dim`` in reverse order, the others as they are, for every index
    ``b`` along ``batch_dim``.

    Source: ``tf.reverse_sequence``.
    """
    if seq_dim % x.ndim == batch_dim % x.ndim:
        raise ValueError("seq_dim and batch_dim must differ")
    moved = np.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    lengths = seq_lengths.reshape(-1, 1).astype(np.int64)
    if len(lengths) != len(moved) or lengths.min(initial=0) < 0 or lengths.max(initial=0) > moved.shape[1]:
        raise ValueError("seq_lengths must hold one length per batch, each at most the extent of seq_dim")
    place = np.arange(moved.shape[1])[np.newaxis]
    source = np.where(place < lengths, lengths - 1 - place, place)
    reversed_ = moved[np.arange(len(moved))[:, np.newaxis], source]
    return np.ascontiguousarray(np.moveaxis(reversed_, (0, 1), (batch_dim, seq_dim)))


def strided_slice_assign(
    var: NDArray[Any],
    input_value: NDArray[Any],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    strides: NDArray[np.int64],
    axes: NDArray[np.int64] | None,
) -> NDArray[Any]:
    """``var`` with ``var[begin:end:stride, ...] = input_value``, one triple per entry of ``axes``; without ``axes`` one
    per leading axis. Other axes are taken whole.

    Source: CANN's ``aclnnStridedSliceAssignV2``.
    """
    places = [slice(None)] * var.ndim
    for position, axis in enumerate(range(len(begin)) if axes is None else axes.tolist()):
        places[axis] = slice(int(begin[position]), int(end[position]), int(strides[position]))
    # A copy: the input is also what the kernel is launched with.
    result: NDArray[Any] = var.copy()
    if result[tuple(places)].shape != input_value.shape:
        raise ValueError(f"the slice has the shape {result[tuple(places)].shape}, not {input_value.shape}")
    result[tuple(places)] = input_value
    return result
