from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.reference import math as elementwise
from tests.reference.plain import assert_closest, each

RNG = np.random.default_rng(13)


UNARY: list[tuple[Callable[[Any], Any], Callable[[float], float], str, tuple[float, float]]] = [
    (elementwise.sin, math.sin, "sin", (-10.0, 10.0)),
    (elementwise.cos, math.cos, "cos", (-10.0, 10.0)),
    (elementwise.tanh, math.tanh, "tanh", (-6.0, 6.0)),
    (elementwise.rsqrt, lambda t: 1 / math.sqrt(t), "rsqrt", (0.1, 100.0)),
    (elementwise.negate, lambda t: -t, "neg", (-4.0, 4.0)),
]


@pytest.mark.parametrize(("reference", "scalar", "_", "bounds"), UNARY)
def test_functions_of_one_tensor(
    reference: Callable[[Any], Any], scalar: Callable[[float], float], _: str, bounds: tuple[float, float]
) -> None:
    x = RNG.uniform(*bounds, size=(3, 5, 7))
    assert_closest(reference(x), each(scalar, x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("reference", "_", "name", "bounds"), UNARY)
def test_functions_of_one_tensor_agree_with_torch(
    reference: Callable[[Any], Any], _: Any, name: str, bounds: tuple[float, float], dtype: str
) -> None:
    torch = pytest.importorskip("torch")
    x = RNG.uniform(*bounds, size=(3, 70)).astype(dtype)
    expected = getattr(torch, name)(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(
        reference(x.astype(np.float64)), expected, rtol=1e-12 if dtype == "float64" else 1e-6, atol=1e-7
    )


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_negation_of_integers_keeps_their_type(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.max, -info.max, 0, 5], dtype)
    y = elementwise.negate(x)
    assert (y.dtype.name, y.tolist()) == (dtype, [-info.max, info.max, 0, -5])


def dilogarithm(z: float) -> float:
    """Li2 for -9 <= z <= 1 from its series, after moving ``z`` to where that converges fast."""
    if z > 0.5:
        return math.pi**2 / 6 - math.log(z) * math.log1p(-z) - dilogarithm(1 - z)
    if z < -0.5:
        return -0.5 * math.log1p(-z) ** 2 - dilogarithm(z / (z - 1))
    return math.fsum(z**k / k**2 for k in range(1, 80))


def test_spence_against_the_series() -> None:
    x = RNG.uniform(0.001, 10.0, size=200)
    np.testing.assert_allclose(elementwise.spence(x), each(lambda t: dilogarithm(1 - t), x), rtol=1e-12, atol=1e-14)
    ends = elementwise.spence(np.array([0.0, 1.0, 2.0, -1.0]))
    assert_closest(ends[[0, 2]], [math.pi**2 / 6, -(math.pi**2) / 12])
    assert ends[1] == 0
    assert math.isnan(ends[3])


def test_spence_is_its_integral() -> None:
    integrate = pytest.importorskip("scipy.integrate")
    for x in (0.2, 0.9, 1.5, 8.0):
        value, _ = integrate.quad(lambda t: -1.0 if t == 1 else math.log(t) / (1 - t), 1.0, x)
        assert_closest(elementwise.spence(np.array(x)), value, 1e-8)


def test_second_half_negated() -> None:
    x = RNG.normal(size=(2, 1, 3, 5))
    y = elementwise.negate_second_half(x)
    for place in np.ndindex(*x.shape):
        assert y[place] == (x[place] if place[-1] < 2 else -x[place])
    assert np.array_equal(elementwise.negate_second_half(x[..., :4])[..., 2:], -x[..., 2:4])


def test_second_half_negated_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = RNG.normal(size=(2, 3, 4, 7))
    first, second = torch.from_numpy(x).split([3, 4], dim=-1)
    assert np.array_equal(elementwise.negate_second_half(x), torch.cat([first, -second], dim=-1).numpy())


def test_ternary_operators_in_exact_arithmetic() -> None:
    a, b, c = RNG.integers(-20, 20, size=(3, 11)) / 8
    c = np.abs(c) + 0.5
    value = np.array(0.75)
    exact = [[Fraction(item) for item in row] for row in zip(a, b, c, strict=True)]
    assert_closest(elementwise.addcmul(a, b, c, value), [float(p + Fraction(3, 4) * q * r) for p, q, r in exact])
    assert_closest(elementwise.addcdiv(a, b, c, value), [float(p + Fraction(3, 4) * q / r) for p, q, r in exact])
    assert_closest(elementwise.lerp(a, b, c), [float(p + r * (q - p)) for p, q, r in exact])
    assert elementwise.addcmul(a, b, c, value.reshape(1)).shape == (11,)


def test_integer_addcmul_keeps_its_type_and_wraps() -> None:
    x = np.array([2**31 - 1, -5], np.int32)
    ones, value = np.ones(2, np.int32), np.array(3, np.int32)
    y = elementwise.addcmul(x, ones, ones, value)
    assert (y.dtype.name, y.tolist()) == ("int32", [-(2**31) + 2, -2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_ternary_operators_agree_with_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    whole = dtype == "int32"
    a, b, c = (RNG.integers(1, 100, size=(3, 40)) if whole else RNG.uniform(0.5, 2.5, size=(3, 40))).astype(dtype)
    wide = dtype if whole else "float64"
    p, q, r = (item.astype(wide) for item in (a, b, c))
    t, u, v = (torch.from_numpy(item) for item in (a, b, c))
    value = np.array(3, wide)
    assert_closest(elementwise.addcmul(p, q, r, value), torch.addcmul(t, u, v, value=3).numpy(), 1e-6)
    if not whole:
        assert_closest(elementwise.addcdiv(p, q, r, value), torch.addcdiv(t, u, v, value=3).numpy(), 1e-6)
        weight = RNG.uniform(size=40).astype(dtype)
        expected = torch.lerp(t, u, torch.from_numpy(weight)).numpy()
        assert_closest(elementwise.lerp(p, q, weight.astype(wide)), expected, 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_clipping(dtype: str) -> None:
    x = RNG.integers(-10, 10, size=60).astype(dtype)
    low, high = np.array([-3], dtype), np.array([4], dtype)
    y = elementwise.clip_by_value(x, low, high)
    assert y.dtype == x.dtype
    assert y.tolist() == [min(max(t, -3), 4) for t in x.tolist()]
    torch = pytest.importorskip("torch")
    assert np.array_equal(y, torch.clamp(torch.from_numpy(x), torch.from_numpy(low), torch.from_numpy(high)).numpy())


def test_complex_products() -> None:
    x, y = (RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4)) for _ in range(2))
    z = elementwise.complex_mat_dot(x, y, 3, 4)
    for place in np.ndindex(3, 4):
        a, b = complex(x[place]), complex(y[place])
        assert_closest(z[place], complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real), 1e-12)
    with pytest.raises(ValueError, match="are not 4 x 3"):
        elementwise.complex_mat_dot(x, y, 4, 3)
    torch = pytest.importorskip("torch")
    assert_closest(z, (torch.from_numpy(x) * torch.from_numpy(y)).numpy())


#: Element types by number, with how Python converts to them.
CASTS: dict[int, tuple[str, Callable[[Any], Any]]] = {
    0: ("float32", float),
    1: ("float16", float),
    2: ("int8", int),
    3: ("int32", int),
    4: ("uint8", int),
    6: ("int16", int),
    9: ("int64", int),
    12: ("bool", bool),
    27: ("bfloat16", float),
}


@pytest.mark.parametrize("code", CASTS)
def test_casts_one_by_one(code: int) -> None:
    name, convert = CASTS[code]
    x = np.array([0.0, -0.0, 0.25, 1.5, 2.75, 100.0] if name == "uint8" else [0.0, 0.25, -0.75, -1.5, 2.75, -100.0])
    y = elementwise.cast(x, code)
    assert y.tolist() == [convert(t) for t in x.tolist()]
    assert y.dtype.name == (name if np.dtype(y.dtype).kind in "iub" else "float64")
    flags = elementwise.cast(np.array([True, False]), code)
    assert flags.tolist() == [convert(True), convert(False)]


def test_casts_between_integers_keep_the_low_bits_and_unknown_types_are_refused() -> None:
    assert elementwise.cast(np.array([200, -129, 5], np.int32), 2).tolist() == [-56, 127, 5]
    with pytest.raises(ValueError, match="number 5"):
        elementwise.cast(np.zeros(1), 5)


@pytest.mark.parametrize("source", ["float16", "float32", "int32", "int8", "uint8", "bool", "int64", "int16"])
@pytest.mark.parametrize("code", CASTS)
def test_casts_agree_with_torch(code: int, source: str) -> None:
    torch = pytest.importorskip("torch")
    name, _ = CASTS[code]
    values = RNG.uniform(0, 127, size=50)
    x = (values > 60) if source == "bool" else values.astype(source)
    expected = torch.from_numpy(x).to(getattr(torch, name))
    y = elementwise.cast(x.astype(np.float64) if x.dtype.kind == "f" else x, code)
    wide = expected.to(torch.float32).numpy() if name == "bfloat16" else expected.numpy()
    rounded = y.astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    assert np.array_equal(rounded.astype(wide.dtype), wide)
