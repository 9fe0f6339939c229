"""What references take and return."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats"]

#: Numbers in double precision, whatever type the operator has.
Floats: TypeAlias = NDArray[np.float64]
