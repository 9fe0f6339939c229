"""Manifold-constrained hyper-connections: what follows a layer in a widened residual stream (arXiv 2512.24880)."""

from __future__ import annotations

import numpy as np

from npukernelbench.reference.arrays import Floats

__all__ = ["mhc_post", "mhc_post_grad"]


def mhc_post(x: Floats, h_res: Floats, h_out: Floats, h_post: Floats) -> Floats:
    """``y_i = sum_j h_res_ij x_j + h_post_i h_out`` per token; ``x`` is ``[..., n, D]``."""
    return h_res @ x + h_post[..., None] * h_out[..., None, :]


def mhc_post_grad(
    grad_y: Floats, x: Floats, h_res: Floats, h_out: Floats, h_post: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gradients of :func:`mhc_post` with respect to ``x``, ``h_res``, ``h_out`` and ``h_post``."""
    return (
        np.swapaxes(h_res, -1, -2) @ grad_y,
        grad_y @ np.swapaxes(x, -1, -2),
        (h_post[..., None] * grad_y).sum(axis=-2),
        (grad_y * h_out[..., None, :]).sum(axis=-1),
    )
