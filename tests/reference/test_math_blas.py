from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import math_blas

RNG = np.random.default_rng(14)
#: Elements of the vector, how many count, how far apart.
VIEWS = [(20, 20, 1), (20, 13, 1), (20, 7, 3), (20, 1, 5), (19, 7, 3)]


def real(size: int) -> Any:
    return RNG.normal(size=size).astype(np.float32).astype(np.float64)


def cplx(size: int) -> Any:
    return (RNG.normal(size=size) + 1j * RNG.normal(size=size)).astype(np.complex64).astype(np.complex128)


def ranked(x: Any, n: int, incx: int, pick: Callable[..., float]) -> int:
    """The number of the first element of largest or smallest magnitude, as a loop finds it."""
    sizes = []
    for i in range(n):
        t = x[i * incx]
        sizes.append(float(np.float32(abs(t.real) + abs(t.imag))))
    return sizes.index(pick(sizes)) + 1


@pytest.mark.parametrize(("size", "n", "incx"), VIEWS)
def test_sums_and_norms(size: int, n: int, incx: int) -> None:
    x = real(size)
    chosen = [float(x[i * incx]) for i in range(n)]
    assert math_blas.sasum(x, n, incx).shape == math_blas.snrm2(x, n, incx).shape == ()
    assert math.isclose(math_blas.sasum(x, n, incx).item(), math.fsum(map(abs, chosen)), rel_tol=1e-14)
    norm = math.sqrt(math.fsum(t * t for t in chosen))
    assert math.isclose(math_blas.snrm2(x, n, incx).item(), norm, rel_tol=1e-14)


@pytest.mark.parametrize(("size", "n", "incx"), VIEWS)
def test_where_the_extremes_are(size: int, n: int, incx: int) -> None:
    x, z = real(size), cplx(size)
    for reference, vector, pick in (
        (math_blas.isamax, x, max),
        (math_blas.isamin, x, min),
        (math_blas.icamax, z, max),
        (math_blas.icamin, z, min),
    ):
        place = reference(vector, n, incx)
        assert (place.shape, place.dtype.name) == ((), "int32")
        assert place.item() == ranked(vector, n, incx, pick)


def test_of_equal_extremes_the_first_counts() -> None:
    x = np.array([2.0, -3.0, 3.0, -1.0, 1.0])
    assert (math_blas.isamax(x, 5, 1).item(), math_blas.isamin(x, 5, 1).item()) == (2, 4)
    z = np.array([1 - 1j, 3 - 4j, -4 + 3j, 7j, 0.5 - 1.5j, 2 + 0j, 1 + 0.5j, 1.5])
    assert (math_blas.icamax(z, 8, 1).item(), math_blas.icamin(z, 8, 1).item()) == (2, 7)


def test_sums_of_complex_parts_tie_where_float32_says_so() -> None:
    tiny = 2.0**-30
    z = np.array([1 + tiny * 1j, 1 + 2 * tiny * 1j])
    assert math_blas.icamax(z, 2, 1).item() == 1
    z = np.array([1 + 2 * tiny * 1j, 1 + tiny * 1j])
    assert math_blas.icamin(z, 2, 1).item() == 1


@pytest.mark.parametrize(("size", "n", "incx"), VIEWS)
def test_scaling_in_place_leaves_the_rest_alone(size: int, n: int, incx: int) -> None:
    x = real(size)
    before = x.copy()
    y = math_blas.sscal(x, 1.2, n, incx)
    alpha = float(np.float32(1.2))
    touched = {i * incx for i in range(n)}
    assert y.tolist() == [t * alpha if k in touched else t for k, t in enumerate(before.tolist())]
    assert np.array_equal(x, before)


@pytest.mark.parametrize("incy", [1, 4])
@pytest.mark.parametrize(("size", "n", "incx"), VIEWS)
def test_copies_are_strided_on_both_sides(size: int, n: int, incx: int, incy: int) -> None:
    z = cplx(size)
    y = math_blas.ccopy(z, n, incx, incy)
    expected = [0j] * ((n - 1) * incy + 1)
    for i in range(n):
        expected[i * incy] = complex(z[i * incx])
    assert y.tolist() == expected


def test_a_copy_reads_any_rank_row_by_row() -> None:
    z = cplx(12).reshape(3, 4)
    assert np.array_equal(math_blas.ccopy(z, 12, 1, 1), z.reshape(-1))
    with pytest.raises(ValueError, match="incy"):
        math_blas.ccopy(z, 12, 1, 0)


@pytest.mark.parametrize(("n", "incx"), [(0, 1), (11, 1), (4, 0), (4, -1), (5, 3)])
def test_vectors_must_hold_what_is_asked_for(n: int, incx: int) -> None:
    with pytest.raises(ValueError, match="10 elements"):
        math_blas.sasum(np.zeros(10), n, incx)


def test_agreement_with_scipy() -> None:
    blas = pytest.importorskip("scipy.linalg.blas")
    x, z = real(50), cplx(50)
    assert math.isclose(math_blas.sasum(x, 50, 1).item(), blas.dasum(x), rel_tol=1e-14)
    assert math.isclose(math_blas.snrm2(x, 50, 1).item(), blas.dnrm2(x), rel_tol=1e-14)
    assert math_blas.isamax(x, 50, 1).item() == blas.isamax(x.astype(np.float32)) + 1
    assert math_blas.icamax(z, 50, 1).item() == blas.icamax(z.astype(np.complex64)) + 1
    assert math_blas.sscal(x, 0.5, 50, 1).tolist() == blas.dscal(0.5, x.copy()).tolist()
    assert math_blas.ccopy(z, 50, 1, 1).tolist() == blas.zcopy(z, np.zeros_like(z)).tolist()
    assert math_blas.isamax(x, 17, 2).item() == blas.isamax(x.astype(np.float32), n=17, incx=2) + 1


@pytest.mark.parametrize(("size", "n", "incx"), VIEWS)
def test_agreement_with_torch(size: int, n: int, incx: int) -> None:
    torch = pytest.importorskip("torch")
    x, z = real(size), cplx(size)
    t = torch.from_numpy(x)[::incx][:n]
    u = torch.from_numpy(z)[::incx][:n]
    parts = (u.real.abs() + u.imag.abs()).float()
    assert math.isclose(math_blas.sasum(x, n, incx).item(), t.abs().sum().item(), rel_tol=1e-13)
    assert math.isclose(math_blas.snrm2(x, n, incx).item(), torch.linalg.vector_norm(t).item(), rel_tol=1e-13)
    assert math_blas.isamax(x, n, incx).item() == torch.argmax(t.abs()).item() + 1
    assert math_blas.isamin(x, n, incx).item() == torch.argmin(t.abs()).item() + 1
    assert math_blas.icamax(z, n, incx).item() == torch.argmax(parts).item() + 1
    assert math_blas.icamin(z, n, incx).item() == torch.argmin(parts).item() + 1
    assert np.array_equal(math_blas.sscal(x, 0.5, n, incx)[::incx][:n], (0.5 * t).numpy())
    assert np.array_equal(math_blas.ccopy(z, n, incx, 1), u.numpy())
