"""Gradients of activation functions."""

from __future__ import annotations

import math

import numpy as np

from npukernelbench.reference.arrays import Floats

__all__ = ["fast_gelu_grad", "geglu_grad", "gelu_grad", "swiglu_grad"]


def fast_gelu_grad(dy: Floats, x: Floats) -> Floats:
    """``dy`` times the derivative of ``x * sigmoid(1.702 * x)``: ``p * (1 + 1.702 * x * (1 - p))``."""
    # x and the factor enter the slope by their product alone, so that both swishes share one function.
    return dy * _swish_slope(1.702 * x)


def gelu_grad(dy: Floats, x: Floats, y: Floats) -> Floats:
    """``dy`` times the derivative of the tanh form of GELU. ``y``, its value, takes no part."""
    # The operator has y as an input, but the derivative follows from x.
    del y
    return dy * _gelu_slope(x, 1)


def geglu_grad(dy: Floats, x: Floats, gelu: Floats, dim: int, approximate: int, activate_left: bool) -> Floats:
    """Gradient of ``gelu(a) * b`` at ``x``, whose halves along ``dim`` are ``a`` and ``b``, or ``b`` and ``a``.

    ``da = dy * b * gelu'(a)`` and ``db = dy * gelu``, with ``gelu`` as the forward pass saved it. ``a`` is the first
    half if ``activate_left``; ``approximate`` 0 is the exact form of GELU, 1 the tanh form.
    """
    left, right = np.split(x, 2, axis=dim)
    a, b = (left, right) if activate_left else (right, left)
    # The saved value is used as it is: computed again, it would lack the rounding that the kernel's input has.
    da, db = dy * b * _gelu_slope(a, approximate), dy * gelu
    return np.concatenate((da, db) if activate_left else (db, da), axis=dim)


def swiglu_grad(y_grad: Floats, x: Floats, dim: int) -> Floats:
    """Gradient of ``a * sigmoid(a) * b`` at ``x``, whose halves along ``dim`` are ``a`` and ``b``."""
    a, b = np.split(x, 2, axis=dim)
    return np.concatenate((y_grad * b * _swish_slope(a), y_grad * a * _sigmoid(a)), axis=dim)


def _swish_slope(t: Floats) -> Floats:
    """``p * (1 + t * (1 - p))`` with ``p = sigmoid(t)``."""
    # sigmoid(-t) rather than 1 - sigmoid(t), which loses all digits for large t.
    return np.asarray(_sigmoid(t) * (1.0 + t * _sigmoid(-t)))


def _gelu_slope(x: Floats, approximate: int) -> Floats:
    """Derivative of GELU in its exact (0) or tanh (1) form."""
    from scipy.special import erfc

    if approximate == 0:
        density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        # erfc rather than 1 + erf, which loses all digits for very negative x.
        return np.asarray(0.5 * erfc(-x / math.sqrt(2.0)) + x * density)
    if approximate != 1:
        raise ValueError(f"approximate must be 0 or 1, not {approximate}")
    factor = math.sqrt(8.0 / math.pi)
    inner = factor * (x + 0.044715 * x * x * x)
    p = _sigmoid(inner)
    # The derivative of p is p * (1 - p); sigmoid(-inner) is 1 - p without its cancellation.
    return np.asarray(p + x * p * _sigmoid(-inner) * factor * (1.0 + 3.0 * 0.044715 * x * x))


def _sigmoid(x: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(x))
