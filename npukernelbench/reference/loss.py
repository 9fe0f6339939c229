"""Losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = ["cross_entropy_loss", "cross_entropy_loss_grad", "mse_loss", "mse_loss_grad"]

_Labels = NDArray[np.int64]


def mse_loss(predict: NDArray[np.float64], label: NDArray[np.float64], reduction: str) -> NDArray[np.float64]:
    """``(predict - label)^2`` for equal shapes: as it is (``none``), or its ``mean`` or ``sum`` as an array of rank
    0."""
    errors = np.square(predict - label)
    if reduction == "none":
        return errors
    if reduction == "mean":
        return np.asarray(errors.mean())
    if reduction == "sum":
        return np.asarray(errors.sum())
    raise ValueError(f"reduction must be none, mean or sum, not {reduction!r}")


def mse_loss_grad(predict: Floats, label: Floats, dout: Floats, reduction: str) -> Floats:
    """``2 * (predict - label) * dout``, divided by the number of elements if ``reduction`` is ``mean``."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be none, mean or sum, not {reduction!r}")
    return 2.0 * (predict - label) * dout / (predict.size if reduction == "mean" else 1)


def cross_entropy_loss(
    input: Floats,
    target: _Labels,
    weight: Floats | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    lse_square_scale_for_zloss: float,
    return_zloss: bool,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Cross entropy of rows of logits ``[n, c]`` with one class per row, as ``torch.nn.functional.cross_entropy``.

    Returns the loss (rank 0, or ``[n]`` unreduced), ``log_prob = input - lse`` with ``lse = log(sum(exp(input)))``,
    and, empty unless ``return_zloss``, ``scale * mean(lse^2)`` of shape ``[1]`` and ``lse``. The mean divides
    by the weights of the rows that count; rows whose target is ``ignore_index`` do not.
    """
    lse = _log_sum_exp(input)
    log_prob = input - lse[:, None]
    weights = np.ones(input.shape[1]) if weight is None else weight
    smoothing = float(np.float32(label_smoothing))
    # Smoothing, too, weighs every class by its own weight, as PyTorch does.
    per_class = -log_prob * weights
    rows = np.arange(target.size)
    kept = target != ignore_index
    # `ignore_index` may be no class.
    target = np.where(kept, target, 0)
    losses = (1.0 - smoothing) * per_class[rows, target] + smoothing / input.shape[1] * per_class.sum(axis=1)
    losses = np.where(kept, losses, 0.0)
    # Divided by the targets' weights also with smoothing, as PyTorch does.
    loss = losses if reduction == "none" else np.asarray(losses.sum() / _divisor(weights[target] * kept, reduction))
    if not return_zloss:
        return loss, log_prob, np.empty(0), np.empty(0)
    zloss = float(np.float32(lse_square_scale_for_zloss)) * np.mean(np.square(lse), keepdims=True)
    return loss, log_prob, zloss, lse


def cross_entropy_loss_grad(
    grad_loss: Floats,
    log_prob: Floats,
    target: _Labels,
    weight: Floats | None,
    grad_zloss: Floats | None,
    lse_for_zloss: Floats | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    lse_square_scale_for_zloss: float,
) -> Floats:
    """Gradient of :func:`cross_entropy_loss` at its logits, with ``p = exp(log_prob)``.

    Row by row ``d * ((1 - s) * w_t * (p - onehot) + s / c * (p * sum(w) - w))``, where ``d`` is ``grad_loss``, divided
    by the weights of the rows that count if ``reduction`` is ``mean``, and 0 in rows that are ignored; ``s`` is
    ``label_smoothing``. With ``grad_zloss`` and ``lse_for_zloss`` also ``grad_zloss * scale * 2 / n * lse * p``.
    """
    count, classes = log_prob.shape
    weights = np.ones(classes) if weight is None else weight
    smoothing = float(np.float32(label_smoothing))
    kept = (target != ignore_index).astype(np.float64)
    target = np.where(kept, target, 0)
    scale = kept * grad_loss / _divisor(weights[target] * kept, reduction)
    p = np.exp(log_prob)
    hard = scale * (1.0 - smoothing) * weights[target]
    grad = hard[:, None] * p + (scale * smoothing / classes)[:, None] * (p * weights.sum() - weights)
    # Ignored rows were sent to class 0 above, where their `hard` is 0.
    grad[np.arange(count), target] -= hard
    if grad_zloss is not None and lse_for_zloss is not None:
        factor = float(np.float32(lse_square_scale_for_zloss)) * 2.0 / count
        grad += grad_zloss.reshape(()) * factor * lse_for_zloss[:, None] * p
    return np.asarray(grad)


def _divisor(weights: Floats, reduction: str) -> float:
    """What a reduced loss is divided by, given the weights of the rows that count."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be none, mean or sum, not {reduction!r}")
    return float(weights.sum()) if reduction == "mean" else 1.0


def _log_sum_exp(x: Floats) -> Floats:
    largest = x.max(axis=1)
    # Less the largest logit, so that nothing overflows.
    return np.asarray(largest + np.log(np.exp(x - largest[:, None]).sum(axis=1)))
