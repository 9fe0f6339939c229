"""Activation functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["gelu", "swiglu", "swish"]


def swish(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """``y = x * sigmoid(scale * x)``, any shape. ``scale`` counts as the float32 that a kernel receives."""
    return x * _sigmoid(float(np.float32(scale)) * x)


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tanh form of GELU, ``y = x * sigmoid(sqrt(8 / pi) * (x + 0.044715 * x^3))``, any shape.

    It equals ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``. Source: Hendrycks and Gimpel, arXiv
    1606.08415.
    """
    return x * _sigmoid(math.sqrt(8.0 / math.pi) * (x + 0.044715 * x * x * x))


def swiglu(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y = swish(a) * b`` with ``a`` and ``b`` the first and second half of ``x`` along ``dim``, whose extent is even.

    Source: Shazeer, arXiv 2002.05202, without the linear maps.
    """
    gate, linear = np.split(x, 2, axis=dim)
    return gate * _sigmoid(gate) * linear


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 / (1 + exp(-x))`` without loss of relative accuracy for very negative ``x``."""
    from scipy.special import expit

    return np.asarray(expit(x))
