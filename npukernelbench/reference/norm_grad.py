"""Gradients of normalizations, from the statistics that the forward pass saved.

With ``xhat = (x - mean) * rstd`` and ``g = dy * gamma`` over ``n`` values, ``dx = rstd * (g - mean(g) - xhat *
mean(g * xhat))``; the statistics are taken as given, not computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from npukernelbench.reference.arrays import Floats
from npukernelbench.reference.norm import grouped

__all__ = [
    "GroupNorm",
    "add_layer_norm_grad",
    "deep_norm_grad",
    "group_norm_swish_grad",
    "group_norm_then_grad",
    "rms_norm_grad",
]


def rms_norm_grad(dy: Floats, x: Floats, rstd: Floats, gamma: Floats) -> tuple[Floats, Floats]:
    """Gradients of ``y = x * rstd * gamma`` with ``rstd = 1 / sqrt(mean(x^2) + epsilon)`` over the axes of ``gamma``.

    With ``g = dy * gamma`` and ``xhat = x * rstd``, ``dx = rstd * (g - xhat * mean(g * xhat))``; ``dgamma`` is the sum
    of ``dy * xhat`` over the other axes.
    """
    axes, rows = _axes(x, gamma)
    xhat, g = x * rstd, dy * gamma
    dx = rstd * (g - xhat * np.mean(g * xhat, axis=axes, keepdims=True))
    return dx, np.asarray(np.sum(dy * xhat, axis=rows))


def add_layer_norm_grad(
    dy: Floats, x1: Floats, x2: Floats, rstd: Floats, mean: Floats, gamma: Floats, dsum: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Gradients of the layer normalization of ``x1 + x2``: ``dx`` (plus ``dsum`` if given), ``dgamma`` and ``dbeta``.

    ``dsum`` is the gradient that reaches ``x1 + x2`` on another way.
    """
    dx, dgamma, dbeta = _layer_norm_grad(dy, x1 + x2 - mean, rstd, gamma)
    return (dx if dsum is None else dx + dsum), dgamma, dbeta


def deep_norm_grad(
    dy: Floats, x: Floats, gx: Floats, gamma: Floats, mean: Floats, rstd: Floats, alpha: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gradients of the layer normalization of ``alpha * x + gx``: ``dx = alpha * dgx``, ``dgx``, ``dbeta``,
    ``dgamma``."""
    factor = float(np.float32(alpha))
    dgx, dgamma, dbeta = _layer_norm_grad(dy, factor * x + gx - mean, rstd, gamma)
    # x enters the sum times alpha and gx as it is, so that the two gradients differ by that factor.
    return factor * dgx, dgx, dbeta, dgamma


class GroupNorm(NamedTuple):
    """``z = xhat * gamma + beta``, where ``xhat`` is ``x`` normalised per sample and group."""

    mean: Floats
    rstd: Floats
    x: Floats
    gamma: Floats
    beta: Floats
    num_groups: int


def group_norm_swish_grad(
    dy: Floats,
    mean: Floats,
    rstd: Floats,
    x: Floats,
    gamma: Floats,
    beta: Floats,
    num_groups: int,
    data_format: str,
    swish_scale: float,
    dgamma_is_require: bool,
    dbeta_is_require: bool,
) -> tuple[Floats, Floats, Floats]:
    """Gradients of ``y = z * sigmoid(scale * z)``, ``z = xhat * gamma + beta``, normalised per sample and group.

    ``mean`` and ``rstd`` have shape ``[samples, num_groups]``. Returns ``dx`` and, empty unless required, the sums
    ``dgamma`` and ``dbeta`` per channel.
    """
    from scipy.special import expit

    if data_format != "NCHW":
        raise ValueError(f"data_format must be NCHW, not {data_format!r}")
    factor = float(np.float32(swish_scale))

    def slope(z: Floats) -> Floats:
        # `expit(-t)` rather than `1 - expit(t)`, which loses all digits for large t.
        return np.asarray(expit(factor * z) * (1.0 + factor * z * expit(-factor * z)))

    dx, dgamma, dbeta = group_norm_then_grad(slope, dy, GroupNorm(mean, rstd, x, gamma, beta, num_groups))
    return dx, dgamma if dgamma_is_require else np.empty(0), dbeta if dbeta_is_require else np.empty(0)


def group_norm_then_grad(
    slope: Callable[[Floats], Floats], dy: Floats, normalised: GroupNorm
) -> tuple[Floats, Floats, Floats]:
    """Gradients at ``x``, ``gamma`` and ``beta`` of a function of the normalised ``z`` that has this slope."""
    mean, rstd, x, gamma, beta, num_groups = normalised
    channel = (-1, *[1] * (x.ndim - 2))
    others = (0, *range(2, x.ndim))
    deviation = rstd[..., None]
    xhat = ((grouped(x, num_groups) - mean[..., None]) * deviation).reshape(x.shape)
    dz = dy * slope(xhat * gamma.reshape(channel) + beta.reshape(channel))
    g, normal = grouped(dz * gamma.reshape(channel), num_groups), grouped(xhat, num_groups)
    projected = np.mean(g, axis=-1, keepdims=True) + normal * np.mean(g * normal, axis=-1, keepdims=True)
    dx = (deviation * (g - projected)).reshape(x.shape)
    return dx, np.asarray(np.sum(dz * xhat, axis=others)), np.asarray(np.sum(dz, axis=others))


def _layer_norm_grad(dy: Floats, centred: Floats, rstd: Floats, gamma: Floats) -> tuple[Floats, Floats, Floats]:
    axes, rows = _axes(centred, gamma)
    xhat, g = centred * rstd, dy * gamma
    projected = g.mean(axis=axes, keepdims=True) + xhat * np.mean(g * xhat, axis=axes, keepdims=True)
    return rstd * (g - projected), np.asarray(np.sum(dy * xhat, axis=rows)), np.asarray(np.sum(dy, axis=rows))


def _axes(x: Floats, gamma: Floats) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that ``gamma`` covers, and those before them."""
    first = x.ndim - gamma.ndim
    return tuple(range(first, x.ndim)), tuple(range(first))
