"""Pooling in the suite ``ascendcraft``: windows over all axes but the first two, samples and channels.

They have the same extent along every pooled axis. An axis of extent ``n`` becomes
``(n + 2 * padding - kernel_size) // stride + 1``; windows that would reach beyond the padding are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npukernelbench.reference.arrays import Floats

__all__ = [
    "average_pooling_1d",
    "average_pooling_2d",
    "average_pooling_3d",
    "max_pooling_1d",
    "max_pooling_2d",
    "max_pooling_3d",
]


def average_pooling_1d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Means of windows over the last axis; padding is zeros that count. Source: ``torch.nn.AvgPool1d``."""
    return _pool(x, 1, (kernel_size, stride, padding), 0.0, np.add) / kernel_size


def average_pooling_2d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Means of windows over the last two axes; padding is zeros that count. Source: ``torch.nn.AvgPool2d``."""
    return _pool(x, 2, (kernel_size, stride, padding), 0.0, np.add) / kernel_size**2


def average_pooling_3d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Means of windows over the last three axes; padding is zeros that count. Source: ``torch.nn.AvgPool3d``."""
    return _pool(x, 3, (kernel_size, stride, padding), 0.0, np.add) / kernel_size**3


def max_pooling_1d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Largest elements of windows over the last axis; padding never wins, NaN does. Source: ``torch.nn.MaxPool1d``."""
    return _pool(x, 1, (kernel_size, stride, padding), -np.inf, np.maximum)


def max_pooling_2d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Largest elements of windows over the last two axes; padding never wins, NaN does. Source:
    ``torch.nn.MaxPool2d``."""
    return _pool(x, 2, (kernel_size, stride, padding), -np.inf, np.maximum)


def max_pooling_3d(x: Floats, kernel_size: int, stride: int, padding: int) -> Floats:
    """Largest elements of windows over the last three axes; padding never wins, NaN does. Source:
    ``torch.nn.MaxPool3d``."""
    return _pool(x, 3, (kernel_size, stride, padding), -np.inf, np.maximum)


def _pool(
    x: Floats, axes: int, window: tuple[int, int, int], fill: float, combine: Callable[[Any, Any], Floats]
) -> Floats:
    """Windows over the last ``axes`` axes reduced by ``combine``, one axis after the other."""
    kernel_size, stride, padding = window
    # Sums and maxima over a box are those over its axes one by one, which is far less work.
    for axis in range(x.ndim - axes, x.ndim):
        # One axis at a time keeps the padded copy small. Padding of other axes adds 0 or -inf when their turn comes.
        widths = [(padding, padding) if item == axis else (0, 0) for item in range(x.ndim)]
        line = np.moveaxis(np.pad(x, widths, constant_values=fill), axis, 0)
        starts = line.shape[0] - kernel_size + 1
        pooled = line[:starts:stride]
        # Over the window and not over its places, so that NumPy works on whole slices.
        for offset in range(1, kernel_size):
            pooled = combine(pooled, line[offset : offset + starts : stride])
        x = np.moveaxis(pooled, 0, axis)
    return x
