from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import comparison

RNG = np.random.default_rng(11)
PAIRS = [(comparison.less, operator.lt, "lt"), (comparison.less_equal, operator.le, "le")]
TYPES = ["float16", "float32", "int8", "uint8", "int32", "int64"]

Reference = Callable[[Any, Any], Any]


def operands(dtype: str) -> Any:
    """Two arrays full of equal and neighbouring values, the ends of integer types among them."""
    if dtype.startswith("float"):
        return RNG.choice([-0.0, 0.0, 1.0, np.nextafter(np.dtype(dtype).type(1), 2)], size=(2, 200)).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.choice(np.array([info.min, info.min + 1, 0, 1, info.max], dtype), size=(2, 200))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("reference", "python", "_"), PAIRS)
def test_order_one_by_one(reference: Reference, python: Reference, _: str, dtype: str) -> None:
    a, b = operands(dtype)
    y = reference(a, b)
    assert y.dtype == np.bool_
    assert y.tolist() == [python(p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]


def test_special_values_follow_ieee() -> None:
    a = np.array([-0.0, np.nan, 1.0, -np.inf, np.inf, np.inf])
    b = np.array([0.0, np.nan, np.nan, np.inf, np.inf, -np.inf])
    assert comparison.less(a, b).tolist() == [False, False, False, True, False, False]
    assert comparison.less_equal(a, b).tolist() == [True, False, False, True, True, False]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("reference", "_", "name"), PAIRS)
def test_order_agrees_with_torch(reference: Reference, _: Any, name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = operands(dtype)
    assert np.array_equal(reference(a, b), getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)).numpy())
