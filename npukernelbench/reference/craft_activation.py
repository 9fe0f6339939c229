"""Activation functions of the suite ``ascendcraft``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference import activation

__all__ = [
    "elu",
    "gelu",
    "hardsigmoid",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "relu",
    "selu",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def elu(x: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """``y = x`` above zero and ``alpha * (exp(x) - 1)`` elsewhere, any shape.

    ``alpha`` counts as the float32 that a kernel receives. Source: Clevert et al., arXiv 1511.07289; ``torch.nn.ELU``.
    """
    # Both branches are computed everywhere: without the minimum, large x would overflow.
    return np.where(x > 0.0, x, float(np.float32(alpha)) * np.expm1(np.minimum(x, 0.0)))


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exact GELU ``y = x * Phi(x)`` with the normal distribution function, any shape.

    Source: Hendrycks and Gimpel, arXiv 1606.08415; ``torch.nn.functional.gelu`` without approximation.
    """
    from scipy.special import ndtr

    return np.asarray(x * ndtr(x))


def hardsigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = min(max(x + 3, 0), 6) / 6``, any shape. Source: ``torch.nn.Hardsigmoid``."""
    return np.clip(x + 3.0, 0.0, 6.0) / 6.0


def hardtanh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = min(max(x, -1), 1)``, any shape; NaN stays NaN. Source: ``torch.nn.Hardtanh``."""
    return np.clip(x, -1.0, 1.0)


def leaky_relu(x: NDArray[np.float64], negative_slope: float) -> NDArray[np.float64]:
    """``y = x`` from zero upwards and ``negative_slope * x`` below, any shape.

    ``negative_slope`` counts as the float32 that a kernel receives. Source: ``torch.nn.LeakyReLU``.
    """
    return np.where(x >= 0.0, x, float(np.float32(negative_slope)) * x)


def log_softmax(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """``y = x - log(sum(exp(x)))``, the sum along ``dim``; the shape of ``x``. Source: ``torch.log_softmax``."""
    # Less the largest element, so that nothing overflows.
    shifted = x - x.max(axis=dim, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True)))


def relu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = max(x, 0)``, any shape; NaN stays NaN. Source: ``torch.relu``."""
    return np.maximum(x, 0.0)


def selu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = scale * x`` above zero and ``scale * alpha * (exp(x) - 1)`` elsewhere, any shape.

    ``scale`` and ``alpha`` are the constants that keep mean 0 and variance 1 fixed. Source: Klambauer et al., arXiv
    1706.02515; ``torch.selu``.
    """
    # expm1 keeps the digits of small negative x, and the minimum keeps the other branch from overflowing.
    return _SELU_SCALE * np.where(x > 0.0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0.0)))


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = 1 / (1 + exp(-x))``, any shape. Source: ``torch.sigmoid``."""
    from scipy.special import expit

    return np.asarray(expit(x))


def softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = exp(x) / sum(exp(x))``, the sum over the last axis; the shape of ``x``. Source: ``torch.softmax``."""
    # Less the largest element, so that nothing overflows.
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def softplus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = log(1 + exp(x))``, any shape, without overflow for large ``x``.

    ``torch.nn.functional.softplus`` returns ``x`` itself above 20, which differs by less than 2.1e-9.
    """
    return np.logaddexp(0.0, x)


def softsign(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = x / (1 + |x|)``, any shape. Source: ``torch.nn.Softsign``."""
    return x / (1.0 + np.abs(x))


def swish(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = x * sigmoid(x)``, any shape. Source: ``torch.nn.SiLU``."""
    return activation.swish(x, 1.0)


def tanh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``y = tanh(x)``, any shape. Source: ``torch.tanh``."""
    return np.tanh(x)
