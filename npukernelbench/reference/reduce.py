"""Chains of element-wise operations with reductions, as they come out of operator fusion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = ["gated_sum", "product_norm", "scaled_sigmoid", "selected_softmax"]


def gated_sum(
    add_0_input0: Floats, add_0_input1: Floats, mul_0_input1: Floats, mult_1_input1: Floats, mult_2_input1: Floats
) -> Floats:
    """``out[n, c] = sum_r sigmoid((x[n, r, c] + b[0, 0, c]) * s) * p[n, r, 0] * q[n, r, c]`` for ``x`` of shape
    ``[N, R, C]``.

    The arguments are ``x``, ``b``, ``s`` (one element), ``p`` and ``q`` in this order. Source: CANN's
    AddSigmoidMulReduceSumD.
    """
    gate = _sigmoid((add_0_input0 + add_0_input1) * mul_0_input1)
    return np.asarray((gate * mult_1_input1 * mult_2_input1).sum(axis=1))


def product_norm(
    mul0_input0: Floats, mul0_input1: Floats, mul1_input0: Floats, add_y: Floats, gamma: Floats, beta: Floats
) -> Floats:
    """``gamma * (p - mean) / sqrt(variance + add_y) + beta`` per row of ``p = mul0_input0 * mul0_input1 *
    mul1_input0``.

    ``[B, D]`` for the factors, rank 0 for ``mul1_input0`` and ``add_y``, ``[1, D]`` for ``gamma`` and ``beta``. The
    variance is the mean square of ``p - mean``. Source: CANN's MulMulReduceMeanDTwice.
    """
    product = mul0_input0 * mul0_input1 * mul1_input0
    centred = product - product.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    return np.asarray(gamma * centred / np.sqrt(variance + add_y) + beta)


def scaled_sigmoid(input: Floats, mulscalar1: Floats, mulscalar2: Floats, addscalar3: Floats) -> Floats:
    """``sigmoid(input * mulscalar1) * mulscalar2 + addscalar3``, any shape, scalars of one element. Source: CANN's
    MulSigmoidMulAddCustom."""
    return np.asarray(_sigmoid(input * mulscalar1) * mulscalar2 + addscalar3)


def selected_softmax(sel: NDArray[np.bool_], input1: Floats, input2: Floats) -> Floats:
    """Softmax along the last axis of ``input1`` where ``sel`` is true and ``input2`` elsewhere; equal shapes.

    Source: CANN's SelectReduceMaxDSubExpReduceSumDRealDiv.
    """
    chosen = np.where(sel, input1, input2)
    # Less the largest element, so that nothing overflows.
    powers = np.exp(chosen - chosen.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _sigmoid(x: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(x))
