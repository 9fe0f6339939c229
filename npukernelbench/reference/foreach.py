"""One operation applied to every tensor of a list: arithmetic with lists and scalars, norms, updates in place.

``k`` counts tensors, ``i`` elements. Operands that are lists have equal length and shapes. A scalar is a tensor of one
element of any rank; ``scalars`` is a tensor of as many elements as ``x`` has tensors. Integers stay in the type of
``x``: scalars are converted to it and results wrap around. Functions of one list alone are in ``foreach_unary``.

Source: the ``_foreach`` functions of PyTorch and the operator pages of CANN.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "add_list",
    "add_scalar",
    "add_scalar_list",
    "addcdiv_list",
    "addcdiv_scalar",
    "addcmul_list",
    "addcmul_scalar",
    "div_list",
    "div_scalar",
    "div_scalar_list",
    "lerp_scalar",
    "maximum_list",
    "maximum_scalar",
    "minimum_list",
    "minimum_scalar",
    "mul_list",
    "mul_scalar",
    "mul_scalar_list",
    "non_finite_check_and_unscale",
    "norm",
    "pow_scalar",
    "pow_scalar_and_tensor",
    "sub_list",
    "sub_scalar",
    "sub_scalar_list",
    "zero",
]

_Tensor = NDArray[Any]
_Tensors = list[NDArray[Any]]


def add_list(x1: _Tensors, x2: _Tensors, alpha: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + alpha * x2[k]``."""
    return [a + b * _as_scalar(alpha, a) for a, b in zip(x1, x2, strict=True)]


def sub_list(x1: _Tensors, x2: _Tensors, alpha: _Tensor) -> _Tensors:
    """``y[k] = x1[k] - alpha * x2[k]``."""
    return [a - b * _as_scalar(alpha, a) for a, b in zip(x1, x2, strict=True)]


def mul_list(x1: _Tensors, x2: _Tensors) -> _Tensors:
    """``y[k] = x1[k] * x2[k]``."""
    return [a * b for a, b in zip(x1, x2, strict=True)]


def div_list(x1: _Tensors, x2: _Tensors) -> _Tensors:
    """``y[k] = x1[k] / x2[k]``; infinity and NaN as IEEE 754 has them."""
    return [a / b for a, b in zip(x1, x2, strict=True)]


def maximum_list(x1: _Tensors, x2: _Tensors) -> _Tensors:
    """``y[k] = max(x1[k], x2[k])``; NaN where either is."""
    return [np.maximum(a, b) for a, b in zip(x1, x2, strict=True)]


def minimum_list(x1: _Tensors, x2: _Tensors) -> _Tensors:
    """``y[k] = min(x1[k], x2[k])``; NaN where either is."""
    return [np.minimum(a, b) for a, b in zip(x1, x2, strict=True)]


def add_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x[k] + scalar``."""
    return [item + _as_scalar(scalar, item) for item in x]


def sub_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x[k] - scalar``."""
    return [item - _as_scalar(scalar, item) for item in x]


def mul_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x[k] * scalar``."""
    return [item * _as_scalar(scalar, item) for item in x]


def div_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x[k] / scalar``."""
    return [item / _as_scalar(scalar, item) for item in x]


def maximum_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = max(x[k], scalar)``; NaN where either is."""
    return [np.maximum(item, _as_scalar(scalar, item)) for item in x]


def minimum_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = min(x[k], scalar)``; NaN where either is."""
    return [np.minimum(item, _as_scalar(scalar, item)) for item in x]


