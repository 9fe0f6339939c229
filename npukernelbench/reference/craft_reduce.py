"""Reductions over one axis in the suite ``ascendcraft``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["maximum", "mean", "minimum", "product", "total"]


def maximum(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The largest element along ``dim``, which goes away; NaN wins. Source: the values of ``torch.max``."""
    return np.asarray(x.max(axis=dim))


def mean(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The mean along ``dim``, which goes away. Source: ``torch.mean``."""
    return np.asarray(x.mean(axis=dim))


def minimum(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The smallest element along ``dim``, which goes away; NaN wins. Source: the values of ``torch.min``."""
    return np.asarray(x.min(axis=dim))


def product(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The product along ``dim``, which goes away. Source: ``torch.prod``."""
    return np.asarray(x.prod(axis=dim))


def total(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The sum along ``dim``, which stays with extent 1. Source: ``torch.sum`` with ``keepdim``."""
    return np.asarray(x.sum(axis=dim, keepdims=True))
