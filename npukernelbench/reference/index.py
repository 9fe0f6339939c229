"""Moving slices that indices choose."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["gather", "scatter_list"]


def gather(
    x: NDArray[Any],
    indices: NDArray[Any],
    axis: NDArray[np.int64],
    batchDims: int,
    negativeIndexSupport: bool,
) -> NDArray[Any]:
    """Slices of ``x`` along ``axis`` (one element), chosen by ``indices``, separately for each of the leading
    ``batchDims`` axes that both share.

    The result has the shape ``x.shape[:axis] + indices.shape[batchDims:] + x.shape[axis + 1:]``. IndexError for an
    index out of range; below zero they count from the end if ``negativeIndexSupport``, and are out of range otherwise.
    Source: ``tf.gather``; without batch axes and for a vector of indices, ``torch.index_select``.
    """
    along = range(x.ndim)[int(axis.reshape(()))]
    if not 0 <= batchDims <= min(along, indices.ndim) or x.shape[:batchDims] != indices.shape[:batchDims]:
        raise ValueError(f"shapes {x.shape} and {indices.shape} do not share {batchDims} axes before axis {along}")
    extent = x.shape[along]
    # Without the first condition an empty tensor of indices would fail, as it has no minimum.
    if indices.size and not (-extent if negativeIndexSupport else 0) <= indices.min() <= indices.max() < extent:
        raise IndexError(f"an index is out of range for the extent {extent}")
    batches = prod(x.shape[:batchDims])
    flat = x.reshape(batches, prod(x.shape[batchDims:along]), extent, prod(x.shape[along + 1 :]))
    chosen = flat[np.arange(batches)[:, None], :, indices.reshape(batches, -1)]
    # A slice stands between the two index arrays, so that NumPy puts their axes in front.
    return np.swapaxes(chosen, 1, 2).reshape(x.shape[:along] + indices.shape[batchDims:] + x.shape[along + 1 :])


def scatter_list(
    var: Sequence[NDArray[Any]],
    indice: NDArray[Any],
    updates: NDArray[Any],
    mask: NDArray[Any] | None,
    reduce: str,
    axis: int,
) -> list[NDArray[Any]]:
    """Tensor ``k`` of ``var`` with a stretch of ``axis`` replaced by the beginning of ``updates[k]``, if ``mask[k]``.

    ``indice[k]`` is ``(start, length)``: positions ``start`` to ``start + length`` of the axis take positions 0 to
    ``length`` of ``updates[k]``, whose other extents are those of the tensor. Without a mask every tensor is updated.
    """
    if reduce != "update":
        raise ValueError(f"reduce must be update, not {reduce!r}")
    # Copies: the inputs are also what the kernel is launched with.
    result = [tensor.copy() for tensor in var]
    for k, tensor in enumerate(result):
        start, length = (int(item) for item in indice[k])
        along = range(tensor.ndim)[axis]
        if not 0 <= start <= start + length <= tensor.shape[along] or length > updates[k].shape[along]:
            raise IndexError(f"{length} positions from {start} do not fit axis {axis} of {tensor.shape}")
        if mask is None or mask[k]:
            # A view of `tensor`, which itself changes.
            np.moveaxis(tensor, along, 0)[start : start + length] = np.moveaxis(updates[k], along, 0)[:length]
    return result