def add_scalar_list(x: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x[k] + scalars[k]``."""
    return [item + scalar for item, scalar in _with_scalars(x, scalars)]


def sub_scalar_list(x: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x[k] - scalars[k]``."""
    return [item - scalar for item, scalar in _with_scalars(x, scalars)]


def mul_scalar_list(x: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x[k] * scalars[k]``."""
    return [item * scalar for item, scalar in _with_scalars(x, scalars)]


def div_scalar_list(x: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x[k] / scalars[k]``."""
    return [item / scalar for item, scalar in _with_scalars(x, scalars)]


def addcdiv_scalar(x1: _Tensors, x2: _Tensors, x3: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + scalar * x2[k] / x3[k]``."""
    return [a + _as_scalar(scalar, a) * (b / c) for a, b, c in zip(x1, x2, x3, strict=True)]


def addcdiv_list(x1: _Tensors, x2: _Tensors, x3: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + scalars[k] * x2[k] / x3[k]``."""
    return [a + s * (b / c) for (a, s), b, c in zip(_with_scalars(x1, scalars), x2, x3, strict=True)]


def addcmul_scalar(x1: _Tensors, x2: _Tensors, x3: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + scalar * x2[k] * x3[k]``."""
    return [a + _as_scalar(scalar, a) * b * c for a, b, c in zip(x1, x2, x3, strict=True)]


def addcmul_list(x1: _Tensors, x2: _Tensors, x3: _Tensors, scalars: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + scalars[k] * x2[k] * x3[k]``."""
    return [a + s * b * c for (a, s), b, c in zip(_with_scalars(x1, scalars), x2, x3, strict=True)]


def lerp_scalar(x1: _Tensors, x2: _Tensors, weight: _Tensor) -> _Tensors:
    """``y[k] = x1[k] + weight * (x2[k] - x1[k])``, exactly ``x1[k]`` at weight 0 and ``x2[k]`` at weight 1."""
    w = float(weight.reshape(()))
    # Not a + w * (b - a), which at weight 1 misses b by the rounding of the difference.
    return [a * (1.0 - w) + b * w for a, b in zip(x1, x2, strict=True)]


def pow_scalar(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = x[k] ^ scalar``; NaN for a negative base with a fractional exponent, ``0 ^ 0 = 1``.

    Integer exponents of integer tensors are not negative.
    """
    return [np.power(item, _as_scalar(scalar, item)) for item in x]


def pow_scalar_and_tensor(scalar: _Tensor, x: _Tensors) -> _Tensors:
    """``y[k] = scalar ^ x[k]``; ``0 ^ 0 = 1``. Integer exponents are not negative."""
    return [np.power(_as_scalar(scalar, item), item) for item in x]


def norm(x: _Tensors, scalar: _Tensor) -> _Tensors:
    """``y[k] = (sum_i |x[k]_i| ^ p) ^ (1 / p)`` over all elements, with ``p = scalar``; a rank-0 tensor per input.

    The limits are the largest (``p = inf``) and smallest magnitude (``p = -inf``) and the number of elements that are
    not zero (``p = 0``). Source: ``torch.linalg.vector_norm``.
    """
    p = float(scalar.reshape(()))
    # Flattened: of a matrix NumPy would compute a norm of matrices, which is another number for most p.
    return [np.asarray(np.linalg.norm(item.reshape(-1), ord=p)) for item in x]


def non_finite_check_and_unscale(
    scaled_grads: _Tensors, found_inf: _Tensor, inv_scale: _Tensor
) -> tuple[_Tensors, _Tensor]:
    """``grads[k] = scaled_grads[k] * inv_scale``, and 1 if any of ``scaled_grads`` is infinite or NaN, else
    ``found_inf``.

    Infinities and NaN are multiplied like any other element. Source:
    ``torch._amp_foreach_non_finite_check_and_unscale_``.
    """
    # One flag for the whole list: a scaler skips the whole step when a single gradient is not finite.
    finite = all(np.isfinite(item).all() for item in scaled_grads)
    return mul_scalar(scaled_grads, inv_scale), found_inf if finite else np.ones_like(found_inf)


def zero(x: _Tensors) -> _Tensors:
    """``y[k] = 0``, of the shapes and types of ``x``."""
    return [np.zeros_like(item) for item in x]


def _as_scalar(scalar: _Tensor, like: _Tensor) -> _Tensor:
    """A tensor of one element as a rank-0 array of the type that ``like`` is computed in."""
    # Without the conversion NumPy would promote integers to float64, which a kernel does not.
    return scalar.reshape(()).astype(like.dtype)


def _with_scalars(x: _Tensors, scalars: _Tensor) -> Iterator[tuple[_Tensor, _Tensor]]:
    """Tensors with their scalars, which are converted to the type that the tensor is computed in."""
    for item, scalar in zip(x, scalars.reshape(-1), strict=True):
        yield item, np.asarray(scalar).astype(item.dtype)
