"""Tensors made from little."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fill"]


def fill(dims: NDArray[np.int64], value: NDArray[Any]) -> NDArray[Any]:
    """A tensor of extents ``dims`` (one axis per element) that holds the one element of ``value`` everywhere."""
    return np.full(tuple(int(extent) for extent in dims), value.reshape(()), dtype=value.dtype)
