from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import gmm
from tests.reference.plain import single

RNG = np.random.default_rng(15)


def assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def product(a: Any, b: Any) -> Any:
    """The matrix product in plain Python."""
    return np.array([[math.fsum(x * y for x, y in zip(row, column, strict=True)) for column in b.T] for row in a])


def matrices(m: int = 3, k: int = 4, n: int = 5) -> tuple[Any, Any]:
    return RNG.normal(size=(m, k)), RNG.normal(size=(k, n))


def bytes_(*shape: int) -> Any:
    return RNG.integers(-128, 128, size=shape).astype(np.int8)


def test_products_and_sums() -> None:
    a, b = matrices()
    c, bias = RNG.normal(size=(3, 5)), RNG.normal(size=5)
    assert_close(gmm.matmul(a, b), product(a, b))
    assert_close(gmm.matmul_add(a, b, c), product(a, b) + c)
    assert_close(gmm.matmul_bias(a, b, bias), product(a, b) + bias[np.newaxis])
    assert_close(gmm.gemm(a, b, c, 0.3, -0.7), single(0.3) * product(a, b) + single(-0.7) * c)
    x, y = RNG.normal(size=4), RNG.normal(size=3)
    assert_close(gmm.gemv(a, x, y, 0.3, -0.7), single(0.3) * product(a, x[:, np.newaxis])[:, 0] + single(-0.7) * y)


def test_batches_are_multiplied_one_by_one() -> None:
    a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4, 5))
    assert_close(gmm.matmul(a, b), [product(a[0], b[0]), product(a[1], b[1])])


def test_gemm_leaves_its_inputs_alone() -> None:
    a, b = matrices()
    c = np.ones((3, 5))
    gmm.gemm(a, b, c, 1.0, 2.0)
    gmm.group_gemm(a.reshape(-1), b.reshape(-1), c.reshape(-1), np.ones(1), np.ones(1), (3,), (4,), (5,))
    assert (c == 1).all()


def test_group_gemm_group_by_group() -> None:
    sizes = [(2, 3, 4), (1, 5, 2), (3, 1, 1)]
    parts = [(RNG.normal(size=(m, k)), RNG.normal(size=(k, n)), RNG.normal(size=(m, n))) for m, k, n in sizes]
    a, b, c = (np.concatenate([part[i].reshape(-1) for part in parts]) for i in range(3))
    alpha, beta = RNG.normal(size=3), RNG.normal(size=3)
    m, k, n = zip(*sizes, strict=True)
    d = gmm.group_gemm(a, b, c, alpha, beta, m, k, n)
    expected = [alpha[i] * product(x, y) + beta[i] * z for i, (x, y, z) in enumerate(parts)]
    assert_close(d, np.concatenate([group.reshape(-1) for group in expected]))
    with pytest.raises(ValueError, match="the groups hold"):
        gmm.group_gemm(a, b, c, alpha, beta, (2, 1, 2), k, n)


def test_rows_of_groups() -> None:
    a, b = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3, 2))
    ends = np.array([2, 2, 6, 7])
    group = [0, 0, 2, 2, 2, 2, 3]
    expected = [product(a[i : i + 1], b[group[i]])[0] for i in range(7)]
    assert_close(gmm.grouped_matmul_slice_m(a, b, ends), np.concatenate(expected))


def test_inner_indices_of_groups() -> None:
    m, k, n = 3, 6, 2
    left, b = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
    memory = left.T.reshape(-1).reshape(m, k)  # column by column, in the declared shape
    got = gmm.grouped_matmul_slice_k(memory, b, np.array([0, 2, 2, 6])).reshape(4, m, n)
    assert_close(got[1], product(left[:, :2], b[:2]))
    assert_close(got[3], product(left[:, 2:], b[2:]))
    assert not got[0].any()
    assert not got[2].any()


