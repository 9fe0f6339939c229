"""Inputs that follow from other inputs of a case. A task names them as ``values: {derived: <function>}``.

Every function takes the inputs that were drawn, by name and in the types kernels see, and the case's attributes. It
returns the values in row-major order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from npukernelbench.nouns import AttributeValue
    from npukernelbench.nouns.execution import Argument

__all__ = ["coalesced_codes", "coalesced_ranks"]

_Inputs = Mapping[str, "Argument"]
_Attributes = Mapping[str, "AttributeValue"]


def coalesced_codes(inputs: _Inputs, attributes: _Attributes) -> NDArray[np.int64]:
    """The different rows of ``indices`` as positions in a dense tensor of the least extents that hold them,
    ascending."""
    del attributes
    return np.unique(_codes(inputs))


def coalesced_ranks(inputs: _Inputs, attributes: _Attributes) -> NDArray[np.int64]:
    """For every row of ``indices`` its rank among the different rows in lexicographic order."""
    del attributes
    return np.asarray(np.unique(_codes(inputs), return_inverse=True)[1], dtype=np.int64)


def _codes(inputs: _Inputs) -> NDArray[np.int64]:
    indices: Any = inputs["indices"]
    rows = np.asarray(indices, dtype=np.int64)
    extents = rows.max(axis=0) + 1
    strides = np.append(np.cumprod(extents[:0:-1])[::-1], 1)
    return np.asarray(rows @ strides, dtype=np.int64)
