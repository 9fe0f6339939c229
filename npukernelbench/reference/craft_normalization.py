"""Normalization in the suite ``ascendcraft``: images are ``[samples, channels, height, width]``.

``eps`` counts as the float32 that a kernel receives. Variances are those of the population: divided by the count.
"""

from __future__ import annotations

import numpy as np

from npukernelbench.reference.arrays import Floats

__all__ = [
    "batch_norm",
    "frobenius_norm",
    "group_norm",
    "instance_norm",
    "l1_norm",
    "l2_norm",
    "layer_norm",
    "rms_norm",
]


def batch_norm(x: Floats, gamma: Floats, beta: Floats, eps: float) -> Floats:
    """Each channel standardized over samples, height and width, then times ``gamma`` plus ``beta`` of that channel.

    Source: ``torch.nn.BatchNorm2d`` in training mode, without the running statistics.
    """
    return _per_channel(_standardized(x, (0, 2, 3), eps), gamma, beta)


def frobenius_norm(x: Floats) -> Floats:
    """``y = x / sqrt(sum(x^2))``, the sum over all elements; any shape. Source: ``torch.norm`` with ``p='fro'``."""
    # There is no epsilon in the definition, so that a tensor of zeros gives NaN.
    return np.asarray(x / np.sqrt(np.square(x).sum()))


def group_norm(x: Floats, gamma: Floats, beta: Floats, num_groups: int, eps: float) -> Floats:
    """Each group of neighbouring channels of a sample standardized, then times ``gamma`` plus ``beta`` per channel.

    ``num_groups`` divides the number of channels. Source: Wu and He, arXiv 1803.08494; ``torch.nn.GroupNorm``.
    """
    grouped = x.reshape(x.shape[0], num_groups, -1)
    return _per_channel(_standardized(grouped, (2,), eps).reshape(x.shape), gamma, beta)


def instance_norm(x: Floats, eps: float) -> Floats:
    """Each channel of each sample standardized over height and width.

    Source: ``torch.nn.InstanceNorm2d`` with its defaults, which have no weights.
    """
    return _standardized(x, (2, 3), eps)


def l1_norm(x: Floats) -> Floats:
    """``y = x / mean(|x|)``, the mean over axis 1; a mean, as the suite defines it, where the name says sum."""
    # A row of zeros gives NaN here and in `l2_norm`: the suite's definitions have no epsilon.
    return np.asarray(x / np.abs(x).mean(axis=1, keepdims=True))


def l2_norm(x: Floats) -> Floats:
    """``y = x / sqrt(sum(x^2))``, the sum over axis 1."""
    return np.asarray(x / np.sqrt(np.square(x).sum(axis=1, keepdims=True)))


def layer_norm(x: Floats, gamma: Floats, beta: Floats, eps: float) -> Floats:
    """Standardized over the last axes, as many as ``gamma`` has, then times ``gamma`` plus ``beta``.

    Source: Ba et al., arXiv 1607.06450; ``torch.nn.LayerNorm``.
    """
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    return _standardized(x, axes, eps) * gamma + beta


def rms_norm(x: Floats, eps: float) -> Floats:
    """``y = x / sqrt(mean(x^2) + eps)``, the mean over axis 1 (the channels)."""
    return np.asarray(x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + float(np.float32(eps))))


def _standardized(x: Floats, axes: tuple[int, ...], eps: float) -> Floats:
    """``(x - mean) / sqrt(variance + eps)`` with statistics over ``axes``."""
    centred = x - x.mean(axis=axes, keepdims=True)
    # Of centred values: the mean of squares less the squared mean has no digits left for a large mean.
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + float(np.float32(eps))))


def _per_channel(x: Floats, gamma: Floats, beta: Floats) -> Floats:
    """``x * gamma + beta`` with one weight per extent of axis 1."""
    shape = (-1, *(1,) * (x.ndim - 2))
    return x * gamma.reshape(shape) + beta.reshape(shape)
