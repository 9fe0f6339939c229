from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import optim
from tests.reference.plain import single

RNG = np.random.default_rng(12)
SHAPE = (4, 5)


def state(count: int) -> list[Any]:
    """``count`` tensors, the last but one for moments positive."""
    return [RNG.normal(size=SHAPE) for _ in range(count)]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_w_by_scalars(amsgrad: bool, maximize: bool) -> None:
    var, m, grad = state(3)
    v, largest = RNG.random((2, *SHAPE))
    lr, beta1, beta2, decay, eps = (0.02, 0.85, 0.98, 0.01, 1e-6)
    got = optim.adam_w_step(var, m, v, grad, np.array([6]), largest, lr, beta1, beta2, decay, eps, amsgrad, maximize)
    b1, b2, rate = single(beta1), single(beta2), single(lr)
    for place in np.ndindex(*SHAPE):
        g = -grad[place] if maximize else grad[place]
        mean = b1 * m[place] + (1 - b1) * g
        square = b2 * v[place] + (1 - b2) * g * g
        top = max(largest[place], square) if amsgrad else largest[place]
        root = math.sqrt((top if amsgrad else square) / (1 - b2**7)) + single(eps)
        weight = var[place] * (1 - rate * single(decay)) - rate * (mean / (1 - b1**7)) / root
        np.testing.assert_allclose([output[place] for output in got], [weight, mean, square, top], rtol=1e-12)  # type: ignore[index]


def test_amsgrad_needs_its_tensor_and_nothing_else_does() -> None:
    var, m, v, grad = (np.ones(3) for _ in range(4))
    rest = (0.1, 0.9, 0.99, 0.0, 1e-8)
    assert optim.adam_w_step(var, m, v, grad, np.array([0.0]), None, *rest, False, False)[3] is None
    with pytest.raises(ValueError, match="max_grad_norm"):
        optim.adam_w_step(var, m, v, grad, np.array([0.0]), None, *rest, True, False)


def test_inputs_stay_as_they_are() -> None:
    tensors = [np.full(3, 0.5) for _ in range(6)]
    var, m, v, grad, s, largest = tensors
    optim.adam_w_step(var, m, v, grad, np.array([3]), largest, 0.1, 0.9, 0.99, 0.1, 1e-8, True, True)
    optim.adam_ema_step(grad, var, m, v, s, np.array([3]), 0.1, 0.9, 0.9, 0.99, 1e-8, 0, True, 0.1)
    assert all((tensor == 0.5).all() for tensor in tensors)


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_adam_with_average_by_scalars(mode: int, correct: bool) -> None:
    grad, var, m, s = state(4)
    v = RNG.random(SHAPE)
    lr, keep, beta1, beta2, eps, decay = (0.03, 0.97, 0.8, 0.95, 1e-5, 0.2)
    got = optim.adam_ema_step(grad, var, m, v, s, np.array([4]), lr, keep, beta1, beta2, eps, mode, correct, decay)
    b1, b2, w, e = single(beta1), single(beta2), single(decay), single(keep)
    for place in np.ndindex(*SHAPE):
        g = grad[place] + (w * var[place] if mode == 0 else 0)
        mean, square = b1 * m[place] + (1 - b1) * g, b2 * v[place] + (1 - b2) * g * g
        c1, c2 = (1 - b1**4, 1 - b2**4) if correct else (1, 1)
        update = (mean / c1) / (math.sqrt(square / c2) + single(eps)) + (w * var[place] if mode == 1 else 0)
        weight = var[place] - single(lr) * update
        expected = [weight, mean, square, e * s[place] + (1 - e) * weight]
        np.testing.assert_allclose([output[place] for output in got], expected, rtol=1e-12)


def test_other_modes_are_refused() -> None:
    ones = np.ones(1)
    with pytest.raises(ValueError, match="0 or 1"):
        optim.adam_ema_step(ones, ones, ones, ones, ones, np.array([1]), 0.1, 0.9, 0.9, 0.99, 1e-8, 2, True, 0.0)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_w_agrees_with_torch_over_several_steps(amsgrad: bool, maximize: bool) -> None:
    torch: Any = pytest.importorskip("torch")
    # Factors that float32 holds exactly, so that both sides compute with the same ones.
    lr, beta1, beta2, decay, eps = (0.03125, 0.875, 0.984375, 0.0625, 2.0**-20)
    var = RNG.normal(size=SHAPE)
    weight = torch.nn.Parameter(torch.from_numpy(var.copy()))
    optimizer = torch.optim.AdamW(
        [weight], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay, amsgrad=amsgrad, maximize=maximize
    )
    m, v, largest = np.zeros(SHAPE), np.zeros(SHAPE), np.zeros(SHAPE)
    for step in range(4):
        grad = RNG.normal(size=SHAPE) * (4 - step)
        weight.grad = torch.from_numpy(grad.copy())
        optimizer.step()
        var, m, v, largest = optim.adam_w_step(  # type: ignore[assignment]
            var, m, v, grad, np.array([step]), largest, lr, beta1, beta2, decay, eps, amsgrad, maximize
        )
        np.testing.assert_allclose(var, weight.detach().numpy(), rtol=1e-11)
        state = optimizer.state[weight]
        np.testing.assert_allclose(m, state["exp_avg"].numpy(), rtol=1e-11)
        np.testing.assert_allclose(v, state["exp_avg_sq"].numpy(), rtol=1e-11)
        if amsgrad:
            np.testing.assert_allclose(largest, state["max_exp_avg_sq"].numpy(), rtol=1e-11)


@pytest.mark.parametrize("mode", [0, 1])
def test_adam_with_average_agrees_with_torch_over_several_steps(mode: int) -> None:
    torch: Any = pytest.importorskip("torch")
    lr, keep, beta1, beta2, eps, decay = (0.03125, 0.75, 0.875, 0.984375, 2.0**-20, 0.0625)
    var = RNG.normal(size=SHAPE)
    weight = torch.nn.Parameter(torch.from_numpy(var.copy()))
    kind = torch.optim.Adam if mode == 0 else torch.optim.AdamW
    optimizer = kind([weight], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay)
    m, v, s, average = np.zeros(SHAPE), np.zeros(SHAPE), var, torch.from_numpy(var.copy())
    for step in range(1, 5):
        grad = RNG.normal(size=SHAPE)
        weight.grad = torch.from_numpy(grad.copy())
        optimizer.step()
        average = keep * average + (1 - keep) * weight.detach()
        var, m, v, s = optim.adam_ema_step(
            grad, var, m, v, s, np.array([step]), lr, keep, beta1, beta2, eps, mode, True, decay
        )
        np.testing.assert_allclose(var, weight.detach().numpy(), rtol=1e-11)
        np.testing.assert_allclose(s, average.numpy(), rtol=1e-11)
