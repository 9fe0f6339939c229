"""Normalizations and their gradients: row by row in plain Python, by finite differences, and against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import derived, norm, norm_grad
from tests.reference.plain import assert_close

RNG = np.random.default_rng(11)
EPSILON = float(np.float32(1e-5))


def normals(*shape: int) -> Any:
    return RNG.normal(0.3, 1.2, size=shape)


def row_moments(row: Any) -> tuple[float, float]:
    """Mean and reciprocal deviation of one row in plain Python."""
    mean = math.fsum(row) / len(row)
    return mean, 1.0 / math.sqrt(math.fsum((t - mean) ** 2 for t in row) / len(row) + EPSILON)


def slopes(function: Callable[[Any], float], at: Any, step: float = 1e-5) -> Any:
    """Central differences of a scalar function of an array."""
    slope = np.empty_like(at)
    for index in np.ndindex(*at.shape):
        above, below = at.copy(), at.copy()
        above[index] += step
        below[index] -= step
        slope[index] = (function(above) - function(below)) / (2 * step)
    return slope


def test_layer_norm_row_by_row_with_and_without_scale_and_shift() -> None:
    x, gamma, beta = normals(2, 3, 7), normals(7), normals(7)
    extents = np.array([7], dtype=np.int32)
    y, mean, rstd = norm.layer_norm(x, extents, gamma, beta, 1e-5)
    plain = norm.layer_norm(x, extents, None, None, 1e-5)[0]
    assert mean.shape == rstd.shape == (2, 3, 1)
    for index in np.ndindex(2, 3):
        m, r = row_moments(x[index])
        assert_close([mean[index][0], rstd[index][0]], [m, r])
        assert_close(plain[index], [(t - m) * r for t in x[index]])
        assert_close(y[index], [(t - m) * r * g + b for t, g, b in zip(x[index], gamma, beta, strict=True)])


def test_layer_norm_over_two_axes_and_extents_that_do_not_fit() -> None:
    x = normals(4, 3, 5)
    y, mean, _ = norm.layer_norm(x, np.array([3, 5]), None, None, 1e-5)
    assert mean.shape == (4, 1, 1)
    assert_close(y.reshape(4, 15), norm.layer_norm(x.reshape(4, 15), np.array([15]), None, None, 1e-5)[0])
    for extents in ([4], [5, 3], []):
        with pytest.raises(ValueError, match="does not end in"):
            norm.layer_norm(x, np.array(extents, dtype=np.int32), None, None, 1e-5)


def test_sums_are_normalised_as_layer_norm_does() -> None:
    a, b, gamma, beta, bias = normals(3, 4, 6), normals(3, 4, 6), normals(6), normals(6), normals(6)
    extents = np.array([6])
    wanted = norm.layer_norm(a + b + bias, extents, gamma, beta, 1e-5)
    y, mean, rstd, x = norm.add_layer_norm(a, b, gamma, beta, bias, 1e-5, True)
    for actual, expected in zip((y, mean, rstd), wanted, strict=True):
        assert_close(actual, expected)
    assert_close(x, a + b + bias)
    assert norm.add_layer_norm(a, b, gamma, beta, None, 1e-5, False)[3].shape == (0,)
    without = norm.add_layer_norm(a, b, gamma, beta, np.zeros_like(a), 1e-5, True)[0]
    assert_close(without, norm.pre_layer_norm(a, b, gamma, beta, 1e-5))
    kept = norm.inplace_add_layer_norm(a, b, gamma, beta, bias, 1e-5, False)
    assert_close(kept[0], y)
    assert kept[3] is b
    assert_close(norm.inplace_add_layer_norm(a, b, gamma, beta, bias, 1e-5, True)[3], x)
    scaled = norm.deep_norm(a, b, beta, gamma, 0.5, 1e-5)
    y, mean, rstd = norm.layer_norm(0.5 * a + b, extents, gamma, beta, 1e-5)
    for actual, expected in zip(scaled, (mean, rstd, y), strict=True):
        assert_close(actual, expected)


def test_the_rms_family_is_one() -> None:
    a, b, gamma = normals(3, 5), normals(3, 5), normals(5)
    wanted = norm.rms_norm(a + b, gamma, 1e-6)
    for outputs in (norm.add_rms_norm(a, b, gamma, 1e-6), norm.inplace_add_rms_norm(a, b, gamma, 1e-6)):
        for actual, expected in zip(outputs, (*wanted, a + b), strict=True):
            assert_close(actual, expected)
    y1, y2, rstd, x = norm.add_rms_norm_cast(a, b, gamma, 1e-6)
    assert_close(y1, wanted[0])
    assert_close(y2, wanted[0])
    assert_close(rstd, wanted[1])
    assert_close(x, a + b)


@pytest.mark.parametrize("div_mode", [True, False])
def test_quantised_rms_norm_element_by_element(div_mode: bool) -> None:
    a, b, gamma = normals(4, 6), normals(4, 6), normals(6)
    scales, zeros = RNG.uniform(0.01, 0.03, size=6), RNG.integers(-5, 6, size=6).astype(np.int32)
    y1, y2, x = norm.add_rms_norm_quant(a, b, gamma, scales, None, zeros, None, -1, 1e-6, div_mode)
    assert y2.shape == (0,)
    assert_close(x, a + b)
    for i in range(4):
        root = math.sqrt(math.fsum(t * t for t in x[i]) / 6 + float(np.float32(1e-6)))
        for j in range(6):
            value = x[i, j] / root * gamma[j]
            value = value / scales[j] if div_mode else value * scales[j]
            assert_close(y1[i, j], min(max(value + int(zeros[j]), -128.0), 127.0))
    again = norm.add_rms_norm_quant(a, b, gamma, scales, 2 * scales, None, zeros, 1, 1e-6, div_mode)
    assert again[1].shape == (4, 6)
    assert not np.array_equal(again[0], again[1])
    with pytest.raises(ValueError, match="axis"):
        norm.add_rms_norm_quant(a, b, gamma, scales, None, None, None, 0, 1e-6, div_mode)


def test_batch_norm_channel_by_channel() -> None:
    x, weight, bias = normals(4, 3, 5, 2), normals(3), normals(3)
    running_mean, running_var = normals(3), RNG.uniform(0.5, 2, size=3)
    momentum = float(np.float32(0.1))
    y, mean_out, var_out, mean, rstd = norm.batch_norm(x, weight, bias, running_mean, running_var, 1e-5, 0.1, True)
    for c in range(3):
        values = x[:, c].reshape(-1)
        m, r = row_moments(values)
        assert_close([mean[c], rstd[c]], [m, r])
        assert_close(y[:, c], (x[:, c] - m) * r * weight[c] + bias[c])
        variance = math.fsum((t - m) ** 2 for t in values) / (len(values) - 1)
        assert_close(mean_out[c], (1 - momentum) * running_mean[c] + momentum * m)
        assert_close(var_out[c], (1 - momentum) * running_var[c] + momentum * variance)
    y, mean_out, var_out, mean, rstd = norm.batch_norm(x, weight, bias, running_mean, running_var, 1e-5, 0.1, False)
    assert mean_out is running_mean
    assert var_out is running_var
    assert mean.shape == rstd.shape == (0,)
    assert_close(y[:, 1], (x[:, 1] - running_mean[1]) / math.sqrt(running_var[1] + EPSILON) * weight[1] + bias[1])


def test_batch_norm_of_a_single_value_per_channel() -> None:
    x = normals(1, 4)
    y, _, var_out, mean, rstd = norm.batch_norm(x, np.ones(4), np.zeros(4), np.zeros(4), np.ones(4), 1e-5, 0.5, True)
    assert_close(y, np.zeros((1, 4)))
    assert_close(mean, x[0])
    assert_close(rstd, np.full(4, 1 / math.sqrt(EPSILON)))
    assert_close(var_out, np.full(4, 0.5))


def test_group_norm_swish_group_by_group() -> None:
    x, gamma, beta = normals(2, 6, 3, 2), normals(6), normals(6)
    y, mean, rstd = norm.group_norm_swish(x, gamma, beta, 3, "NCHW", 1e-5, True, 1.5)
    assert mean.shape == rstd.shape == (2, 3)
    for n, g in np.ndindex(2, 3):
        m, r = row_moments(x[n, 2 * g : 2 * g + 2].reshape(-1))
        assert_close([mean[n, g], rstd[n, g]], [m, r])
        for c in (2 * g, 2 * g + 1):
            z = (x[n, c] - m) * r * gamma[c] + beta[c]
            assert_close(y[n, c], z / (1 + np.exp(-1.5 * z)))
    plain = norm.group_norm_swish(x, gamma, beta, 3, "NCHW", 1e-5, False, 1.5)[0]
    assert_close(plain / (1 + np.exp(-1.5 * plain)), y)
    with pytest.raises(ValueError, match="groups"):
        norm.group_norm_swish(x, gamma, beta, 4, "NCHW", 1e-5, True, 1.0)
    with pytest.raises(ValueError, match="NCHW"):
        norm.group_norm_swish(x, gamma, beta, 3, "NHWC", 1e-5, True, 1.0)


def test_gradients_are_slopes_of_the_forward_pass() -> None:
    dy, a, b, gamma, beta = normals(3, 2, 4), normals(3, 2, 4), normals(3, 2, 4), normals(2, 4), normals(2, 4)
    given = {"x1": a, "x2": b, "x": a, "gx": b, "gamma": gamma}
    rstd, mean = derived.add_layer_norm_rstd(given, {}), derived.add_layer_norm_mean(given, {})
    dx, dgamma, dbeta = norm_grad.add_layer_norm_grad(dy, a, b, rstd, mean, gamma, None)
    forward = lambda a, g, c: float(np.sum(dy * norm.add_layer_norm(a, b, g, c, None, 1e-5, False)[0]))  # noqa: E731
    assert_close(dx, slopes(lambda t: forward(t, gamma, beta), a), 1e-6, 1e-8)
    assert_close(dgamma, slopes(lambda t: forward(a, t, beta), gamma), 1e-6, 1e-8)
    assert_close(dbeta, slopes(lambda t: forward(a, gamma, t), beta), 1e-6, 1e-8)
    assert_close(norm_grad.add_layer_norm_grad(dy, a, b, rstd, mean, gamma, b)[0], dx + b)

    attributes = {"alpha": 0.5}
    statistics = derived.deep_norm_mean(given, attributes), derived.deep_norm_rstd(given, attributes)
    dx, dgx, dbeta, dgamma = norm_grad.deep_norm_grad(dy, a, b, gamma, *statistics, 0.5)
    deep = lambda x, gx, g: float(np.sum(dy * norm.deep_norm(x, gx, beta, g, 0.5, 1e-5)[2]))  # noqa: E731
    assert_close(dx, slopes(lambda t: deep(t, b, gamma), a), 1e-6, 1e-8)
    assert_close(dgx, slopes(lambda t: deep(a, t, gamma), b), 1e-6, 1e-8)
    assert_close(dgamma, slopes(lambda t: deep(a, b, t), gamma), 1e-6, 1e-8)
    assert_close(dbeta, dy.sum(axis=0))

    dx, dgamma = norm_grad.rms_norm_grad(dy, a, derived.rms_norm_rstd(given, {}), gamma)
    rms = lambda x, g: float(np.sum(dy * norm.rms_norm(x, g, 1e-5)[0]))  # noqa: E731
    assert_close(dx, slopes(lambda t: rms(t, gamma), a), 1e-6, 1e-8)
    assert_close(dgamma, slopes(lambda t: rms(a, t), gamma), 1e-6, 1e-8)


@pytest.mark.parametrize("shape", [(2, 6, 3), (3, 4), (1, 4, 2, 3)])
def test_group_norm_swish_gradients_are_slopes(shape: tuple[int, ...]) -> None:
    dy, x, gamma, beta = normals(*shape), normals(*shape), normals(shape[1]), normals(shape[1])
    given, attributes = {"x": x}, {"num_groups": 2}
    mean = derived.group_norm_mean(given, attributes).reshape(shape[0], 2)
    rstd = derived.group_norm_rstd(given, attributes).reshape(shape[0], 2)
    gradients = norm_grad.group_norm_swish_grad(dy, mean, rstd, x, gamma, beta, 2, "NCHW", 0.75, True, True)

    def forward(x: Any, gamma: Any, beta: Any) -> float:
        return float(np.sum(dy * norm.group_norm_swish(x, gamma, beta, 2, "NCHW", 1e-5, True, 0.75)[0]))

    assert_close(gradients[0], slopes(lambda t: forward(t, gamma, beta), x), 1e-5, 1e-7)
    assert_close(gradients[1], slopes(lambda t: forward(x, t, beta), gamma), 1e-6, 1e-8)
    assert_close(gradients[2], slopes(lambda t: forward(x, gamma, t), beta), 1e-6, 1e-8)
    none = norm_grad.group_norm_swish_grad(dy, mean, rstd, x, gamma, beta, 2, "NCHW", 0.75, False, False)
    assert (none[1].shape, none[2].shape) == ((0,), (0,))
    with pytest.raises(ValueError, match="NCHW"):
        norm_grad.group_norm_swish_grad(dy, mean, rstd, x, gamma, beta, 2, "ND", 0.75, True, True)


def torch_pair(dtype: str, *shapes: tuple[int, ...]) -> tuple[Any, list[Any], list[Any]]:
    """torch, tensors in double precision that are exact in ``dtype``, and the same as arrays."""
    torch = pytest.importorskip("torch", reason="torch is not installed; the formulas above stand alone")
    tensors = [torch.from_numpy(normals(*shape)).to(getattr(torch, dtype)).double() for shape in shapes]
    return torch, tensors, [tensor.numpy().copy() for tensor in tensors]


DTYPES = ["float16", "bfloat16", "float32"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norms_agree_with_torch(dtype: str) -> None:
    torch, (a, b, gamma, beta), (x1, x2, g, c) = torch_pair(dtype, (3, 5, 8), (3, 5, 8), (8,), (8,))
    function = torch.nn.functional.layer_norm
    wanted = function(a + b, (8,), gamma, beta, EPSILON).numpy()
    assert_close(norm.layer_norm(x1 + x2, np.array([8]), g, c, 1e-5)[0], wanted)
    assert_close(norm.layer_norm(x1, np.array([5, 8]), None, None, 1e-5)[0], function(a, (5, 8), eps=EPSILON).numpy())
    assert_close(norm.add_layer_norm(x1, x2, g, c, None, 1e-5, True)[0], wanted)
    assert_close(norm.inplace_add_layer_norm(x1, x2, g, c, None, 1e-5, True)[0], wanted)
    assert_close(norm.pre_layer_norm(x1, x2, g, c, 1e-5), wanted)
    assert_close(norm.deep_norm(x1, x2, c, g, 0.5, 1e-5)[2], function(0.5 * a + b, (8,), gamma, beta, EPSILON).numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norms_agree_with_torch(dtype: str) -> None:
    torch, (a, b, gamma), (x1, x2, g) = torch_pair(dtype, (3, 5, 8), (3, 5, 8), (8,))
    wanted = torch.nn.functional.rms_norm(a + b, (8,), gamma, EPSILON).numpy()
    assert_close(norm.add_rms_norm(x1, x2, g, 1e-5)[0], wanted)
    assert_close(norm.inplace_add_rms_norm(x1, x2, g, 1e-5)[0], wanted)
    assert_close(norm.add_rms_norm_cast(x1, x2, g, 1e-5)[1], wanted)
    scales, zeros = torch.linspace(0.01, 0.05, 8), torch.arange(-4, 4, dtype=torch.int32)
    y = torch.from_numpy(wanted).float()
    rounded = torch.fake_quantize_per_channel_affine(y, scales, zeros, 2, -128, 127)
    quantised = torch.round(rounded / scales + zeros).numpy()
    quantised_output = norm.add_rms_norm_quant(x1, x2, g, scales.numpy(), None, zeros.numpy(), None, -1, 1e-5, True)[0]
    assert np.abs(quantised_output - quantised).max() <= 0.5 + 1e-3


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_norm_agrees_with_torch(dtype: str, training: bool) -> None:
    torch, (x, w, b), (array, weight, bias) = torch_pair(dtype, (4, 3, 5, 2), (3,), (3,))
    mean, variance = torch.tensor([0.1, -0.2, 0.3]).double(), torch.tensor([0.5, 1.0, 2.0]).double()
    momentum = float(np.float32(0.1))
    outputs = norm.batch_norm(array, weight, bias, mean.numpy().copy(), variance.numpy().copy(), 1e-5, 0.1, training)
    wanted = torch.nn.functional.batch_norm(x, mean, variance, w, b, training, momentum, EPSILON)
    for actual, expected in zip(outputs, (wanted, mean, variance), strict=False):
        assert_close(actual, expected.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_group_norm_swish_and_its_gradients_agree_with_torch(dtype: str) -> None:
    torch, (x, w, b, dy), (array, gamma, beta, upper) = torch_pair(dtype, (4, 6, 5), (6,), (6,), (4, 6, 5))
    for leaf in (x, w, b):
        leaf.requires_grad_()
    z = torch.nn.functional.group_norm(x, 3, w, b, EPSILON)
    y = z * torch.sigmoid(1.5 * z)
    y.backward(dy)
    swish, mean, rstd = norm.group_norm_swish(array, gamma, beta, 3, "NCHW", 1e-5, True, 1.5)
    assert_close(swish, y.detach().numpy())
    assert_close(norm.group_norm_swish(array, gamma, beta, 3, "NCHW", 1e-5, False, 1.5)[0], z.detach().numpy())
    grads = norm_grad.group_norm_swish_grad(upper, mean, rstd, array, gamma, beta, 3, "NCHW", 1.5, True, True)
    for actual, expected in zip(grads, (x, w, b), strict=True):
        assert_close(actual, expected.grad.numpy(), 1e-10, 1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_agree_with_torch(dtype: str) -> None:
    torch, (a, b, w, c, dy), (x1, x2, gamma, _, upper) = torch_pair(dtype, (3, 5, 8), (3, 5, 8), (8,), (8,), (3, 5, 8))
    leaves = (a, b, w, c)
    given = {"x1": x1, "x2": x2, "x": x1, "gx": x2, "gamma": gamma}

    def gradients(y: Any) -> list[Any]:
        slopes_of_leaves = torch.autograd.grad(y, leaves, dy, allow_unused=True)
        return [None if item is None else item.numpy() for item in slopes_of_leaves]

    for leaf in leaves:
        leaf.requires_grad_()
    wanted = gradients(torch.nn.functional.layer_norm(a + b, (8,), w, c, EPSILON))
    statistics = derived.add_layer_norm_rstd(given, {}), derived.add_layer_norm_mean(given, {})
    ours = norm_grad.add_layer_norm_grad(upper, x1, x2, *statistics, gamma, None)
    for actual, expected in zip(ours, (wanted[0], *wanted[2:]), strict=True):
        assert_close(actual, expected, 1e-10, 1e-11)

    wanted = gradients(torch.nn.functional.layer_norm(0.5 * a + b, (8,), w, c, EPSILON))
    attributes = {"alpha": 0.5}
    deep = derived.deep_norm_mean(given, attributes), derived.deep_norm_rstd(given, attributes)
    dx, dgx, dbeta, dgamma = norm_grad.deep_norm_grad(upper, x1, x2, gamma, *deep, 0.5)
    for actual, expected in zip((dx, dgx, dgamma, dbeta), wanted, strict=True):
        assert_close(actual, expected, 1e-10, 1e-11)

    wanted = gradients(torch.nn.functional.rms_norm(a, (8,), w, EPSILON))
    ours = norm_grad.rms_norm_grad(upper, x1, derived.rms_norm_rstd(given, {}), gamma)
    assert_close(ours[0], wanted[0], 1e-10, 1e-11)
    assert_close(ours[1], wanted[2], 1e-10, 1e-11)
