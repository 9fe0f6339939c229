"""Linear algebra on small vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cross"]

#: The operator definition's default for ``dim``: none was given.
_FIRST_OF_THREE = -65530


def cross(x1: NDArray[Any], x2: NDArray[Any], dim: int) -> NDArray[Any]:
    """Vector products along ``dim``, whose extent is 3: ``y_0 = x1_1 * x2_2 - x1_2 * x2_1`` and so on in a circle.

    Equal shapes. A ``dim`` of -65530 means the first axis of extent 3. Integers stay in their type and wrap. Source:
    ``torch.linalg.cross`` and, for the missing ``dim``, ``torch.cross``.
    """
    axis = x1.shape.index(3) if dim == _FIRST_OF_THREE else dim
    if x1.shape != x2.shape or x1.shape[axis] != 3:
        raise ValueError(f"cross needs equal shapes of extent 3 along the axis, not {x1.shape} and {x2.shape}")
    first = [np.take(x1, index, axis=axis) for index in range(3)]
    second = [np.take(x2, index, axis=axis) for index in range(3)]
    # Places below zero count from the end, which closes the circle.
    parts = [first[i - 2] * second[i - 1] - first[i - 1] * second[i - 2] for i in range(3)]
    return np.stack(parts, axis=axis)
