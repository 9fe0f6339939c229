from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.nouns import DType, TensorCase, TensorShape, ValueSpec
from npukernelbench.tasks.inputs import draw
from npukernelbench.tasks.special import sprinkle
from npukernelbench.tasks.values import VALUE_CLASSES

FLOATS = [DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64]


def finfo(dtype: DType) -> Any:
    return ml_dtypes.finfo(dtype.numpy())  # type: ignore[no-untyped-call]


def sprinkled(dtype: DType, name: str, limit: float | None = None, low: float = 1.0) -> Any:
    rng = np.random.default_rng(5)
    values = rng.uniform(low, 2.0, size=(40, 25)).astype(dtype.numpy())
    mixed = sprinkle(rng, values, dtype, name, limit)
    assert (mixed.dtype, mixed.shape) == (values.dtype, values.shape)
    wide = mixed.astype(np.float64).reshape(-1)
    changed = mixed.reshape(-1).view(f"u{dtype.itemsize}") != values.reshape(-1).view(f"u{dtype.itemsize}")
    assert 0.1 < changed.mean() < 0.4
    return wide[changed]


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_class_holds_what_its_name_says(dtype: DType) -> None:
    info = finfo(dtype)
    large = sprinkled(dtype, "large")
    assert np.isfinite(large).all()
    assert (large >= float(info.max) / 2**9).all()
    assert sprinkled(dtype, "large", 500.0).max() <= 500.0
    tiny = sprinkled(dtype, "tiny")
    assert ((tiny >= float(info.smallest_normal)) & (tiny <= float(info.smallest_normal) * 2**8)).all()
    denormal = sprinkled(dtype, "denormal")
    assert ((denormal > 0) & (denormal <= float(info.smallest_normal))).all()
    assert (denormal < float(info.smallest_normal)).mean() > 0.9
    zeros = sprinkled(dtype, "negative_zero")
    assert (zeros == 0).all()
    assert np.signbit(zeros).all()
    assert np.isposinf(sprinkled(dtype, "infinite")).all()
    assert np.isnan(sprinkled(dtype, "nan")).all()


@pytest.mark.parametrize("name", ["large", "tiny", "denormal", "infinite"])
def test_signs_are_kept(name: str) -> None:
    both = sprinkled(DType.FLOAT32, name, low=-2.0)
    assert (both > 0).any()
    assert (both < 0).any()


def test_a_limit_beyond_the_type_is_its_largest_number() -> None:
    assert np.isfinite(sprinkled(DType.FLOAT16, "large", 1e15)).all()


@pytest.mark.parametrize("name", VALUE_CLASSES)
def test_a_single_element_gives_way_and_none_is_none(name: str) -> None:
    rng = np.random.default_rng(1)
    array = np.full((1,), 1.5, np.float32)
    assert sprinkle(rng, array, DType.FLOAT32, name, None).tobytes() != array.tobytes()
    assert sprinkle(rng, np.empty((0, 3), np.float16), DType.FLOAT16, name, None).shape == (0, 3)


def test_complex_values_have_unusual_parts() -> None:
    rng = np.random.default_rng(2)
    mixed = sprinkle(rng, np.full((50,), 1.5 - 1.5j, np.complex64), DType.COMPLEX64, "large", 1e6)
    assert (np.abs(mixed.real) > 1e3).any()
    assert (mixed.imag < -1e3).any()
    assert (mixed.real == 1.5).any()


def test_integers_have_no_unusual_values() -> None:
    with pytest.raises(ValueError, match="int32 has no nan values"):
        sprinkle(np.random.default_rng(3), np.zeros(4, np.int32), DType.INT32, "nan", None)


def test_the_generator_wraps_another_and_repeats() -> None:
    spec = ValueSpec("special", {"of": "uniform", "of.low": 1.0, "of.high": 2.0, "class": "large", "limit": 64.0})
    tensor = TensorCase(TensorShape((300,), DType.FLOAT32), spec)
    values = draw(tensor, 7)
    assert np.array_equal(values, draw(tensor, 7))
    assert not np.array_equal(values, draw(tensor, 8))
    assert ((values >= 0.25) & (values <= 64)).all()
    assert (values > 2).any()
