"""Matrix products on the cube core: every pair of element types, any sizes, against sums in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.cubes import CUBE
from tests.twin.running import Twin

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

AIC = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);\nif (GetBlockIdx() != 0) return;\n"
#: Several products of one kernel: sizes come from `dims`, operands and results lie one after the other.
SEVERAL = (
    AIC
    + """
Cube cube;
GlobalTensor<int32_t> sizes = Gm<int32_t>(dims);
uint32_t at_a = 0, at_b = 0, at_c = 0;
for (int i = 0; i < {count}; ++i) {{
    uint32_t m = sizes.GetValue(3 * i), n = sizes.GetValue(3 * i + 1), k = sizes.GetValue(3 * i + 2);
    cube.Fractals(cube.a1.Get<{T}>(), Gm<{T}>(a)[at_a], m, k);
    cube.Fractals(cube.b1.Get<{T}>(), Gm<{T}>(b)[at_b], k, n, sizeof({T}) == 1 ? 32 : 16);
    cube.Left<{T}>(m, k);
    cube.Right<{T}>(k, n);
    cube.Multiply<{C}, {T}>(m, n, k);
    cube.Out<{C}, {C}>(Gm<{C}>(y)[at_c], m, n);
    at_a += m * k, at_b += k * n, at_c += m * n;
}}
"""
)
TYPES = {
    "half": (np.dtype(np.float16), "float", DType.FLOAT32),
    "bfloat16_t": (np.dtype(ml_dtypes.bfloat16), "float", DType.FLOAT32),
    "float": (np.dtype(np.float32), "float", DType.FLOAT32),
    "int8_t": (np.dtype(np.int8), "int32_t", DType.INT32),
}


def operands(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, int]) -> Array:
    if dtype == np.int8:
        return rng.integers(-128, 128, shape, dtype=np.int8)
    return rng.uniform(-2, 2, shape).astype(dtype)


@pytest.mark.parametrize("name", list(TYPES))
def test_products_of_any_size_are_sums_of_products(twin: Twin, name: str) -> None:
    dtype, result, result_dtype = TYPES[name]
    rng = np.random.default_rng(len(name))
    step = 32 if dtype == np.int8 else 1
    dims = [(2, 1, 1), (16, 16, 16), (128, 256 // dtype.itemsize, 64), (33, 7, 70)]
    dims += [tuple(rng.integers(2, 100, 3)) for _ in range(8)]
    dims = [(m, -(-n // step) * step, k) for m, n, k in dims]
    left = [operands(rng, dtype, (m, k)) for m, _, k in dims]
    right = [operands(rng, dtype, (k, n)) for _, n, k in dims]
    inputs = {
        "a": np.concatenate([matrix.ravel() for matrix in left]),
        "b": np.concatenate([matrix.ravel() for matrix in right]),
        "dims": np.array(dims, np.int32),
    }
    size = sum(m * n for m, n, _ in dims)
    body = SEVERAL.format(count=len(dims), T=name, C=result)
    done = twin.run(body, inputs, {"y": ((size,), result_dtype)}, before=CUBE, block=None)
    got, at = np.asarray(done.output()), 0
    for (m, n, k), a, b in zip(dims, left, right, strict=True):
        exact = a.astype(np.float64) @ b.astype(np.float64)
        mine = got[at : at + m * n].reshape(m, n)
        bound = k * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
        assert np.all(np.abs(mine - exact) <= bound), (m, n, k)
        at += m * n
    assert not done.diagnostics
