"""Activation functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "fast_gelu",
    "fused_matmul_softmax_grad",
    "geglu",
    "gelu",
    "gelu_by_name",
    "mul_sigmoid",
    "softmax",
    "swiglu",
    "swish",
]


def swish(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """``y = x * sigmoid(scale * x)``, any shape. ``scale`` counts as the float32 that a kernel receives."""
    return x * _sigmoid(float(np.float32(scale)) * x)


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tanh form of GELU, ``y = x * sigmoid(sqrt(8 / pi) * (x + 0.044715 * x^3))``, any shape.

    It equals ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``. Source: Hendrycks and Gimpel, arXiv
    1606.08415.
    """
    # 1 + tanh(t) is 2 * sigmoid(2 * t): the sum would lose all digits for very negative x, the sigmoid does not.
    return x * _sigmoid(math.sqrt(8.0 / math.pi) * (x + 0.044715 * x * x * x))


def swiglu(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y = swish(a) * b`` with ``a`` and ``b`` the first and second half of ``x`` along ``dim``, whose extent is even.

    Source: Shazeer, arXiv 2002.05202, without the linear maps.
    """
    gate, linear = np.split(x, 2, axis=dim)
    return gate * _sigmoid(gate) * linear


def fast_gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sigmoid form of GELU, ``y = x * sigmoid(1.702 * x)``, any shape.

    It equals ``x / (1 + exp(-1.702 * |x|)) * exp(0.851 * (x - |x|))``. Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    return x * _sigmoid(1.702 * x)


def gelu_by_name(x: NDArray[np.float64], approximate: str) -> NDArray[np.float64]:
    """GELU in its exact form (``none``), ``x / 2 * erfc(-x / sqrt(2))``, or in its ``tanh`` form. Source: ``torch``."""
    from scipy.special import erfc

    if approximate == "none":
        # erfc rather than 1 + erf, which loses all digits for very negative x.
        return np.asarray(0.5 * x * erfc(-x / math.sqrt(2.0)))
    if approximate == "tanh":
        return gelu(x)
    raise ValueError(f"approximate must be none or tanh, not {approximate!r}")


def geglu(
    x: NDArray[np.float64], dim: int, approximate: int, activate_left: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``y = gelu(a) * b`` and ``gelu(a)``, with ``a`` the first half of ``x`` along ``dim`` if ``activate_left``.

    Otherwise ``a`` is the second half. ``approximate`` 0 is the exact form of GELU, 1 the tanh form. Source: Shazeer,
    arXiv 2002.05202, without the linear maps.
    """
    left, right = np.split(x, 2, axis=dim)
    # GeGluV2 gives numbers to the forms that `torch` gives names to.
    gate = gelu_by_name(left if activate_left else right, {0: "none", 1: "tanh"}[approximate])
    return gate * (right if activate_left else left), gate


def softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``exp(x - max) / sum(exp(x - max))`` along the last axis."""
    # Less the largest element, so that nothing overflows.
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def fused_matmul_softmax_grad(
    softmaxOutput: NDArray[np.float64],
    gradOutput: NDArray[np.float64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Gradient at the scores of an attention: ``(g - sum(s * g)) * s`` along the last axis.

    ``s`` is the softmax output and ``g = gradOutput @ values^T``.
    Shapes ``[m, n]``, ``[m, k]``, ``[n, k]``; the result takes the place of ``s``.
    """
    grad = gradOutput @ values.T
    # The Jacobian of softmax is diag(s) - s s^T: one weighted sum per row takes the place of that matrix.
    return np.asarray((grad - np.sum(softmaxOutput * grad, axis=-1, keepdims=True)) * softmaxOutput)


def mul_sigmoid(
    x1: NDArray[np.float64], x2: NDArray[np.float64], t1: float, t2: float, t3: float
) -> NDArray[np.float64]:
    """``s * x2 * t3`` with ``p = sigmoid(t1 * x1)`` and ``s = p`` where ``p < t2``, else ``2 * p``.

    ``x1`` is ``[rows, values]`` and ``x2`` ``[1, ...]`` of as many values; the result has the shape of ``x2`` with as
    many rows as ``x1``. Thresholds and factors count as the float32 that a kernel receives.
    """
    p = _sigmoid(float(np.float32(t1)) * x1)
    selected = np.where(p < float(np.float32(t2)), p, 2.0 * p)
    product = selected * x2.reshape(1, -1) * float(np.float32(t3))
    return np.asarray(product.reshape(x1.shape[0], *x2.shape[1:]))


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 / (1 + exp(-x))`` without loss of relative accuracy for very negative ``x``."""
    from scipy.special import expit

    return np.asarray(expit(x))
