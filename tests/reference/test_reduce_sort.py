from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import reduce, sort

RNG = np.random.default_rng(13)


def sigmoid(t: float) -> float:
    return 1.0 / (1.0 + math.exp(-t))


def test_gated_sum_by_scalars() -> None:
    x, q = RNG.normal(size=(2, 3, 4, 5))
    b, s, p = RNG.normal(size=(1, 1, 5)), RNG.normal(size=1), RNG.normal(size=(3, 4, 1))
    out = reduce.gated_sum(x, b, s, p, q)
    assert out.shape == (3, 5)
    for n, c in np.ndindex(3, 5):
        terms = [sigmoid((x[n, r, c] + b[0, 0, c]) * s[0]) * p[n, r, 0] * q[n, r, c] for r in range(4)]
        assert math.isclose(out[n, c], math.fsum(terms), rel_tol=1e-12)


def test_product_norm_row_by_row() -> None:
    a, b = RNG.normal(size=(2, 3, 7))
    factor, added, gamma, beta = np.array(1.5), np.array(0.25), RNG.normal(size=(1, 7)), RNG.normal(size=(1, 7))
    out = reduce.product_norm(a, b, factor, added, gamma, beta)
    for row in range(3):
        product = [x * y * 1.5 for x, y in zip(a[row], b[row], strict=True)]
        mean = math.fsum(product) / 7
        root = math.sqrt(math.fsum((t - mean) ** 2 for t in product) / 7 + 0.25)
        expected = [g * (t - mean) / root + o for t, g, o in zip(product, gamma[0], beta[0], strict=True)]
        np.testing.assert_allclose(out[row], expected, rtol=1e-12)


def test_scaled_sigmoid_by_scalars() -> None:
    x = RNG.normal(size=(3, 4))
    out = reduce.scaled_sigmoid(x, np.array([1.25]), np.array([-2.0]), np.array([0.5]))
    for place in np.ndindex(3, 4):
        assert math.isclose(out[place], sigmoid(x[place] * 1.25) * -2.0 + 0.5, rel_tol=1e-12)


def test_selected_softmax_by_scalars() -> None:
    a, b = RNG.normal(size=(2, 3, 1, 5)) * 300
    chosen = RNG.random((3, 1, 5)) < 0.5
    out = reduce.selected_softmax(chosen, a, b)
    for row in range(3):
        x = [a[row, 0, i] if chosen[row, 0, i] else b[row, 0, i] for i in range(5)]
        powers = [math.exp(t - max(x)) for t in x]
        np.testing.assert_allclose(out[row, 0], [t / math.fsum(powers) for t in powers], rtol=1e-12)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_top_k_by_sorting(dim: int, largest: bool) -> None:
    x = RNG.permutation(60).reshape(5, 12) / 4
    values, indices = sort.top_k(x, np.array([3], np.int32), True, dim, largest)
    assert indices.dtype == np.int32
    lines = np.moveaxis(x, dim, -1)
    for line, top, places in zip(lines, np.moveaxis(values, dim, -1), np.moveaxis(indices, dim, -1), strict=True):
        assert top.tolist() == sorted(line.tolist(), reverse=largest)[:3]
        assert [line[place] for place in places] == top.tolist()


@pytest.mark.parametrize("largest", [False, True])
def test_of_equal_elements_the_first_counts(largest: bool) -> None:
    _, indices = sort.top_k(np.array([[2.0, 1.0, 2.0, 1.0]]), np.array([4]), True, 1, largest)
    assert indices.tolist() == [[0, 2, 1, 3] if largest else [1, 3, 0, 2]]


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_has_nan_last(largest: bool) -> None:
    _, indices = sort.top_k(np.array([math.nan, 1.0, 2.0]), np.array([3]), True, 0, largest)
    assert indices.tolist() == ([2, 1, 0] if largest else [1, 2, 0])


def test_top_k_refuses_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="any order"):
        sort.top_k(np.zeros(3), np.array([1]), False, 0, True)
    with pytest.raises(ValueError, match="no 4 elements"):
        sort.top_k(np.zeros(3), np.array([4]), True, 0, True)
    assert sort.top_k(np.zeros((3, 2)), np.array([0]), True, 0, True)[0].shape == (0, 2)


def test_agreement_with_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    x, q = RNG.normal(size=(2, 3, 4, 5))
    b, s, p = RNG.normal(size=(1, 1, 5)), RNG.normal(size=1), RNG.normal(size=(3, 4, 1))
    tx, tq, tb, ts, tp = (torch.from_numpy(item) for item in (x, q, b, s, p))
    gated = (torch.sigmoid((tx + tb) * ts) * tp * tq).sum(dim=1)
    np.testing.assert_allclose(reduce.gated_sum(x, b, s, p, q), gated.numpy(), rtol=1e-11)
    np.testing.assert_allclose(
        reduce.scaled_sigmoid(x, s, s, s), (torch.sigmoid(tx * ts) * ts + ts).numpy(), rtol=1e-11
    )
    chosen = x > 0
    softmax = torch.softmax(torch.where(torch.from_numpy(chosen), tx, tq), dim=-1)
    np.testing.assert_allclose(reduce.selected_softmax(chosen, x, q), softmax.numpy(), rtol=1e-11)
    row, gamma, beta = RNG.normal(size=(6, 8)), RNG.normal(size=(1, 8)), RNG.normal(size=(1, 8))
    norm = torch.nn.functional.layer_norm(
        torch.from_numpy(row * row), (8,), torch.from_numpy(gamma[0]), torch.from_numpy(beta[0]), eps=0.5
    )
    got = reduce.product_norm(row, row, np.array(1.0), np.array(0.5), gamma, beta)
    np.testing.assert_allclose(got, norm.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dim", [0, 2, -2])
def test_top_k_agrees_with_torch(dim: int, largest: bool, dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    x = RNG.permutation(2 * 5 * 7).reshape(2, 5, 7).astype(dtype)
    k = 2
    values, indices = sort.top_k(x.astype(np.float64), np.array([k], np.int32), True, dim, largest)
    theirs = torch.topk(torch.from_numpy(x), k, dim=dim, largest=largest, sorted=True)
    assert np.array_equal(values, theirs.values.numpy())
    assert np.array_equal(indices, theirs.indices.numpy())
