"""Selection by a mask and by the triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["masked_select", "tril", "triu"]


def masked_select(x: NDArray[Any], mask: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """The elements of ``x`` whose ``mask`` is true, in row-major order, and ``[1, count]``: rank and extent of what was
    found.

    Equal shapes. Source: ``torch.masked_select``.
    """
    selected = x[mask]
    return selected, np.array([1, selected.size], dtype=np.uint64)


def tril(x: NDArray[Any], diagonal: int) -> NDArray[Any]:
    """``y_ij = x_ij`` where ``j <= i + diagonal`` in the last two axes, 0 elsewhere. Source: ``torch.tril``."""
    # NumPy selects here. A product with a mask would keep NaN and infinity.
    return np.tril(x, diagonal)


def triu(x: NDArray[Any], diagonal: int) -> NDArray[Any]:
    """``y_ij = x_ij`` where ``j >= i + diagonal`` in the last two axes, 0 elsewhere. Source: ``torch.triu``."""
    return np.triu(x, diagonal)
