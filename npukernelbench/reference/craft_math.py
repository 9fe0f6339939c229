"""Running sums and products, and a scaled matrix: the suite ``ascendcraft``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "cumprod",
    "cumsum",
    "cumsum_exclusive",
    "cumsum_reverse",
    "masked_cumsum",
    "matrix_scalar_multiplication",
]


def cumprod(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y_i = x_0 * ... * x_i`` along ``dim``; the shape of ``x``. Source: ``torch.cumprod``."""
    return np.asarray(np.cumprod(x, axis=dim))


def cumsum(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y_i = x_0 + ... + x_i`` along ``dim``; the shape of ``x``. Source: ``torch.cumsum``."""
    return np.asarray(np.cumsum(x, axis=dim))


def cumsum_exclusive(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y_0 = 0`` and ``y_i = x_0 + ... + x_(i-1)`` along ``dim``; the shape of ``x``."""
    y = np.zeros_like(x)
    # `moveaxis` gives views: what is written into one lands in `y`.
    along, before = np.moveaxis(y, dim, 0), np.moveaxis(x, dim, 0)[:-1]
    np.cumsum(before, axis=0, out=along[1:])
    return y


def cumsum_reverse(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y_i = x_i + ... + x_(n-1)`` along ``dim`` with its extent ``n``; the shape of ``x``."""
    return np.flip(np.cumsum(np.flip(x, axis=dim), axis=dim), axis=dim)


def masked_cumsum(x: NDArray[np.float64], mask: NDArray[np.bool_], dim: int) -> NDArray[np.float64]:
    """``y_i = m_0 * x_0 + ... + m_i * x_i`` along ``dim`` with ``m`` 1 or 0; the shape of ``x`` and ``mask``.

    The mask is a factor: NaN and infinity under a false mask element give NaN.
    """
    return np.asarray(np.cumsum(x * mask, axis=dim))


def matrix_scalar_multiplication(A: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    """``y = A * s``, any shape. ``s`` counts as the float32 that a kernel receives."""
    return A * float(np.float32(s))
