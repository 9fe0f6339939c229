"""Activations, their gradients and quantised forms: element by element in plain Python, and against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import activation, activation_grad, activation_quant, derived
from tests.reference.plain import assert_close, each

RNG = np.random.default_rng(12)
DTYPES = ["float16", "bfloat16", "float32"]


def sigmoid(t: float) -> float:
    return 1.0 / (1.0 + math.exp(-t))


def exact_gelu(t: float) -> float:
    return 0.5 * t * math.erfc(-t / math.sqrt(2))


def tanh_gelu(t: float) -> float:
    return 0.5 * t * (1 + math.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)))


def slope(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda t: (function(t + 1e-5) - function(t - 1e-5)) / 2e-5


X, DY = RNG.normal(0, 2, size=(3, 8)), RNG.normal(size=(3, 8))


def test_gelu_in_its_three_forms() -> None:
    assert_close(activation.fast_gelu(X), each(lambda t: t * sigmoid(1.702 * t), X))
    published = lambda t: t / (1 + math.exp(-1.702 * abs(t))) * math.exp(0.851 * (t - abs(t)))  # noqa: E731
    assert_close(activation.fast_gelu(X), each(published, X))
    assert_close(activation.gelu_by_name(X, "none"), each(exact_gelu, X))
    assert_close(activation.gelu_by_name(X, "tanh"), each(tanh_gelu, X), 1e-9)
    assert activation.gelu_by_name(np.array([-30.0]), "none")[0] < 0
    with pytest.raises(ValueError, match="none or tanh"):
        activation.gelu_by_name(X, "erf")


def test_slopes_of_activations() -> None:
    assert_close(
        activation_grad.fast_gelu_grad(DY, X), DY * each(slope(lambda t: t * sigmoid(1.702 * t)), X), 1e-6, 1e-8
    )
    assert_close(activation_grad.gelu_grad(DY, X, X), DY * each(slope(tanh_gelu), X), 1e-6, 1e-8)
    published = lambda t: (  # noqa: E731
        (math.exp(-1.702 * abs(t)) + 1.702 * t * math.exp(-1.702 * abs(t)) + math.exp(1.702 * (t - abs(t))))
        / (math.exp(-1.702 * abs(t)) + 1) ** 2
    )
    assert_close(activation_grad.fast_gelu_grad(DY, X), DY * each(published, X))
    assert_close(derived.gelu_of_x({"x": X}, {}), activation.gelu(X))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("approximate", [0, 1])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_geglu_and_its_gradient(dim: int, approximate: int, left: bool) -> None:
    x = RNG.normal(0, 2, size=(4, 6))
    first, second = np.split(x, 2, axis=dim)
    a, b = (first, second) if left else (second, first)
    function = tanh_gelu if approximate else exact_gelu
    y, gate = activation.geglu(x, dim, approximate, left)
    assert_close(gate, each(function, a), 1e-9)
    assert_close(y, each(function, a) * b, 1e-9)
    dy = RNG.normal(size=y.shape)
    attributes = {"dim": dim, "approximate": approximate, "activate_left": left}
    saved = derived.geglu_gate({"x": x}, attributes)
    assert_close(saved, gate)
    halves = np.split(activation_grad.geglu_grad(dy, x, saved, dim, approximate, left), 2, axis=dim)
    da, db = halves if left else halves[::-1]
    assert_close(da, dy * b * each(slope(function), a), 1e-6, 1e-8)
    assert_close(db, dy * gate)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_swiglu_gradient(dim: int) -> None:
    x = RNG.normal(0, 2, size=(4, 6))
    a, b = np.split(x, 2, axis=dim)
    dy = RNG.normal(size=a.shape)
    da, db = np.split(activation_grad.swiglu_grad(dy, x, dim), 2, axis=dim)
    assert_close(da, dy * b * each(slope(lambda t: t * sigmoid(t)), a), 1e-6, 1e-8)
    assert_close(db, dy * each(lambda t: t * sigmoid(t), a))


def test_softmax_survives_large_inputs() -> None:
    x = np.array([[1000.0, 999.0, 998.0], [-1.0, 0.5, 2.0]])
    y = activation.softmax(x)
    for row, shift in ((0, 1000.0), (1, 2.0)):
        weights = [math.exp(t - shift) for t in x[row]]
        assert_close(y[row], [w / math.fsum(weights) for w in weights])


def test_softmax_gradient_from_the_gradient_of_the_product() -> None:
    scores, grad, values = RNG.normal(size=(2, 5)), RNG.normal(size=(2, 3)), RNG.normal(size=(5, 3))
    gradients = activation.fused_matmul_softmax_grad(activation.softmax(scores), grad, values)
    for index in np.ndindex(2, 5):
        step = np.zeros_like(scores)
        step[index] = 1e-5
        above, below = (np.sum(grad * (activation.softmax(scores + s) @ values)) for s in (step, -step))
        assert_close(gradients[index], (above - below) / 2e-5, 1e-6, 1e-9)


def test_mul_sigmoid_doubles_from_its_threshold_on() -> None:
    x1, x2 = RNG.integers(-24, 25, size=(3, 8)).astype(float), RNG.normal(size=(1, 2, 4))
    y = activation.mul_sigmoid(x1, x2, 0.3, 0.1, 0.8)
    assert y.shape == (3, 2, 4)
    t1, t2, t3 = (float(np.float32(t)) for t in (0.3, 0.1, 0.8))
    for row, (i, j) in ((row, place) for row in range(3) for place in np.ndindex(2, 4)):
        p = sigmoid(t1 * x1[row, 4 * i + j])
        assert_close(y[row, i, j], (p if p < t2 else 2 * p) * x2[0, i, j] * t3)
    assert activation.mul_sigmoid(np.zeros((1, 1)), np.ones((1, 1)), 1.0, 0.5, 1.0)[0, 0] == 1.0


def test_static_gelu_quantisation() -> None:
    x = RNG.normal(0, 2, size=(3, 5))
    scale, offset = np.array(20.0), np.array(-3.0)
    y, out_scale = activation_quant.gelu_quant(x, scale, offset, "none", "static")
    assert out_scale.shape == (0,)
    assert_close(y, each(lambda t: min(max(exact_gelu(t) * 20 - 3, -128.0), 127.0), x))
    per_channel = activation_quant.gelu_quant(x, np.arange(1.0, 6.0), None, "tanh", "static")[0]
    assert_close(per_channel, each(tanh_gelu, x) * np.arange(1.0, 6.0), 1e-9)
    with pytest.raises(ValueError, match="static or dynamic"):
        activation_quant.gelu_quant(x, scale, offset, "none", "per_token")


def test_dynamic_gelu_quantisation_spans_the_type() -> None:
    x = RNG.normal(0, 2, size=(2, 3, 5))
    y, out_scale = activation_quant.gelu_quant(x, None, np.array(99.0), "none", "dynamic")
    assert out_scale.shape == (2, 3, 1)
    assert_close(np.abs(y).max(axis=-1), np.full((2, 3), 127.0))
    assert_close(y * out_scale, each(exact_gelu, x))
    zeros = activation_quant.gelu_quant(np.zeros((1, 4)), None, None, "none", "dynamic")
    assert zeros[0].tolist() == [[0.0] * 4]
    assert zeros[1].tolist() == [[0.0]]
    without = activation_quant.gelu_quant(np.array([[math.nan, 1.0]]), None, None, "none", "dynamic")
    assert without[0].tolist() == [[0.0, 0.0]]
    assert np.isnan(without[1]).all()


def plain_swiglu(row: Any, left: bool) -> list[float]:
    half = len(row) // 2
    a, b = (row[:half], row[half:]) if left else (row[half:], row[:half])
    return [s * sigmoid(s) * t for s, t in zip(a, b, strict=True)]


@pytest.mark.parametrize("left", [True, False])
def test_dequantised_swiglu_in_groups(left: bool) -> None:
    x = RNG.integers(-900, 900, size=(6, 8)).astype(np.int32)
    weight, bias = RNG.uniform(0.001, 0.005, size=(3, 8)), RNG.integers(-50, 50, size=8).astype(np.int32)
    per_row, smooth = RNG.uniform(0.5, 1.5, size=(6, 1)), RNG.uniform(0.5, 1.5, size=(3, 4))
    groups = np.array([4, 0, 2], dtype=np.int32)
    y, scale = activation_quant.dequant_swiglu_quant(x, weight, per_row, bias, smooth, None, groups, left, "dynamic")
    assert (y.shape, scale.shape) == ((6, 4), (6,))
    for row in range(6):
        group = 0 if row < 4 else 2
        d = [(int(x[row, j]) + int(bias[j])) * weight[group, j] * per_row[row, 0] for j in range(8)]
        w = [v * s for v, s in zip(plain_swiglu(d, left), smooth[group], strict=True)]
        assert_close(scale[row], max(abs(v) for v in w) / 127)
        assert_close(y[row], [v / scale[row] for v in w])
    with pytest.raises(ValueError, match="sums to 5"):
        activation_quant.dequant_swiglu_quant(x, weight, None, None, smooth, None, groups - [1, 0, 0], left, "dynamic")


def test_statically_quantised_swiglu_of_floats() -> None:
    x = RNG.normal(0, 2, size=(3, 8))
    divisor, offset = RNG.uniform(0.02, 0.1, size=(1, 4)), RNG.uniform(-9, 9, size=(1, 4))
    y, scale = activation_quant.dequant_swiglu_quant(x, None, None, None, divisor, offset, None, False, "static")
    assert scale.shape == (0,)
    for row in range(3):
        values = [v / s + o for v, s, o in zip(plain_swiglu(x[row], False), divisor[0], offset[0], strict=True)]
        assert_close(y[row], np.clip(values, -128, 127))
    with pytest.raises(ValueError, match="static or dynamic"):
        activation_quant.dequant_swiglu_quant(x, None, None, None, None, None, None, True, "none")


def tensors(dtype: str, *shapes: tuple[int, ...]) -> tuple[Any, list[Any], list[Any]]:
    """torch, tensors in double precision that are exact in ``dtype``, and the same as arrays."""
    torch = pytest.importorskip("torch", reason="torch is not installed; the formulas above stand alone")
    made = [torch.from_numpy(RNG.normal(0, 2, size=shape)).to(getattr(torch, dtype)).double() for shape in shapes]
    return torch, made, [tensor.numpy().copy() for tensor in made]


def gradient(torch: Any, y: Any, x: Any, dy: Any) -> Any:
    return torch.autograd.grad(y, x, dy)[0].numpy()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gelus_and_their_gradients_agree_with_torch(dtype: str) -> None:
    torch, (x, dy), (array, upper) = tensors(dtype, (5, 8), (5, 8))
    function = torch.nn.functional.gelu
    x.requires_grad_()
    for name in ("none", "tanh"):
        assert_close(activation.gelu_by_name(array, name), function(x, approximate=name).detach().numpy(), 1e-9)
    wanted = gradient(torch, function(x, approximate="tanh"), x, dy)
    assert_close(activation_grad.gelu_grad(upper, array, array), wanted, 1e-9, 1e-11)
    fast = x * torch.sigmoid(1.702 * x)
    assert_close(activation.fast_gelu(array), fast.detach().numpy())
    assert_close(activation_grad.fast_gelu_grad(upper, array), gradient(torch, fast, x, dy), 1e-10, 1e-12)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gated_units_and_their_gradients_agree_with_torch(dtype: str, dim: int) -> None:
    torch, (x,), (array,) = tensors(dtype, (6, 8))
    x.requires_grad_()
    a, b = torch.chunk(x, 2, dim=dim)
    dy = torch.from_numpy(RNG.normal(size=tuple(a.shape)))
    for approximate, name in ((0, "none"), (1, "tanh")):
        y = torch.nn.functional.gelu(a, approximate=name) * b
        actual, gate = activation.geglu(array, dim, approximate, True)
        assert_close(actual, y.detach().numpy(), 1e-9)
        grad = activation_grad.geglu_grad(dy.numpy(), array, gate, dim, approximate, True)
        assert_close(grad, gradient(torch, y, x, dy), 1e-9, 1e-11)
        flipped = activation.geglu(array, dim, approximate, False)[0]
        assert_close(flipped, (torch.nn.functional.gelu(b, approximate=name) * a).detach().numpy(), 1e-9)
    y = torch.nn.functional.silu(a) * b
    assert_close(activation_grad.swiglu_grad(dy.numpy(), array, dim), gradient(torch, y, x, dy), 1e-10, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_and_its_gradient_agree_with_torch(dtype: str) -> None:
    torch, (x, values, dy), (array, matrix, upper) = tensors(dtype, (4, 6), (6, 5), (4, 5))
    x.requires_grad_()
    p = torch.softmax(x, -1)
    assert_close(activation.softmax(array), p.detach().numpy())
    gradients = activation.fused_matmul_softmax_grad(activation.softmax(array), upper, matrix)
    assert_close(gradients, gradient(torch, p @ values, x, dy), 1e-10, 1e-12)


def test_mul_sigmoid_and_quantised_units_agree_with_torch() -> None:
    torch, (x1, x2), (a, b) = tensors("float16", (5, 12), (1, 3, 4))
    t1, t2, t3 = (float(np.float32(t)) for t in (0.3, 0.55, 0.8))
    p = torch.sigmoid(x1 * t1)
    wanted = (torch.where(p < t2, p, 2 * p) * x2.reshape(1, -1) * t3).reshape(5, 3, 4)
    assert_close(activation.mul_sigmoid(a, b, 0.3, 0.55, 0.8), wanted.numpy())
    gate, up = torch.chunk(x1, 2, -1)
    v = torch.nn.functional.silu(gate) * up
    wanted = torch.clamp(v / 0.05 + 3, -128, 127).numpy()
    full = np.full((1, 6), 0.05), np.full((1, 6), 3.0)
    assert_close(activation_quant.dequant_swiglu_quant(a, None, None, None, *full, None, True, "static")[0], wanted)
    g = torch.nn.functional.gelu(x1)
    scale = g.abs().amax(-1, keepdim=True) / 127
    quantised = activation_quant.gelu_quant(a, None, None, "none", "dynamic")
    assert_close(quantised[0], (g / scale).numpy(), 1e-9)
    assert_close(quantised[1], scale.numpy(), 1e-9)
