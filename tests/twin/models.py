"""NumPy models of vector instructions, and the ways arrays are compared with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.nouns import DType

Array = NDArray[Any]


def _wide(*arrays: Array) -> list[Array]:
    """Half operands compute in float32 and round once; other types compute as they are."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def _relu(x: Array) -> Array:
    return np.where((x > 0) | np.isnan(x), x, 0).astype(x.dtype) if x.dtype.kind == "f" else np.maximum(x, 0)


def _max(a: Array, b: Array) -> Array:
    return np.where((a > b) | (a != a), a, b)


def _min(a: Array, b: Array) -> Array:
    return np.where((a < b) | (a != a), a, b)


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Exp": lambda x: np.exp(x.astype(np.float64)).astype(np.float32),
    "Ln": lambda x: np.log(x.astype(np.float64)).astype(np.float32),
    "Not": np.invert,
    "Reciprocal": lambda x: (np.float32(1) / x).astype(np.float32),
    "Relu": _relu,
    "Rsqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(np.float32),
    "Sqrt": np.sqrt,
}
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "Add": lambda a, b: a + b,
    "And": np.bitwise_and,
    "Div": lambda a, b: a / b,
    "Max": _max,
    "Min": _min,
    "Mul": lambda a, b: a * b,
    "Or": np.bitwise_or,
    "Sub": lambda a, b: a - b,
    "AddRelu": lambda a, b: a + b,
    "SubRelu": lambda a, b: a - b,
}
#: The two factors and the summand, out of what dst held and the sources. The product is rounded before the sum is.
ACCUMULATE: Mapping[str, Callable[[Array, Array, Array, Array], tuple[Array, Array, Array]]] = {
    "Axpy": lambda d, a, b, s: (a, s, d),
    "FusedMulAdd": lambda d, a, b, s: (a, d, b),
    "MulAddDst": lambda d, a, b, s: (a, b, d),
    "MulAddRelu": lambda d, a, b, s: (a, d, b),
}
SHIFT: Mapping[str, Callable[[Array, Array], Array]] = {"ShiftLeft": np.left_shift, "ShiftRight": np.right_shift}
SCALAR: Mapping[str, Callable[[Array, Array], Array]] = {
    "Adds": lambda a, s: a + s,
    "LeakyRelu": lambda a, s: np.where(a > 0, a, a * s),
    "Maxs": _max,
    "Mins": _min,
    "Muls": lambda a, s: a * s,
}


def expected(name: str, d: Array, a: Array, b: Array, s: Array) -> Array:
    """What ``name`` writes where the destination held ``d``; ``s`` is a scalar of the element type."""
    with np.errstate(all="ignore"):
        if name in UNARY:
            return np.asarray(UNARY[name](*_wide(a))).astype(a.dtype)
        if name in ACCUMULATE:
            array, other, third = (x.astype(np.float32) for x in ACCUMULATE[name](d, a, b, s))
            product = np.asarray(array * other).astype(d.dtype).astype(np.float32)
            result = np.asarray(product + third).astype(d.dtype)
            return _relu(result) if name.endswith("Relu") else result
        if name in SHIFT:
            return np.asarray(SHIFT[name](a, s)).astype(a.dtype)
        if name in BINARY:
            result = np.asarray(BINARY[name](*_wide(a, b))).astype(a.dtype)
            return _relu(result) if name.endswith("Relu") else result
        if name == "LeakyRelu":
            scaled = np.asarray(np.multiply(*_wide(a, s))).astype(a.dtype)
            return np.where(np.signbit(a), scaled, a)
        return np.asarray(SCALAR[name](*_wide(a, s))).astype(a.dtype)


def samples(dtype: DType, n: int, seed: int) -> Array:
    """``n`` values of a type: ordinary ones, and at the start those that break things."""
    rng = np.random.default_rng(seed)
    if dtype.is_exact:
        info = np.iinfo(dtype.value)
        values = rng.integers(info.min, info.max, n, dtype=dtype.value, endpoint=True)
        values[:4] = [info.min, info.max, 0, 1]
        return np.asarray(values)
    values = rng.normal(0, 4, n)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-6, -1e-6, 6e4, -6e4, 1e30, 1e-40]
    rng.shuffle(special)
    values[: len(special)] = special
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(dtype.numpy()))


def tree(values: Array) -> Array:
    """Sum over the last axis as the hardware adds: neighbours first, in the element type."""
    while values.shape[-1] > 1:
        values = (values[..., 0::2] + values[..., 1::2]).astype(values.dtype)
    return np.asarray(values[..., 0])


def same(actual: Array, wanted: Array, ulps: int = 0) -> bool:
    """Equal bit for bit, NaN counting as NaN, or within that many units in the last place."""
    a, w = np.asarray(actual), np.asarray(wanted)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, w))
    integer = {2: np.int16, 4: np.int32}[a.dtype.itemsize]
    ordered = [
        np.where(
            x.view(integer) < 0,
            -(x.view(integer).astype(np.int64) & (2 ** (8 * x.itemsize - 1) - 1)),
            x.view(integer).astype(np.int64),
        )
        for x in (a, w)
    ]
    nan = np.isnan(a) & np.isnan(w)
    return bool((nan | (np.abs(ordered[0] - ordered[1]) <= ulps)).all())
