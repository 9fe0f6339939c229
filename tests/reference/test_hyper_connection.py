"""The operators of hyper-connections against their formulas, differences, and torch where it is there."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.reference import hyper_connection as reference

Arrays = tuple[np.ndarray, ...]


def drawn(tokens: tuple[int, ...] = (2, 3), streams: int = 4, width: int = 7) -> Arrays:
    rng = np.random.default_rng(5)
    shapes = ((streams, width), (streams, streams), (width,), (streams,))
    return tuple(rng.normal(size=(*tokens, *shape)) for shape in shapes)


def test_the_formula_token_by_token() -> None:
    x, h_res, h_out, h_post = drawn()
    y = reference.mhc_post(x, h_res, h_out, h_post)
    for t in np.ndindex(2, 3):
        for i in range(4):
            wanted = sum(h_res[t][i, j] * x[t][j] for j in range(4)) + h_post[t][i] * h_out[t]
            np.testing.assert_allclose(y[t][i], wanted, rtol=1e-12)


def test_the_identity_leaves_streams_alone_and_adds_the_layer() -> None:
    x, _, h_out, _ = drawn()
    y = reference.mhc_post(x, np.broadcast_to(np.eye(4), (2, 3, 4, 4)), h_out, np.ones((2, 3, 4)))
    np.testing.assert_allclose(y, x + h_out[..., None, :], rtol=1e-12)


@pytest.mark.parametrize("which", range(4))
def test_gradients_against_differences(which: int) -> None:
    inputs = drawn((2,), width=5)
    grad_y = np.random.default_rng(6).normal(size=inputs[0].shape)
    gradient = reference.mhc_post_grad(grad_y, *inputs)[which]
    assert gradient.shape == inputs[which].shape
    for place in np.ndindex(*inputs[which].shape):
        moved = [np.array(array) for array in inputs]
        moved[which][place] += 1.0
        difference = reference.mhc_post(*moved) - reference.mhc_post(*inputs)  # linear in each input
        np.testing.assert_allclose(gradient[place], (difference * grad_y).sum(), rtol=1e-9, atol=1e-9)


def test_torch_agrees() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    inputs = [torch.tensor(array, requires_grad=True) for array in drawn()]
    x, h_res, h_out, h_post = inputs
    y = torch.einsum("...ij,...jd->...id", h_res, x) + h_post[..., None] * h_out[..., None, :]
    np.testing.assert_allclose(reference.mhc_post(*drawn()), y.detach().numpy(), rtol=1e-12)
    grad_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1))
    y.backward(grad_y)
    gradients = reference.mhc_post_grad(grad_y.numpy(), *drawn())
    for mine, theirs in zip(gradients, inputs, strict=True):
        np.testing.assert_allclose(mine, theirs.grad.numpy(), rtol=1e-10, atol=1e-12)
