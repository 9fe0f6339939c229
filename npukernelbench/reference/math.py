"""Element-wise arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["absolute", "add", "multiply_by_scalar", "sqrt"]


def sqrt(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = sqrt(x)``, any shape; NaN below zero."""
    return np.sqrt(x)


def add(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """``z = x + y`` for equal shapes."""
    return x + y


def absolute(x: NDArray[Any]) -> NDArray[Any]:
    """``y = |x|``, any shape; integers stay in their type, complex numbers give real magnitudes.

    Source for the complex case: ``torch.abs``.
    """
    return np.asarray(np.absolute(x))


def multiply_by_scalar(x: NDArray[Any], value: NDArray[np.float64]) -> NDArray[Any]:
    """``y = x * value`` with ``value`` of one element; integers truncate the product towards zero, back to their
    type."""
    product = x * value.reshape(())
    return np.trunc(product).astype(x.dtype) if x.dtype.kind in "iu" else np.asarray(product)
