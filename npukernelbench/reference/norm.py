"""Normalization.

Statistics are taken over the trailing axes that ``gamma`` covers and returned with extent 1 there. Sums of inputs are
not rounded before they are normalised. Attributes count as the float32 that a kernel receives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = [
    "add_layer_norm",
    "add_rms_norm",
    "add_rms_norm_cast",
    "add_rms_norm_quant",
    "batch_norm",
    "deep_norm",
    "group_norm_swish",
    "grouped",
    "inplace_add_layer_norm",
    "inplace_add_rms_norm",
    "layer_norm",
    "moments",
    "pre_layer_norm",
    "rms_norm",
]


def rms_norm(x: Floats, gamma: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """``rstd = 1 / sqrt(mean(x^2) + epsilon)`` over the axes that ``gamma`` covers, ``y = x * rstd * gamma``.

    Returns ``y`` of the shape of ``x`` and ``rstd`` with extent 1 in the normalized axes. ``epsilon`` counts as the
    float32 that a kernel receives. Source: Zhang and Sennrich, arXiv 1910.07467.
    """
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = 1.0 / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + _single(epsilon))
    return x * rstd * gamma, rstd


def add_rms_norm(x1: Floats, x2: Floats, gamma: Floats, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """:func:`rms_norm` of ``x = x1 + x2``; returns ``y``, ``rstd`` and ``x``."""
    x = x1 + x2
    return (*rms_norm(x, gamma, epsilon), x)


def inplace_add_rms_norm(x1: Floats, x2: Floats, gamma: Floats, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """:func:`add_rms_norm` whose ``y`` replaces ``x1`` and whose ``x`` replaces ``x2``; ``y``, ``rstd``, ``x``."""
    return add_rms_norm(x1, x2, gamma, epsilon)


def add_rms_norm_cast(x1: Floats, x2: Floats, gamma: Floats, epsilon: float) -> tuple[Floats, Floats, Floats, Floats]:
    """:func:`add_rms_norm` with its ``y`` in two types; returns ``y1`` (float32), ``y2``, ``rstd`` and ``x``."""
    y, rstd, x = add_rms_norm(x1, x2, gamma, epsilon)
    return y, y, rstd, x


def add_rms_norm_quant(
    x1: Floats,
    x2: Floats,
    gamma: Floats,
    scales1: Floats,
    scales2: Floats | None,
    zero_points1: NDArray[np.generic] | None,
    zero_points2: NDArray[np.generic] | None,
    axis: int,
    epsilon: float,
    div_mode: bool,
) -> tuple[Floats, Floats, Floats]:
    """:func:`add_rms_norm`, quantised once or twice: ``clip(y / scales + zero_points, -128, 127)`` before rounding.

    ``div_mode`` false multiplies by the scales instead. Scales and zero points have the shape of ``gamma``; an absent
    zero point is 0. Returns ``y1``, ``y2`` (empty without ``scales2``) and ``x = x1 + x2``.
    Source: the AddRmsNormQuant page of the CANN operator documentation.
    """
    if axis not in (-1, x1.ndim - 1):
        raise ValueError(f"axis must be that of the last dimension, not {axis}")
    y, _, x = add_rms_norm(x1, x2, gamma, epsilon)

    def quantised(scales: Floats, zero_points: NDArray[np.generic] | None) -> Floats:
        scaled = y / scales if div_mode else y * scales
        return np.clip(scaled if zero_points is None else scaled + zero_points.astype(np.float64), -128.0, 127.0)

    y2 = np.empty(0) if scales2 is None else quantised(scales2, zero_points2)
    return quantised(scales1, zero_points1), y2, x


def layer_norm(
    x: Floats,
    normalized_shape: NDArray[np.int64],
    gamma: Floats | None,
    beta: Floats | None,
    epsilon: float,
) -> tuple[Floats, Floats, Floats]:
    """``y = (x - mean) * rstd * gamma + beta`` over the trailing axes of extents ``normalized_shape``.

    Absent ``gamma`` is 1, absent ``beta`` 0. Returns ``y``, ``mean`` and ``rstd``. Source: Ba, Kiros and Hinton, arXiv
    1607.06450; ``torch.nn.functional.layer_norm``.
    """
    extents = tuple(int(item) for item in normalized_shape.reshape(-1))
    if not extents or x.shape[x.ndim - len(extents) :] != extents:
        raise ValueError(f"x of shape {x.shape} does not end in {extents}")
    mean, rstd = moments(x, len(extents), epsilon)
    y = (x - mean) * rstd
    y = y if gamma is None else y * gamma
    return (y if beta is None else y + beta), mean, rstd


def pre_layer_norm(x: Floats, y: Floats, gamma: Floats, beta: Floats, epsilon: float) -> Floats:
    """:func:`layer_norm` of ``x + y`` over the axes of ``gamma``; the normalised tensor only."""
    total = x + y
    mean, rstd = moments(total, gamma.ndim, epsilon)
    return (total - mean) * rstd * gamma + beta


def add_layer_norm(
    x1: Floats, x2: Floats, gamma: Floats, beta: Floats, bias: Floats | None, epsilon: float, additional_output: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """:func:`layer_norm` of ``x = x1 + x2 + bias`` over the axes of ``gamma``.

    ``bias`` has the shape of ``gamma`` or of ``x1``; absent, it is 0. Returns ``y``, ``mean``, ``rstd`` and ``x``,
    which is empty unless ``additional_output``. Source: the AddLayerNorm page of the CANN operator documentation.
    """
    x = x1 + x2 if bias is None else x1 + x2 + bias
    mean, rstd = moments(x, gamma.ndim, epsilon)
    return (x - mean) * rstd * gamma + beta, mean, rstd, x if additional_output else np.empty(0)


def inplace_add_layer_norm(
    x1: Floats, x2: Floats, gamma: Floats, beta: Floats, bias: Floats | None, epsilon: float, additional_output: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """:func:`add_layer_norm` whose ``y`` replaces ``x1``; ``x`` replaces ``x2`` if ``additional_output``, which
    otherwise stays as it is. Returns ``y``, ``mean``, ``rstd`` and the new ``x2``."""
    y, mean, rstd, x = add_layer_norm(x1, x2, gamma, beta, bias, epsilon, additional_output)
    return y, mean, rstd, x if additional_output else x2


def deep_norm(
    x: Floats, gx: Floats, beta: Floats, gamma: Floats, alpha: float, epsilon: float
) -> tuple[Floats, Floats, Floats]:
    """:func:`layer_norm` of ``alpha * x + gx`` over the axes of ``gamma``; returns ``mean``, ``rstd`` and ``y``.

    Source: Wang et al., arXiv 2203.00555.
    """
    total = _single(alpha) * x + gx
    mean, rstd = moments(total, gamma.ndim, epsilon)
    return mean, rstd, (total - mean) * rstd * gamma + beta


def batch_norm(
    x: Floats,
    weight: Floats,
    bias: Floats,
    running_mean: Floats,
    running_var: Floats,
    epsilon: float,
    momentum: float,
    is_training: bool,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Normalisation per channel (axis 1) over all other axes.

    In training by the batch's mean and biased variance; the running statistics move towards the batch's mean and
    unbiased variance (0 for a single value) by ``momentum``. Otherwise by the running statistics, which stay. Returns
    ``y``, both running statistics, and mean and reciprocal deviation of the batch (empty unless in training).
    Source: Ioffe and Szegedy, arXiv 1502.03167; ``torch.nn.functional.batch_norm``.
    """
    channel = (-1, *[1] * (x.ndim - 2))
    epsilon, momentum = _single(epsilon), _single(momentum)
    if not is_training:
        rstd = 1.0 / np.sqrt(running_var + epsilon)
        y = (x - running_mean.reshape(channel)) * (rstd * weight).reshape(channel) + bias.reshape(channel)
        return y, running_mean, running_var, np.empty(0), np.empty(0)
    axes = (0, *range(2, x.ndim))
    count = x.size // x.shape[1]
    mean, variance = x.mean(axis=axes), x.var(axis=axes)
    rstd = 1.0 / np.sqrt(variance + epsilon)
    y = (x - mean.reshape(channel)) * (rstd * weight).reshape(channel) + bias.reshape(channel)
    # A single value has no unbiased variance; its biased one is 0, which the factor 1 leaves.
    unbiased = variance * (count / max(count - 1, 1))
    new_mean = (1.0 - momentum) * running_mean + momentum * mean
    return y, new_mean, (1.0 - momentum) * running_var + momentum * unbiased, mean, rstd


