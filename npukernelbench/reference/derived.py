"""Inputs that follow from other inputs of a case. A task names them as ``values: {derived: <function>}``.

Every function takes the inputs that were drawn, by name and in the types kernels see, and the case's attributes. It
returns the values in row-major order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.activation import geglu, gelu
from npukernelbench.reference.arrays import Floats
from npukernelbench.reference.norm import grouped, moments

if TYPE_CHECKING:
    from npukernelbench.nouns import AttributeValue
    from npukernelbench.nouns.execution import Argument

__all__ = [
    "add_layer_norm_mean",
    "add_layer_norm_rstd",
    "coalesced_codes",
    "coalesced_ranks",
    "deep_norm_mean",
    "deep_norm_rstd",
    "geglu_gate",
    "gelu_of_x",
    "group_norm_mean",
    "group_norm_rstd",
    "rms_norm_rstd",
]

_Inputs = Mapping[str, "Argument"]
_Attributes = Mapping[str, "AttributeValue"]

#: What the forward pass adds to a variance or mean square; backward operators have no attribute for it.
_EPSILON = 1e-5


def rms_norm_rstd(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """``1 / sqrt(mean(x^2) + 1e-5)`` over the axes of ``gamma``."""
    del attributes
    x, gamma = _real(inputs, "x"), _real(inputs, "gamma")
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    return np.asarray(1.0 / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + _EPSILON))


def add_layer_norm_mean(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Mean of ``x1 + x2`` over the axes of ``gamma``."""
    del attributes
    return moments(_real(inputs, "x1") + _real(inputs, "x2"), _real(inputs, "gamma").ndim, _EPSILON)[0]


def add_layer_norm_rstd(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Reciprocal standard deviation of ``x1 + x2`` over the axes of ``gamma``."""
    del attributes
    return moments(_real(inputs, "x1") + _real(inputs, "x2"), _real(inputs, "gamma").ndim, _EPSILON)[1]


def deep_norm_mean(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Mean of ``alpha * x + gx`` over the axes of ``gamma``."""
    return moments(_deep_sum(inputs, attributes), _real(inputs, "gamma").ndim, _EPSILON)[0]


def deep_norm_rstd(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Reciprocal standard deviation of ``alpha * x + gx`` over the axes of ``gamma``."""
    return moments(_deep_sum(inputs, attributes), _real(inputs, "gamma").ndim, _EPSILON)[1]


def group_norm_mean(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Mean per sample and group of channels of ``x``."""
    return moments(_groups(inputs, attributes), 1, _EPSILON)[0]


def group_norm_rstd(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """Reciprocal standard deviation per sample and group of channels of ``x``."""
    return moments(_groups(inputs, attributes), 1, _EPSILON)[1]


def gelu_of_x(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """The tanh form of GELU of ``x``."""
    del attributes
    return gelu(_real(inputs, "x"))


def geglu_gate(inputs: _Inputs, attributes: _Attributes) -> Floats:
    """GELU of the activated half of ``x``, as ``GeGluV2`` returns it beside its result."""
    picked: dict[str, Any] = {name: attributes[name] for name in ("dim", "approximate", "activate_left")}
    return geglu(_real(inputs, "x"), **picked)[1]


def _deep_sum(inputs: _Inputs, attributes: _Attributes) -> Floats:
    # Kernels get attributes in single precision.
    alpha = float(np.float32(attributes["alpha"]))  # type: ignore[arg-type]
    return alpha * _real(inputs, "x") + _real(inputs, "gx")


def _groups(inputs: _Inputs, attributes: _Attributes) -> Floats:
    return grouped(_real(inputs, "x"), int(attributes["num_groups"]))  # type: ignore[arg-type]


def _real(inputs: _Inputs, name: str) -> Floats:
    value = inputs[name]
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} is not a tensor of this case")
    # In float16, one of the types kernels see, sums of squares would overflow.
    return value.astype(np.float64)


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
    # Row-major strides, so that codes have the lexicographic order of the rows.
    strides = np.append(np.cumprod(extents[:0:-1])[::-1], 1)
    return np.asarray(rows @ strides, dtype=np.int64)
