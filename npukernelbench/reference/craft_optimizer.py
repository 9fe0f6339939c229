"""One optimizer step on one parameter tensor, in the suite ``ascendcraft``.

All tensors have the shape of the parameter; only the new parameter is returned, the new state is not. Float attributes
count as the float32 that a kernel receives, and ``1 - beta`` is the exact difference to that.
"""

from __future__ import annotations

import numpy as np

from npukernelbench.reference.arrays import Floats

__all__ = ["adagrad", "adam", "lamb", "rmsprop", "sgd"]


def adagrad(param: Floats, grad: Floats, accum: Floats, lr: float, eps: float) -> Floats:
    """``param - lr * grad / (sqrt(accum + grad^2) + eps)``. Source: ``torch.optim.Adagrad``."""
    return param - _single(lr) * grad / (np.sqrt(accum + np.square(grad)) + _single(eps))


def adam(
    param: Floats,
    grad: Floats,
    m: Floats,
    v: Floats,
    beta1: float,
    beta2: float,
    lr: float,
    eps: float,
    step: int,
) -> Floats:
    """``param - lr * mean / (sqrt(square) + eps)`` with bias-corrected running averages.

    ``mean = (beta1 * m + (1 - beta1) * grad) / (1 - beta1^step)``,
    ``square = (beta2 * v + (1 - beta2) * grad^2) / (1 - beta2^step)``. Source: Kingma and Ba, arXiv 1412.6980;
    ``torch.optim.Adam``.
    """
    first, second = _single(beta1), _single(beta2)
    # The step counts from 1: with 0 both corrections would be divisions by zero.
    mean = (first * m + (1.0 - first) * grad) / (1.0 - first**step)
    square = (second * v + (1.0 - second) * np.square(grad)) / (1.0 - second**step)
    return param - _single(lr) * mean / (np.sqrt(square) + _single(eps))


def lamb(param: Floats, m: Floats, v: Floats, lr: float, eps: float) -> Floats:
    """``param - lr * trust * r`` with ``r = m / (sqrt(v) + eps)`` and ``trust = |param| / (|r| + eps)``.

    The norms are Euclidean, over all elements. Source: You et al., arXiv 1904.00962, without weight decay and bias
    correction.
    """
    ratio = m / (np.sqrt(v) + _single(eps))
    trust = np.sqrt(np.square(param).sum()) / (np.sqrt(np.square(ratio).sum()) + _single(eps))
    return np.asarray(param - _single(lr) * trust * ratio)


def rmsprop(param: Floats, grad: Floats, v: Floats, lr: float, alpha: float, eps: float) -> Floats:
    """``param - lr * grad / (sqrt(alpha * v + (1 - alpha) * grad^2) + eps)``. Source: ``torch.optim.RMSprop``."""
    decay = _single(alpha)
    square = decay * v + (1.0 - decay) * np.square(grad)
    return param - _single(lr) * grad / (np.sqrt(square) + _single(eps))


def sgd(param: Floats, grad: Floats, velocity: Floats, momentum: float, lr: float) -> Floats:
    """``param - lr * (momentum * velocity + grad)``. Source: ``torch.optim.SGD`` with momentum, no dampening."""
    return param - _single(lr) * (_single(momentum) * velocity + grad)


def _single(value: float) -> float:
    return float(np.float32(value))
