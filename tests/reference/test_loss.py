"""Losses and their gradients: row by row in plain Python, by differences, and against torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import loss
from tests.reference.plain import assert_close

RNG = np.random.default_rng(13)
DTYPES = ["float16", "bfloat16", "float32"]
REDUCTIONS = ["none", "mean", "sum"]
SMOOTHING = float(np.float32(0.1))


X, TARGET, WEIGHT = RNG.normal(0, 2, size=(5, 4)), np.array([0, 3, 1, 1, 2]), RNG.uniform(0.5, 1.5, size=4)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mse_gradient(reduction: str) -> None:
    a, b, d = RNG.normal(size=(3, 3, 4))
    n = 12 if reduction == "mean" else 1
    y = loss.mse_loss_grad(a, b, d, reduction)
    for index in np.ndindex(3, 4):
        assert_close(y[index], 2 * (a[index] - b[index]) * d[index] / n)
    with pytest.raises(ValueError, match="none, mean or sum"):
        loss.mse_loss_grad(a, b, d, "max")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_row_by_row(reduction: str) -> None:
    actual, log_prob, zloss, lse = loss.cross_entropy_loss(X, TARGET, WEIGHT, reduction, 1, 0.1, 0.01, True)
    rows, total = [], 0.0
    for i in range(5):
        row_lse = math.log(math.fsum(math.exp(t) for t in X[i]))
        assert_close(lse[i], row_lse)
        logs = [t - row_lse for t in X[i]]
        assert_close(log_prob[i], logs)
        t = int(TARGET[i])
        smooth = SMOOTHING / 4 * math.fsum(w * p for w, p in zip(WEIGHT, logs, strict=True))
        rows.append(0.0 if t == 1 else -(1 - SMOOTHING) * WEIGHT[t] * logs[t] - smooth)
        total += 0.0 if t == 1 else WEIGHT[t]
    wanted = {"none": rows, "sum": math.fsum(rows), "mean": math.fsum(rows) / total}[reduction]
    assert_close(actual, wanted)
    assert actual.shape == ((5,) if reduction == "none" else ())
    assert_close(zloss, [float(np.float32(0.01)) * math.fsum(t * t for t in lse) / 5])


def test_cross_entropy_without_options() -> None:
    actual, _, zloss, lse = loss.cross_entropy_loss(X, TARGET, None, "mean", -100, 0.0, 0.01, False)
    assert (zloss.shape, lse.shape) == ((0,), (0,))
    assert_close(actual, loss.cross_entropy_loss(X, TARGET, np.ones(4), "sum", -100, 0.0, 0.0, False)[0] / 5)
    large = loss.cross_entropy_loss(X + 5000, TARGET, None, "mean", -100, 0.0, 0.0, False)[0]
    assert_close(large, actual, 1e-9)
    with pytest.raises(ValueError, match="none, mean or sum"):
        loss.cross_entropy_loss(X, TARGET, None, "max", -100, 0.0, 0.0, False)


@pytest.mark.parametrize("ignore", [-100, 99])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_target_that_is_no_class_is_ignored_where_the_index_says_so(reduction: str, ignore: int) -> None:
    def answers(target: Any, index: int) -> tuple[Any, Any]:
        value, log_prob, *_ = loss.cross_entropy_loss(X, target, WEIGHT, reduction, index, 0.1, 0.0, False)
        upper = np.ones_like(value)
        gradient = loss.cross_entropy_loss_grad(upper, log_prob, target, WEIGHT, None, None, reduction, index, 0.1, 0.0)
        return value, gradient

    # Class 1 stands for what is ignored in the other one.
    value, gradient = answers(np.where(TARGET == 1, ignore, TARGET), ignore)
    wanted, wanted_gradient = answers(TARGET, 1)
    assert_close(value, wanted)
    assert_close(gradient, wanted_gradient)
    assert not gradient[TARGET == 1].any()


@pytest.mark.parametrize("ignore", [-100, 1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_gradient_by_differences(reduction: str, ignore: int) -> None:
    upper = RNG.normal(size=5) if reduction == "none" else np.array(1.5)
    zupper = np.array([0.7])

    def forward(x: Any) -> float:
        outputs = loss.cross_entropy_loss(x, TARGET, WEIGHT, reduction, ignore, 0.1, 0.25, True)
        return float(np.sum(upper * outputs[0]) + zupper[0] * outputs[2][0])

    _, log_prob, _, lse = loss.cross_entropy_loss(X, TARGET, WEIGHT, reduction, ignore, 0.1, 0.25, True)
    gradients = loss.cross_entropy_loss_grad(upper, log_prob, TARGET, WEIGHT, zupper, lse, reduction, ignore, 0.1, 0.25)
    for index in np.ndindex(5, 4):
        step = np.zeros_like(X)
        step[index] = 1e-5
        assert_close(gradients[index], (forward(X + step) - forward(X - step)) / 2e-5, 1e-5, 1e-8)


def tensors(dtype: str, *shapes: tuple[int, ...]) -> tuple[Any, list[Any], list[Any]]:
    """torch, tensors in double precision that are exact in ``dtype``, and the same as arrays."""
    torch = pytest.importorskip("torch", reason="torch is not installed; the formulas above stand alone")
    made = [torch.from_numpy(RNG.normal(0, 2, size=shape)).to(getattr(torch, dtype)).double() for shape in shapes]
    return torch, made, [tensor.numpy().copy() for tensor in made]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_mse_gradient_agrees_with_torch(dtype: str, reduction: str) -> None:
    torch, (a, b), (p, q) = tensors(dtype, (3, 4), (3, 4))
    a.requires_grad_()
    y = torch.nn.functional.mse_loss(a, b, reduction=reduction)
    upper = torch.full_like(y, 1.5)
    wanted = torch.autograd.grad(y, a, upper)[0].numpy()
    assert_close(loss.mse_loss_grad(p, q, np.full((3, 4), 1.5), reduction), wanted)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("ignore", "smoothing"), [(-100, 0.0), (1, 0.1)])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy_and_its_gradient_agree_with_torch(
    dtype: str, reduction: str, ignore: int, smoothing: float, weighted: bool
) -> None:
    torch, (x,), (array,) = tensors(dtype, (5, 4))
    x.requires_grad_()
    weight = WEIGHT if weighted else None
    y = torch.nn.functional.cross_entropy(
        x,
        torch.from_numpy(TARGET),
        weight=None if weight is None else torch.from_numpy(weight),
        reduction=reduction,
        ignore_index=ignore,
        label_smoothing=float(np.float32(smoothing)),
    )
    actual, log_prob, _, _ = loss.cross_entropy_loss(array, TARGET, weight, reduction, ignore, smoothing, 0.0, False)
    assert_close(actual, y.detach().numpy())
    assert_close(log_prob, torch.log_softmax(x, 1).detach().numpy())
    upper = torch.full_like(y, 1.5)
    wanted = torch.autograd.grad(y, x, upper)[0].numpy()
    grad = loss.cross_entropy_loss_grad(
        upper.numpy(), log_prob, TARGET, weight, None, None, reduction, ignore, smoothing, 0.0
    )
    assert_close(grad, wanted, 1e-10, 1e-12)
