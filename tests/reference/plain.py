"""What references are compared with: formulas in plain Python, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["assert_close", "assert_closest", "each", "single"]


def assert_close(actual: Any, expected: Any, rtol: float = 1e-11, atol: float = 1e-13) -> None:
    """Sums and functions of several steps, which may round otherwise than ours."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def assert_closest(actual: Any, expected: Any, rtol: float = 1e-13) -> None:
    """A few roundings apart, near zero too."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0)


def each(function: Callable[..., float], *arrays: Any) -> Any:
    """Apply a scalar formula in plain Python to every element."""
    return np.vectorize(function, otypes=[np.float64])(*arrays)


def single(value: float) -> float:
    """What a kernel receives of a float attribute."""
    return float(np.float32(value))
