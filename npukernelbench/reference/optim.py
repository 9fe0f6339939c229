"""Steps of optimizers, element by element, all tensors of one shape. Attributes count as the float32 that a kernel
receives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = ["adam_ema_step", "adam_w_step"]


def adam_w_step(
    var: Floats,
    m: Floats,
    v: Floats,
    grad: Floats,
    step: NDArray[Any],
    max_grad_norm: Floats | None,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
) -> tuple[Floats, Floats, Floats, Floats | None]:
    """One step of AdamW: the new ``var``, ``m``, ``v`` and ``max_grad_norm``.

    With ``g = -grad`` if ``maximize`` else ``grad`` and ``t = step + 1``::

        m' = beta1 * m + (1 - beta1) * g        v' = beta2 * v + (1 - beta2) * g^2
        max_grad_norm' = max(max_grad_norm, v') if amsgrad else max_grad_norm
        s = max_grad_norm' if amsgrad else v'
        var' = var * (1 - lr * weight_decay) - lr * m' / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps)

    Source: Loshchilov and Hutter, arXiv 1711.05101; Reddi et al., arXiv 1904.09237; ``torch.optim.AdamW``, whose
    ``step`` counts the steps taken before this one.
    """
    rate, first, second = _single(lr), _single(beta1), _single(beta2)
    gradient = -grad if maximize else grad
    t = float(step.reshape(())) + 1.0
    m_out = first * m + (1.0 - first) * gradient
    v_out = second * v + (1.0 - second) * np.square(gradient)
    largest, scale = max_grad_norm, v_out
    if amsgrad:
        if max_grad_norm is None:
            raise ValueError("amsgrad needs max_grad_norm")
        # The largest square is kept without bias correction, as PyTorch keeps it; the correction follows below.
        largest = scale = np.maximum(max_grad_norm, v_out)
    denominator = np.sqrt(scale / (1.0 - second**t)) + _single(eps)
    # Decoupled decay, the W of AdamW: it acts on the variable and takes no part in the gradient's averages.
    decayed = var * (1.0 - rate * _single(weight_decay))
    return decayed - rate / (1.0 - first**t) * m_out / denominator, m_out, v_out, largest


def adam_ema_step(
    grad: Floats,
    var: Floats,
    m: Floats,
    v: Floats,
    s: Floats,
    step: NDArray[np.int64],
    lr: float,
    ema_decay: float,
    beta1: float,
    beta2: float,
    eps: float,
    mode: int,
    bias_correction: bool,
    weight_decay: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """One step of Adam with an exponential moving average ``s`` of the weights: the new ``var``, ``m``, ``v``, ``s``.

    With ``c_i = 1 - beta_i^step`` if ``bias_correction`` else 1, and ``g = grad + weight_decay * var`` in mode 0,
    ``grad`` in mode 1::

        m' = beta1 * m + (1 - beta1) * g        v' = beta2 * v + (1 - beta2) * g^2
        u = (m' / c_1) / (sqrt(v' / c_2) + eps)
        var' = var - lr * u                            (mode 0)
        var' = var - lr * (u + weight_decay * var)     (mode 1)
        s' = ema_decay * s + (1 - ema_decay) * var'

    Source: CANN's ``aclnnApplyFusedEmaAdam``.
    """
    if mode not in (0, 1):
        raise ValueError(f"mode must be 0 or 1, not {mode}")
    first, second, decay, kept = _single(beta1), _single(beta2), _single(weight_decay), _single(ema_decay)
    t = float(step.reshape(()))
    correction1, correction2 = (1.0 - first**t, 1.0 - second**t) if bias_correction else (1.0, 1.0)
    gradient = grad + decay * var if mode == 0 else grad
    m_out = first * m + (1.0 - first) * gradient
    v_out = second * v + (1.0 - second) * np.square(gradient)
    update = m_out / correction1 / (np.sqrt(v_out / correction2) + _single(eps))
    if mode == 1:
        update = update + decay * var
    var_out = var - _single(lr) * update
    return var_out, m_out, v_out, kept * s + (1.0 - kept) * var_out


def _single(value: float) -> float:
    return float(np.float32(value))
