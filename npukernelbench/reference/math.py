"""Element-wise arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "absolute",
    "add",
    "addcdiv",
    "addcmul",
    "cast",
    "clip_by_value",
    "complex_mat_dot",
    "cos",
    "lerp",
    "multiply_by_scalar",
    "negate",
    "negate_second_half",
    "rsqrt",
    "sin",
    "spence",
    "sqrt",
    "tanh",
]

#: Element types by the number that operator definitions give them; real floats stay double precision here.
# The numbers are those of CANN's `aclDataType`.
_CAST_TARGETS: dict[int, str] = {
    0: "float64",  # float32
    1: "float64",  # float16
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    9: "int64",
    12: "bool",
    27: "float64",  # bfloat16
}


def sqrt(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = sqrt(x)``, any shape; NaN below zero."""
    return np.sqrt(x)


def rsqrt(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = 1 / sqrt(x)``, any shape; infinity at zero, NaN below."""
    return np.asarray(1.0 / np.sqrt(x))


def sin(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = sin(x)``, any shape, radians."""
    return np.sin(x)


def cos(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = cos(x)``, any shape, radians."""
    return np.cos(x)


def tanh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = tanh(x)``, any shape."""
    return np.tanh(x)


def spence(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The dilogarithm ``y = integral of ln(t) / (1 - t) from 1 to x``, any shape; NaN below zero.

    ``spence(x) = Li2(1 - x)``; pi^2 / 6 at 0, 0 at 1, negative beyond. Source: ``scipy.special.spence``; Abramowitz and
    Stegun 27.7.
    """
    from scipy.special import spence as dilogarithm

    return np.asarray(dilogarithm(x))


def add(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """``z = x + y`` for equal shapes."""
    return x + y


def absolute(x: NDArray[Any]) -> NDArray[Any]:
    """``y = |x|``, any shape; integers stay in their type, complex numbers give real magnitudes.

    Source for the complex case: ``torch.abs``.
    """
    return np.asarray(np.absolute(x))


def negate(x: NDArray[Any]) -> NDArray[Any]:
    """``y = -x``, any shape; integers stay in their type, whose least value is its own negative."""
    return np.asarray(-x)


def negate_second_half(input: NDArray[np.float64]) -> NDArray[np.float64]:
    """``input`` with the sign of elements ``W // 2`` and up of the last axis flipped, where ``W`` is its extent."""
    signs = np.where(np.arange(input.shape[-1]) < input.shape[-1] // 2, 1.0, -1.0)
    return np.asarray(input * signs)


def multiply_by_scalar(x: NDArray[Any], value: NDArray[np.float64]) -> NDArray[Any]:
    """``y = x * value`` with ``value`` of one element; integers truncate the product towards zero, back to their
    type."""
    product = x * value.reshape(())
    return np.trunc(product).astype(x.dtype) if x.dtype.kind in "iu" else np.asarray(product)


def addcdiv(
    input_data: NDArray[np.float64], x1: NDArray[np.float64], x2: NDArray[np.float64], value: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``y = input_data + value * x1 / x2`` for equal shapes and ``value`` of one element. Source: ``torch.addcdiv``."""
    return np.asarray(input_data + value.reshape(()) * x1 / x2)


def addcmul(input_data: NDArray[Any], x1: NDArray[Any], x2: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
    """``y = input_data + value * x1 * x2`` for equal shapes and ``value`` of one element; integers stay in their type
    and wrap. Source: ``torch.addcmul``."""
    return np.asarray(input_data + value.reshape(()) * x1 * x2)


def lerp(start: NDArray[np.float64], end: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = start + weight * (end - start)`` for equal shapes. Source: ``torch.lerp``."""
    return start + weight * (end - start)


def clip_by_value(x: NDArray[Any], clip_value_min: NDArray[Any], clip_value_max: NDArray[Any]) -> NDArray[Any]:
    """``y = min(max(x, clip_value_min), clip_value_max)``, any shape, the limits of one element each."""
    return np.asarray(np.minimum(np.maximum(x, clip_value_min.reshape(())), clip_value_max.reshape(())))


def complex_mat_dot(
    matx: NDArray[np.complex128], maty: NDArray[np.complex128], m: int, n: int
) -> NDArray[np.complex128]:
    """The element-wise product of two complex ``m x n`` matrices. ValueError when they have another shape."""
    if matx.shape != (m, n) or maty.shape != (m, n):
        raise ValueError(f"matrices of shapes {matx.shape} and {maty.shape} are not {m} x {n}")
    return matx * maty


def cast(x: NDArray[Any], dst_type: int) -> NDArray[Any]:
    """``x`` in the element type number ``dst_type``; ValueError when there is none of that number.

    Towards an integer fractions are cut off, and integers that do not fit keep their low bits; towards a boolean
    everything but zero is true. Source: ``torch.Tensor.to``.
    """
    if dst_type not in _CAST_TARGETS:
        raise ValueError(f"there is no element type number {dst_type}")
    target = np.dtype(_CAST_TARGETS[dst_type])
    return np.asarray(x != 0) if target.kind == "b" else x.astype(target)
