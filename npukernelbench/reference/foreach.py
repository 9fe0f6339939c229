"""One operation applied to every tensor of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["add_scalar"]


def add_scalar(x: list[NDArray[Any]], scalar: NDArray[Any]) -> list[NDArray[Any]]:
    """``y[k] = x[k] + scalar`` with ``scalar`` of one element; integers stay in the type of ``x`` and wrap."""
    return [np.asarray(item + scalar.reshape(()).astype(item.dtype)) for item in x]
