"""Questions about infinities and NaN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_finite", "is_inf", "non_finite_check"]


def is_finite(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """``y`` is true where ``x`` is neither infinite nor NaN, any shape."""
    return np.isfinite(x)


def is_inf(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """``y`` is true where ``x`` is an infinity of either sign, any shape; NaN is not."""
    return np.isinf(x)


def non_finite_check(tensor_list: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """1 if any element of any tensor is infinite or NaN, else 0; rank 0."""
    # The operator's flag is a float32, not a boolean.
    return np.asarray(float(not all(np.isfinite(tensor).all() for tensor in tensor_list)))