def group_norm_swish(
    x: Floats,
    gamma: Floats,
    beta: Floats,
    num_groups: int,
    data_format: str,
    eps: float,
    activate_swish: bool,
    swish_scale: float,
) -> tuple[Floats, Floats, Floats]:
    """``z = (x - mean) * rstd * gamma + beta`` per sample and group of channels (axis 1), then
    ``y = z * sigmoid(scale * z)``.

    The activation is left out unless ``activate_swish``. Returns ``y`` of the shape of ``x``, ``mean`` and ``rstd`` of
    shape ``[samples, num_groups]``. Source: Wu and He, arXiv 1803.08494.
    """
    from scipy.special import expit

    _channels_first(data_format)
    mean, rstd = moments(grouped(x, num_groups), 1, eps)
    channel = (-1, *[1] * (x.ndim - 2))
    # Computed from differences in the shape of groups, then back: channels of a group share its statistics.
    z = ((grouped(x, num_groups) - mean) * rstd).reshape(x.shape) * gamma.reshape(channel) + beta.reshape(channel)
    y = z * expit(_single(swish_scale) * z) if activate_swish else z
    return y, mean[..., 0], rstd[..., 0]


def moments(x: Floats, axes: int, epsilon: float) -> tuple[Floats, Floats]:
    """Mean and ``1 / sqrt(biased variance + epsilon)`` over that many trailing axes, which keep extent 1."""
    over = tuple(range(x.ndim - axes, x.ndim))
    mean = x.mean(axis=over, keepdims=True)
    # Of differences from the mean: the mean of squares less the squared mean has no digits left for a large mean.
    variance = np.square(x - mean).mean(axis=over, keepdims=True)
    return mean, np.asarray(1.0 / np.sqrt(variance + _single(epsilon)))


def grouped(x: Floats, num_groups: int) -> Floats:
    """``x`` of shape ``[samples, channels, ...]`` as ``[samples, groups, values]``."""
    if num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(f"{x.shape[1]} channels do not make {num_groups} groups")
    return x.reshape(x.shape[0], num_groups, -1)


def _channels_first(data_format: str) -> None:
    if data_format != "NCHW":
        raise ValueError(f"data_format must be NCHW, not {data_format!r}")


def _single(value: float) -> float:
    """An attribute as the float32 that a kernel receives."""
    return float(np.float32(value))
