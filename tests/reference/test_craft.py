"""The 52 references of the suite ``ascendcraft`` against formulas in plain Python, element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from statistics import NormalDist, fmean, pvariance
from typing import Any

import numpy as np
import pytest

from npukernelbench import reference
from npukernelbench.reference import (
    craft_activation,
    craft_loss,
    craft_math,
    craft_normalization,
    craft_optimizer,
    craft_pooling,
    craft_reduce,
)
from tests.reference.plain import single
from tests.suite import suite

RNG = np.random.default_rng(52)


def assert_close(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-15)


def test_every_reference_of_the_suite_is_used() -> None:
    names = [module.name for module in iter_modules(reference.__path__) if module.name.startswith("craft_")]
    modules = [import_module(f"{reference.__name__}.{name}") for name in names]
    offered = {f"{module.__name__.rpartition('.')[2]}.{name}" for module in modules for name in module.__all__}
    tasks = suite().values()
    named = {task.reference for task in tasks if task.suite == "ascendcraft"}
    assert named == offered | {"activation.gelu"}


SELU = (1.0507009873554805, 1.6732632423543772)


@pytest.mark.parametrize(
    ("name", "formula", "options"),
    [
        ("elu", lambda t: t if t > 0 else single(0.3) * (math.exp(t) - 1), {"alpha": 0.3}),
        ("gelu", lambda t: t * NormalDist().cdf(t), {}),
        ("hardsigmoid", lambda t: 0.0 if t <= -3 else 1.0 if t >= 3 else t / 6 + 0.5, {}),
        ("hardtanh", lambda t: -1.0 if t < -1 else 1.0 if t > 1 else t, {}),
        ("leaky_relu", lambda t: t if t >= 0 else single(0.1) * t, {"negative_slope": 0.1}),
        ("relu", lambda t: t if t > 0 else 0.0, {}),
        ("selu", lambda t: SELU[0] * (t if t > 0 else SELU[1] * (math.exp(t) - 1)), {}),
        ("sigmoid", lambda t: 1 / (1 + math.exp(-t)), {}),
        ("softplus", lambda t: math.log1p(math.exp(t)), {}),
        ("softsign", lambda t: t / (1 + abs(t)), {}),
        ("swish", lambda t: t / (1 + math.exp(-t)), {}),
        ("tanh", lambda t: (math.exp(2 * t) - 1) / (math.exp(2 * t) + 1), {}),
    ],
)
def test_elementwise_activations(name: str, formula: Callable[[float], float], options: dict[str, float]) -> None:
    x = np.concatenate([RNG.normal(0, 3, 200), [-3.0, -1.0, -0.5, 0.5, 1.0, 3.0]]).reshape(2, -1)
    y = getattr(craft_activation, name)(x, **options)
    np.testing.assert_allclose(y, np.vectorize(formula)(x), rtol=1e-11, atol=1e-14)


def test_activations_at_the_ends_of_the_range() -> None:
    big = np.array([-1e4, 1e4])
    assert craft_activation.softplus(big).tolist() == [0.0, 1e4]
    assert craft_activation.sigmoid(big).tolist() == [0.0, 1.0]
    assert craft_activation.elu(big, 2.0).tolist() == [-2.0, 1e4]
    assert np.abs(craft_activation.swish(big)).tolist() == [0.0, 1e4]
    for name in ("hardtanh", "hardsigmoid", "relu", "gelu", "selu", "tanh"):
        assert np.isnan(getattr(craft_activation, name)(np.array([math.nan]))).all()


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_softmax_and_its_logarithm(shift: float) -> None:
    x = RNG.normal(size=(3, 5))
    sums = [math.fsum(math.exp(t) for t in row) for row in x]
    expected = [[math.exp(t) / total for t in row] for row, total in zip(x, sums, strict=True)]
    assert_close(craft_activation.softmax(x + shift), expected, 1e-11)
    np.testing.assert_allclose(craft_activation.log_softmax(x + shift, 1), np.log(expected), rtol=1e-11)
    np.testing.assert_allclose(craft_activation.log_softmax(x.T + shift, 0), np.log(expected).T, rtol=1e-11)


def pairs(a: Any, b: Any) -> list[tuple[float, float]]:
    return list(zip(np.ravel(a).tolist(), np.ravel(b).tolist(), strict=True))


def test_losses_over_all_elements() -> None:
    p, t = RNG.normal(size=(2, 4, 7)) * 1.5
    assert_close(craft_loss.mse_loss(p, t), fmean((a - b) ** 2 for a, b in pairs(p, t)))
    terms = [abs(a - b) for a, b in pairs(p, t)]
    assert any(d < 1 for d in terms)
    assert any(d > 1 for d in terms)
    assert_close(craft_loss.huber_loss(p, t), fmean(d * d / 2 if d < 1 else d - 0.5 for d in terms))
    labels = np.array([1.0, -1, 1, 1, -1, -1, 1])
    margins = [1 - p[r, j] * labels[j] for r in range(4) for j in range(7)]
    assert min(margins) < 0
    assert_close(craft_loss.hinge_loss(p, labels), fmean(max(0.0, m) for m in margins))


def test_losses_by_rows() -> None:
    p, t = RNG.normal(size=(2, 4, 7))
    cosines = [np.dot(a, b) / math.sqrt(np.dot(a, a)) / math.sqrt(np.dot(b, b)) for a, b in zip(p, t, strict=True)]
    assert_close(craft_loss.cosine_similarity_loss(p, t), fmean(1 - c for c in cosines))
    assert_close(craft_loss.cosine_similarity_loss(np.zeros((2, 3)), np.ones((2, 3))), 1.0)
    classes = np.array([6, 0, 3, 3], dtype=np.int64)
    logs = [math.log(math.fsum(map(math.exp, row))) - row[c] for row, c in zip(p, classes, strict=True)]
    assert_close(craft_loss.cross_entropy_loss(p, classes), fmean(logs))
    assert_close(craft_loss.cross_entropy_loss(p + 1000, classes), fmean(logs), 1e-10)


def test_triplet_margin_loss_cuts_off_below_zero() -> None:
    a, p, n = RNG.normal(size=(3, 9, 4))
    gaps = [math.dist(u + 1e-6, v) - math.dist(u + 1e-6, w) for u, v, w in zip(a, p, n, strict=True)]
    assert min(gaps) < -0.5 < max(gaps)
    assert_close(craft_loss.triplet_margin_loss(a, p, n, 0.5), fmean(max(0.0, gap + 0.5) for gap in gaps))
    assert craft_loss.triplet_margin_loss(a, a, n + 100, 1.0) == 0.0


def test_kl_divergence_ignores_targets_of_zero() -> None:
    p = np.array([[0.25, 0.25, 0.5], [0.1, 0.2, 0.7]])
    t = np.array([[0.5, 0.0, 0.5], [0.3, 0.3, 0.4]])
    terms = [b * math.log(b / a) for a, b in pairs(p, t) if b > 0]
    assert_close(craft_loss.kl_div_loss(p, t), math.fsum(terms) / 2)
    assert_close(craft_loss.kl_div_loss(p, p), 0.0)
    # As in PyTorch, which multiplies the 0 with the logarithm of the other.
    with np.errstate(all="ignore"):
        assert np.isnan(craft_loss.kl_div_loss(np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]])))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_scans_along_an_axis(dim: int) -> None:
    x, mask = RNG.normal(size=(3, 4, 5)), RNG.random((3, 4, 5)) < 0.5

    def along(function: Callable[[list[float]], list[float]], values: Any) -> Any:
        return np.apply_along_axis(lambda line: np.array(function(line.tolist())), dim, values)

    def sums(line: list[float]) -> list[float]:
        return [math.fsum(line[: i + 1]) for i in range(len(line))]

    np.testing.assert_allclose(craft_math.cumsum(x, dim), along(sums, x), atol=1e-13)
    np.testing.assert_allclose(
        craft_math.cumsum_exclusive(x, dim), along(lambda s: [0.0, *sums(s[:-1])], x), atol=1e-13
    )
    np.testing.assert_allclose(craft_math.cumsum_reverse(x, dim), along(lambda s: sums(s[::-1])[::-1], x), atol=1e-13)
    selected = np.where(mask, x, 0.0)
    np.testing.assert_allclose(craft_math.masked_cumsum(x, mask, dim), along(sums, selected), atol=1e-13)
    assert_close(craft_math.cumprod(x, dim), along(lambda s: [math.prod(s[: i + 1]) for i in range(len(s))], x))


def test_a_masked_sum_multiplies_by_the_mask() -> None:
    x, mask = np.array([[1.0, math.inf, 2.0]]), np.array([[True, False, True]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(craft_math.masked_cumsum(x, mask, 1)).tolist() == [[False, True, True]]


def test_an_exclusive_sum_over_one_element_is_zero() -> None:
    assert craft_math.cumsum_exclusive(np.array([[5.0], [6.0]]), 1).tolist() == [[0.0], [0.0]]


def test_a_matrix_times_a_scalar_in_single_precision() -> None:
    assert craft_math.matrix_scalar_multiplication(np.array([[2.0, -3.0]]), 0.1).tolist() == [
        [2 * single(0.1), -3 * single(0.1)]
    ]


def standard(values: Any, eps: float) -> Callable[[float], float]:
    """How one element of ``values`` is standardized."""
    numbers = np.ravel(values).tolist()
    mean, root = fmean(numbers), math.sqrt(pvariance(numbers) + single(eps))
    return lambda t: (t - mean) / root


def test_norms_of_images() -> None:
    x, gamma, beta = RNG.normal(1, 2, size=(3, 4, 2, 5)), RNG.normal(size=4), RNG.normal(size=4)
    batch, group = np.empty_like(x), np.empty_like(x)
    instance, root = np.empty_like(x), np.empty_like(x)
    for n, c, h, w in np.ndindex(x.shape):
        t, pair = x[n, c, h, w], 2 * (c // 2)
        batch[n, c, h, w] = standard(x[:, c], 0.5)(t) * gamma[c] + beta[c]
        group[n, c, h, w] = standard(x[n, pair : pair + 2], 0.5)(t) * gamma[c] + beta[c]
        instance[n, c, h, w] = standard(x[n, c], 1e-5)(t)
        root[n, c, h, w] = t / math.sqrt(fmean(s * s for s in x[n, :, h, w]) + single(1e-5))
    assert_close(craft_normalization.batch_norm(x, gamma, beta, 0.5), batch, 1e-10)
    assert_close(craft_normalization.group_norm(x, gamma, beta, 2, 0.5), group, 1e-10)
    assert_close(craft_normalization.instance_norm(x, 1e-5), instance, 1e-10)
    assert_close(craft_normalization.rms_norm(x, 1e-5), root, 1e-10)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_layer_norm_covers_the_axes_of_its_weights(axes: int) -> None:
    x = RNG.normal(1, 2, size=(3, 2, 4, 5))
    gamma, beta = RNG.normal(size=(2, *x.shape[4 - axes :]))
    y = craft_normalization.layer_norm(x, gamma, beta, 1e-5)
    for index in np.ndindex(x.shape[: 4 - axes]):
        assert_close(y[index], np.vectorize(standard(x[index], 1e-5))(x[index]) * gamma + beta, 1e-10)


def test_norms_of_vectors() -> None:
    x = RNG.normal(size=(3, 7))
    assert_close(craft_normalization.l1_norm(x), [[t / fmean(map(abs, row)) for t in row] for row in x])
    assert_close(craft_normalization.l2_norm(x), [[t / math.hypot(*row) for t in row] for row in x])
    assert_close(craft_normalization.frobenius_norm(x), [[t / math.hypot(*x.ravel()) for t in row] for row in x])


def test_optimizer_steps() -> None:
    p, g, m = RNG.normal(size=(3, 2, 6))
    v = RNG.uniform(0.5, 2.0, size=(2, 6))
    lr, eps, decay = single(0.01), single(1e-3), single(0.9)

    def each(function: Callable[..., float]) -> Any:
        return np.vectorize(function)(p, g, m, v)

    expected = each(lambda p, g, m, v: p - lr * g / (math.sqrt(v + g * g) + eps))
    assert_close(craft_optimizer.adagrad(p, g, v, 0.01, 1e-3), expected)
    expected = each(lambda p, g, m, v: p - lr * g / (math.sqrt(decay * v + (1 - decay) * g * g) + eps))
    assert_close(craft_optimizer.rmsprop(p, g, v, 0.01, 0.9, 1e-3), expected)
    assert_close(craft_optimizer.sgd(p, g, m, 0.9, 0.01), each(lambda p, g, m, v: p - lr * (decay * m + g)))
    ratio = each(lambda p, g, m, v: m / (math.sqrt(v) + eps))
    trust = math.hypot(*p.ravel()) / (math.hypot(*ratio.ravel()) + eps)
    assert_close(craft_optimizer.lamb(p, m, v, 0.01, 1e-3), p - lr * trust * ratio)


@pytest.mark.parametrize("step", [1, 2, 50])
def test_adam_corrects_the_bias_of_a_constant_gradient(step: int) -> None:
    """After equal gradients both averages are exactly that gradient and its square, whatever the decays."""
    g, first, second = np.array([0.5, -2.0]), single(0.9), single(0.99)
    m, v = g * (1 - first ** (step - 1)), g * g * (1 - second ** (step - 1))
    moved = craft_optimizer.adam(np.zeros(2), g, m, v, 0.9, 0.99, 0.01, 1e-3, step)
    assert_close(moved, [-single(0.01) * t / (abs(t) + single(1e-3)) for t in g], 1e-9)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_reductions_over_an_axis(dim: int) -> None:
    x = RNG.normal(size=(3, 4, 5))
    lines = {
        "maximum": lambda line: sorted(line)[-1],
        "minimum": lambda line: sorted(line)[0],
        "mean": fmean,
        "product": math.prod,
        "total": math.fsum,
    }
    for name, function in lines.items():
        expected = np.apply_along_axis(function, dim, x)
        if name == "total":
            expected = np.expand_dims(expected, dim)
        np.testing.assert_allclose(getattr(craft_reduce, name)(x, dim), expected, rtol=1e-12, atol=1e-14)


def test_nan_wins_reductions_and_windows() -> None:
    x = np.array([[1.0, math.nan, 3.0]])
    assert np.isnan(craft_reduce.maximum(x, 1)).all()
    assert np.isnan(craft_reduce.minimum(x, 1)).all()
    assert np.isnan(craft_pooling.max_pooling_1d(x, 2, 1, 0)).all()


def windows(x: Any, axes: int, kernel_size: int, stride: int, padding: int) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Where a window's result goes and its elements inside ``x``, by plain index arithmetic."""
    extents = [(n + 2 * padding - kernel_size) // stride + 1 for n in x.shape[-axes:]]
    lead = [range(n) for n in x.shape[:-axes]]
    for place in itertools.product(*lead, *map(range, extents)):
        steps = itertools.product(range(kernel_size), repeat=axes)
        sources = [[p * stride - padding + k for p, k in zip(place[-axes:], step, strict=True)] for step in steps]
        inside = [s for s in sources if all(0 <= i < n for i, n in zip(s, x.shape[-axes:], strict=True))]
        lines = x[place[:-axes]]
        yield place, [float(lines[tuple(s)]) for s in inside]


@pytest.mark.parametrize(("kernel_size", "stride", "padding"), [(3, 2, 1), (2, 2, 0), (4, 1, 2), (3, 3, 1), (1, 2, 0)])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pooling_window_by_window(axes: int, kernel_size: int, stride: int, padding: int) -> None:
    x = RNG.normal(-1.0, 1.0, size=(2, 3, 7, 5, 6)[: 2 + axes])
    options = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
    mean = getattr(craft_pooling, f"average_pooling_{axes}d")(x, **options)
    top = getattr(craft_pooling, f"max_pooling_{axes}d")(x, **options)
    seen = 0
    for place, inside in windows(x, axes, **options):
        assert top[place] == max(inside)
        assert math.isclose(mean[place], math.fsum(inside) / kernel_size**axes, rel_tol=1e-11, abs_tol=1e-13)
        seen += 1
    assert seen == mean.size == top.size