@pytest.mark.parametrize("ends", [[], [3], [5, 4, 6], [-1, 6], [2, 7]])
def test_groups_that_do_not_cover_everything_are_refused(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend up to 6"):
        gmm.grouped_matmul_slice_k(np.zeros((3, 6)), np.zeros((6, 2)), np.array(ends, np.int64))


def exact(a: Any, b: Any) -> Any:
    """The product of integer matrices in Python's own integers."""
    return np.array(a.astype(object) @ b.astype(object), dtype=np.float64)


def test_quantised_products_are_exact_before_scaling() -> None:
    a, b = bytes_(3, 400), bytes_(400, 5)
    scale, token = RNG.random(5), RNG.random(3)
    assert_close(gmm.quant_matmul(a, b, scale, token), exact(a, b) * scale * token[:, np.newaxis])
    extreme = np.full((1, 1000), -128, np.int8)
    assert gmm.quant_matmul(extreme, extreme.T, np.ones(1), np.ones(1)).tolist() == [[1000 * 128 * 128]]


def test_quantised_groups() -> None:
    a, b, ends = bytes_(5, 4), bytes_(2, 4, 3), np.array([2, 5])
    scale, token = RNG.random((2, 3)), RNG.random(5)
    rows = [exact(a[i : i + 1], b[int(i >= 2)])[0] * scale[int(i >= 2)] * token[i] for i in range(5)]
    assert_close(gmm.grouped_matmul_slice_m_per_token_dequant(a, b, scale, token, ends), np.concatenate(rows))
    left, right, tokens = bytes_(3, 6), bytes_(6, 3), RNG.random((2, 3))
    memory = left.T.reshape(3, 6)
    got = gmm.grouped_matmul_slice_k_per_token_dequant(memory, right, scale, tokens, np.array([4, 6]))
    halves = [exact(left[:, :4], right[:4]), exact(left[:, 4:], right[4:])]
    expected = [half * scale[g] * tokens[g][:, np.newaxis] for g, half in enumerate(halves)]
    assert_close(got, np.concatenate([group.reshape(-1) for group in expected]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_agreement_with_torch(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    near = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3}[dtype]
    arrays = {"a": (6, 8), "b": (8, 5), "c": (6, 5), "bias": (5,), "x": (8,), "y": (6,), "p": (3, 6, 8), "q": (3, 8, 5)}
    real = {name: RNG.uniform(-1, 1, size=shape).astype(dtype) for name, shape in arrays.items()}
    a, b, c, bias, x, y, p, q = (item.astype(np.float64) for item in real.values())
    ta, tb, tc, tbias, tx, ty, tp, tq = (torch.from_numpy(item) for item in real.values())

    def agree(ours: Any, theirs: Any) -> None:
        np.testing.assert_allclose(ours, theirs.double().numpy(), rtol=near, atol=near)

    agree(gmm.matmul(a, b), ta @ tb)
    agree(gmm.matmul(p, q), torch.bmm(tp, tq))
    agree(gmm.matmul_add(a, b, c), torch.addmm(tc, ta, tb))
    agree(gmm.matmul_bias(a, b, bias), torch.addmm(tbias, ta, tb))
    agree(gmm.gemm(a, b, c, 0.5, -0.25), torch.addmm(tc, ta, tb, alpha=0.5, beta=-0.25))
    agree(gmm.gemv(a, x, y, 0.5, -0.25), torch.addmv(ty, ta, tx, alpha=0.5, beta=-0.25))
    alpha, beta = np.array([0.5]), np.array([-0.25])
    grouped = gmm.group_gemm(a.reshape(-1), b.reshape(-1), c.reshape(-1), alpha, beta, (6,), (8,), (5,))
    agree(grouped, torch.addmm(tc, ta, tb, alpha=0.5, beta=-0.25).reshape(-1))
    parts = [ta[:2] @ tq[0], ta[2:] @ tq[2]]
    agree(gmm.grouped_matmul_slice_m(a, q, np.array([2, 2, 6])), torch.cat([part.reshape(-1) for part in parts]))
    parts = [ta[:, :3] @ tb[:3], ta[:, 3:] @ tb[3:]]
    memory = a.T.reshape(6, 8)
    agree(gmm.grouped_matmul_slice_k(memory, b, np.array([3, 8])), torch.cat([part.reshape(-1) for part in parts]))


def test_quantised_products_agree_with_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    a, b, stack = bytes_(4, 90), bytes_(90, 3), bytes_(2, 90, 3)
    ta, tb, ts = (torch.from_numpy(item).to(torch.int32) for item in (a, b, stack))
    scale, token = RNG.random((2, 3)), RNG.random((2, 4))
    s, t = torch.from_numpy(scale), torch.from_numpy(token)
    assert_close(gmm.quant_matmul(a, b, scale[0], token[0]), ((ta @ tb).double() * s[0] * t[0][:, None]).numpy())
    rows = [(ta[:1] @ ts[0]).double() * s[0] * t[0][:1, None], (ta[1:] @ ts[1]).double() * s[1] * t[0][1:, None]]
    got = gmm.grouped_matmul_slice_m_per_token_dequant(a, stack, scale, token[0], np.array([1, 4]))
    assert_close(got, torch.cat([row.reshape(-1) for row in rows]).numpy())
    inner = [
        (ta[:, :40] @ tb[:40]).double() * s[0] * t[0][:, None],
        (ta[:, 40:] @ tb[40:]).double() * s[1] * t[1][:, None],
    ]
    memory = a.T.reshape(4, 90)
    got = gmm.grouped_matmul_slice_k_per_token_dequant(memory, b, scale, token, np.array([40, 90]))
    assert_close(got, torch.cat([part.reshape(-1) for part in inner]).numpy())
