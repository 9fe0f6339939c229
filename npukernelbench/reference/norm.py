"""Normalization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rms_norm"]


def rms_norm(
    x: NDArray[np.float64], gamma: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``rstd = 1 / sqrt(mean(x^2) + epsilon)`` over the axes that ``gamma`` covers, ``y = x * rstd * gamma``.

    Returns ``y`` of the shape of ``x`` and ``rstd`` with extent 1 in the normalized axes. ``epsilon`` counts as the
    float32 that a kernel receives. Source: Zhang and Sennrich, arXiv 1910.07467.
    """
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = 1.0 / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + float(np.float32(epsilon)))
    return x * rstd * gamma, rstd
