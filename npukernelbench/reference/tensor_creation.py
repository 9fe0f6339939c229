"""Tensors made from little."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["arange", "eye", "fill"]

#: Kind of element by the number that Eye gives its type: float32, float16, int32.
_EYE_KINDS = {0: "f", 1: "f", 2: "i"}


def fill(dims: NDArray[np.int64], value: NDArray[Any]) -> NDArray[Any]:
    """A tensor of extents ``dims`` (one axis per element) that holds the one element of ``value`` everywhere."""
    return np.full(tuple(int(extent) for extent in dims), value.reshape(()), dtype=value.dtype)


def arange(start: NDArray[Any], end: NDArray[Any], step: NDArray[Any]) -> NDArray[Any]:
    """``start + i * step`` for ``i`` below ``ceil((end - start) / step)``, from three tensors of one element.

    Every element comes from its index, not from its neighbour. Source: ``torch.arange``.
    """
    first, last, stride = (item.reshape(()) for item in (start, end, step))
    if first.dtype.kind in "iu":
        # In integers: floats would round an extent beyond 2^53.
        # Floor division of the negated span rounds up.
        count = -((int(first) - int(last)) // int(stride))
    else:
        count = ceil((float(last) - float(first)) / float(stride))
    return np.asarray(first + np.arange(max(count, 0)).astype(first.dtype) * stride)


def eye(y: NDArray[Any], num_rows: int, num_columns: int, batch_shape: Sequence[int], dtype: int) -> NDArray[Any]:
    """Identity matrices in place of ``y``: ones where row and column agree, zeros elsewhere, once per batch.

    ``num_columns`` 0 means ``num_rows``. ValueError when ``y`` has another shape than ``batch_shape``, rows and columns
    make, or another kind of element than ``dtype`` says.
    """
    columns = num_columns or num_rows
    if y.shape != (*batch_shape, num_rows, columns) or _EYE_KINDS.get(dtype) != y.dtype.kind:
        raise ValueError(f"type {dtype}, {list(batch_shape)} times {num_rows} x {columns}, is not {y.dtype}{y.shape}")
    # A view: `expected_outputs` makes what it is given contiguous.
    return np.broadcast_to(np.eye(num_rows, columns, dtype=y.dtype), y.shape)
