"""Order statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["top_k"]


def top_k(
    x: NDArray[np.float64], k: NDArray[np.int32], sorted: bool, dim: int, largest: bool
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The ``k`` largest (or smallest) elements along ``dim`` in that order, and their positions along it.

    ``k`` has one element. Of equal elements the one that comes first counts as the more extreme. NaN comes last in both
    directions, where PyTorch counts it as the largest: cases should hold none. ValueError when ``sorted`` is false: the
    order is left open then. Source: ``torch.topk``.
    """
    if not sorted:
        raise ValueError("without sorted any order is right")
    count = int(k.reshape(()))
    if not 0 <= count <= x.shape[dim]:
        raise ValueError(f"there are no {count} elements along axis {dim}")
    # Stable and of the negated values: of equal elements the first must win in both directions.
    order = np.argsort(-x if largest else x, axis=dim, kind="stable")
    positions = np.take(order, np.arange(count), axis=dim)
    return np.take_along_axis(x, positions, axis=dim), positions.astype(np.int32)
