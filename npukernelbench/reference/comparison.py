"""Element-wise comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["equal", "less", "less_equal"]


def equal(x1: NDArray[Any], x2: NDArray[Any]) -> NDArray[np.bool_]:
    """``y = (x1 == x2)`` for equal shapes; the zeros of both signs are equal, NaN equals nothing (IEEE 754)."""
    return np.asarray(x1 == x2)


def less(x1: NDArray[Any], x2: NDArray[Any]) -> NDArray[np.bool_]:
    """``y = (x1 < x2)`` for equal shapes; the zeros of both signs are equal, NaN is below nothing (IEEE 754)."""
    return np.asarray(x1 < x2)


def less_equal(x1: NDArray[Any], x2: NDArray[Any]) -> NDArray[np.bool_]:
    """``y = (x1 <= x2)`` for equal shapes; the zeros of both signs are equal, NaN compares false (IEEE 754)."""
    return np.asarray(x1 <= x2)
