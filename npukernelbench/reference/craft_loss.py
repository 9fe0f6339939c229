"""Losses of the suite ``ascendcraft``: every one is a single number, an array of rank 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference import loss

__all__ = [
    "cosine_similarity_loss",
    "cross_entropy_loss",
    "hinge_loss",
    "huber_loss",
    "kl_div_loss",
    "mse_loss",
    "triplet_margin_loss",
]

# Both numbers are the defaults of `eps` in the functions of PyTorch that are named below.
_SMALLEST_NORM = 1e-8
_DISTANCE_OFFSET = 1e-6


def cosine_similarity_loss(predictions: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over rows of ``1 - p.t / (max(|p|, 1e-8) * max(|t|, 1e-8))`` for ``[rows, columns]``.

    Source: ``torch.nn.functional.cosine_similarity``.
    """
    products = (predictions * targets).sum(axis=1)
    # Each norm has its own limit, as in PyTorch: a limit of their product would be another function.
    norms = [np.maximum(np.sqrt(np.square(a).sum(axis=1)), _SMALLEST_NORM) for a in (predictions, targets)]
    return np.asarray(np.mean(1.0 - products / (norms[0] * norms[1])))


def cross_entropy_loss(predictions: NDArray[np.float64], targets: NDArray[Any]) -> NDArray[np.float64]:
    """Mean over rows of ``log(sum(exp(p))) - p[target]`` for logits ``[rows, classes]`` and class numbers ``[rows]``.

    Source: ``torch.nn.functional.cross_entropy``.
    """
    # Less the largest logit, so that nothing overflows.
    top = predictions.max(axis=1, keepdims=True)
    logs = np.log(np.exp(predictions - top).sum(axis=1)) + top[:, 0]
    return np.asarray(np.mean(logs - predictions[np.arange(len(targets)), targets]))


def hinge_loss(predictions: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of ``max(0, 1 - predictions * targets)`` for ``[rows, columns]`` and labels -1 or 1 per column."""
    return np.asarray(np.mean(np.maximum(1.0 - predictions * targets, 0.0)))


def huber_loss(predictions: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of ``d^2 / 2`` where ``|d| < 1`` and ``|d| - 1/2`` elsewhere, with ``d`` the difference; equal shapes.

    Source: ``torch.nn.functional.smooth_l1_loss`` with its default ``beta`` of 1.
    """
    distance = np.abs(predictions - targets)
    return np.asarray(np.mean(np.where(distance < 1.0, 0.5 * np.square(distance), distance - 0.5)))


def kl_div_loss(predictions: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """``sum(t * (log(t) - log(p))) / rows`` for probabilities ``[rows, columns]``.

    ``t = 0`` contributes nothing where ``p`` is positive; where both are 0 the result is NaN, as in PyTorch.
    Source: ``torch.nn.functional.kl_div`` of the logarithm of the predictions with the reduction ``batchmean``.
    """
    from scipy.special import xlogy

    # `xlogy(0, 0)` is 0, where 0 * log(0) would be NaN.
    return np.asarray((xlogy(targets, targets) - targets * np.log(predictions)).sum() / len(targets))


def mse_loss(predictions: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of ``(predictions - targets)^2`` for equal shapes."""
    return loss.mse_loss(predictions, targets, "mean")


def triplet_margin_loss(
    anchor: NDArray[np.float64], positive: NDArray[np.float64], negative: NDArray[np.float64], margin: float
) -> NDArray[np.float64]:
    """Mean over rows of ``max(0, |a - p + e| - |a - n + e| + margin)`` with Euclidean norms and ``e = 1e-6``.

    All tensors are ``[rows, columns]``; ``margin`` counts as the float32 that a kernel receives. Source:
    ``torch.nn.TripletMarginLoss``, whose distance adds ``e`` to every difference.
    """
    near, far = (np.sqrt(np.square(anchor - b + _DISTANCE_OFFSET).sum(axis=1)) for b in (positive, negative))
    return np.asarray(np.mean(np.maximum(near - far + float(np.float32(margin)), 0.0)))
