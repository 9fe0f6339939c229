"""Classes of unusual floating-point values, put among ordinary ones.

A value keeps the sign of the one whose place it takes, so that an operator defined for positive numbers sees no
negative ones. ``large`` and ``tiny`` are spread evenly over the powers of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.nouns import DType

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["sprinkle"]

#: How many of the values give way, and over how many powers of two the new ones are spread.
_SHARE = 0.25
_OCTAVES = 8


def sprinkle(rng: np.random.Generator, values: Array, dtype: DType, name: str, limit: float | None) -> Array:
    """``values`` with about a quarter of them, and at least one, of the class ``name`` (see ``values.VALUE_CLASSES``).

    ``limit`` is the largest magnitude, None for the class's own. ValueError for integers, which have no such values.
    """
    if dtype.is_exact:
        raise ValueError(f"{dtype.value} has no {name} values")
    mixed = np.array(values, order="C")
    real = mixed.view(_component(dtype).numpy()) if dtype.is_complex else mixed
    flat: NDArray[Any] = real.reshape(-1)
    if not flat.size:
        return mixed
    chosen = rng.random(flat.size) < _SHARE
    chosen[rng.integers(flat.size)] = True
    places = np.flatnonzero(chosen)
    magnitudes = _magnitudes(rng, places.size, _component(dtype), name, limit)
    signs = np.signbit(flat[places].astype(np.float64)) | (name == "negative_zero")
    flat[places] = np.where(signs, -magnitudes, magnitudes).astype(flat.dtype)
    return mixed


def _component(dtype: DType) -> DType:
    """The type of the real and imaginary parts."""
    return {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(dtype, dtype)


def _magnitudes(
    rng: np.random.Generator, count: int, dtype: DType, name: str, limit: float | None
) -> NDArray[np.float64]:
    """Non-negative values of the class, in double precision and representable in ``dtype`` up to rounding."""
    import ml_dtypes

    # NumPy's own `finfo` refuses bfloat16.
    finfo: Any = ml_dtypes.finfo
    info = finfo(dtype.numpy())
    normal, largest = float(info.smallest_normal), float(info.max)
    if name == "large":
        top = min(limit or largest, largest)
        return np.minimum(top * 2.0 ** (-_OCTAVES * rng.random(count)), top)
    if name == "tiny":
        top = min(limit or normal * 2.0**_OCTAVES, largest)
        return np.maximum(top * 2.0 ** (-_OCTAVES * rng.random(count)), normal)
    if name == "denormal":
        return np.maximum(normal * rng.random(count), float(info.smallest_subnormal))
    values = {"negative_zero": 0.0, "infinite": np.inf, "nan": np.nan}
    return np.full(count, values[name])
