"""Losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mse_loss"]


def mse_loss(predict: NDArray[np.float64], label: NDArray[np.float64], reduction: str) -> NDArray[np.float64]:
    """``(predict - label)^2`` for equal shapes: as it is (``none``), or its ``mean`` or ``sum`` as an array of rank
    0."""
    errors = np.square(predict - label)
    if reduction == "none":
        return errors
    if reduction == "mean":
        return np.asarray(errors.mean())
    if reduction == "sum":
        return np.asarray(errors.sum())
    raise ValueError(f"reduction must be none, mean or sum, not {reduction!r}")
