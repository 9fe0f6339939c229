"""One function applied to every element of every tensor of a list: ``y[k]_i = f(x[k]_i)``, any shapes.

NaN gives NaN, infinities give the limits. Integers stay in their type. Source: the ``_foreach`` functions of PyTorch
of the same names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "absolute",
    "acos",
    "asin",
    "atan",
    "copy",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "neg",
    "reciprocal",
    "round_off_number",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

_Tensors = list[NDArray[Any]]


def absolute(x: _Tensors) -> _Tensors:
    """``y = |x|``; the sign of zero and NaN is cleared too."""
    return [np.absolute(item) for item in x]


def acos(x: _Tensors) -> _Tensors:
    """``y = arccos(x)`` in [0, pi]; NaN outside [-1, 1]."""
    return [np.arccos(item) for item in x]


def asin(x: _Tensors) -> _Tensors:
    """``y = arcsin(x)`` in [-pi / 2, pi / 2]; NaN outside [-1, 1]."""
    return [np.arcsin(item) for item in x]


def atan(x: _Tensors) -> _Tensors:
    """``y = arctan(x)`` in [-pi / 2, pi / 2]."""
    return [np.arctan(item) for item in x]


def copy(x: _Tensors) -> _Tensors:
    """``y = x``."""
    # Memory of its own: a view would change with the input.
    return [item.copy() for item in x]


def cos(x: _Tensors) -> _Tensors:
    """``y = cos(x)``, x in radians."""
    return [np.cos(item) for item in x]


def cosh(x: _Tensors) -> _Tensors:
    """``y = (exp(x) + exp(-x)) / 2``."""
    return [np.cosh(item) for item in x]


def erf(x: _Tensors) -> _Tensors:
    """``y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x``."""
    from scipy.special import erf as function

    return [np.asarray(function(item)) for item in x]


def erfc(x: _Tensors) -> _Tensors:
    """``y = 1 - erf(x)``, without cancellation for large ``x``."""
    from scipy.special import erfc as function

    return [np.asarray(function(item)) for item in x]


def exp(x: _Tensors) -> _Tensors:
    """``y = e ^ x``."""
    return [np.exp(item) for item in x]


def expm1(x: _Tensors) -> _Tensors:
    """``y = e ^ x - 1``, without cancellation near zero."""
    return [np.expm1(item) for item in x]


def log(x: _Tensors) -> _Tensors:
    """``y = ln(x)``; -infinity at zero, NaN below."""
    return [np.log(item) for item in x]


def log10(x: _Tensors) -> _Tensors:
    """``y = log(x)`` to base 10; -infinity at zero, NaN below."""
    return [np.log10(item) for item in x]


def log1p(x: _Tensors) -> _Tensors:
    """``y = ln(1 + x)``, without cancellation near zero; -infinity at -1, NaN below."""
    return [np.log1p(item) for item in x]


def log2(x: _Tensors) -> _Tensors:
    """``y = log(x)`` to base 2; -infinity at zero, NaN below."""
    return [np.log2(item) for item in x]


def neg(x: _Tensors) -> _Tensors:
    """``y = -x``; the most negative integer stays as it is."""
    return [np.negative(item) for item in x]


def reciprocal(x: _Tensors) -> _Tensors:
    """``y = 1 / x``; infinity of the same sign at zero."""
    return [np.reciprocal(item) for item in x]


def round_off_number(x: _Tensors, roundMode: NDArray[Any]) -> _Tensors:
    """``y`` is ``x`` rounded to a whole number, or its fraction, as the one element of ``roundMode`` says.

    1: to nearest, ties to even. 2: down. 3: up. 4: to nearest, ties away from zero. 5: towards zero. 6: to the odd one
    of the two neighbours unless ``x`` is whole. 7: the fraction ``x - trunc(x)``. ValueError for any other number.

    Source: CANN's page on the operator for 1 to 6, ``torch._foreach_frac`` in PyTorch's adapter for 7.
    """
    mode = int(roundMode.reshape(()))
    match mode:
        case 1:
            return [np.rint(item) for item in x]
        case 2:
            return [np.floor(item) for item in x]
        case 3:
            return [np.ceil(item) for item in x]
        case 4:
            # Exact: inputs have the digits of float32 at most, and the sum is in double precision.
            return [np.copysign(np.floor(np.abs(item) + 0.5), item) for item in x]
        case 5:
            return [np.trunc(item) for item in x]
        case 6:
            return [_to_odd(item) for item in x]
        case 7:
            return [item - np.trunc(item) for item in x]
    raise ValueError(f"roundMode must be 1 to 7, not {mode}")


def sigmoid(x: _Tensors) -> _Tensors:
    """``y = 1 / (1 + exp(-x))``, accurate for very negative ``x``."""
    from scipy.special import expit

    return [np.asarray(expit(item)) for item in x]


def sign(x: _Tensors) -> _Tensors:
    """``y`` is -1, 0 or 1, as ``x`` is negative, zero or positive."""
    return [np.sign(item) for item in x]


def sin(x: _Tensors) -> _Tensors:
    """``y = sin(x)``, x in radians."""
    return [np.sin(item) for item in x]


def sinh(x: _Tensors) -> _Tensors:
    """``y = (exp(x) - exp(-x)) / 2``, without cancellation near zero."""
    return [np.sinh(item) for item in x]


def sqrt(x: _Tensors) -> _Tensors:
    """``y = sqrt(x)``; NaN below zero."""
    return [np.sqrt(item) for item in x]


def tan(x: _Tensors) -> _Tensors:
    """``y = tan(x)``, x in radians."""
    return [np.tan(item) for item in x]


def tanh(x: _Tensors) -> _Tensors:
    """``y = (exp(x) - exp(-x)) / (exp(x) + exp(-x))``."""
    return [np.tanh(item) for item in x]


def _to_odd(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers unchanged, other values to the odd one of their two neighbours."""
    below = np.floor(x)
    # NumPy's remainder has the sign of the divisor, so that odd negative numbers are found, too.
    return np.where((below == x) | (below % 2 != 0), below, below + 1.0)
