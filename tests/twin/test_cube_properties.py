"""Properties of the cube core: ways into its memories and out of them undo each other, whatever the sizes, and products
of any sizes, types, layouts and tails are those of double precision.

A kernel is compiled once and run with sizes that it reads from a tensor.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukernelbench.nouns import RunRequest
from tests.twin.cubes import CUBE
from tests.twin.running import Finished, Inputs, Outputs, Twin, task_for
from tests.twin.test_matmul_object import BEFORE, NUMPY, OBJECT, OUT, Types, agrees, fractals, matrix, numbers, tiling

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

ALL = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SIZES = st.integers(1, 70)
BYTES = {"half": 2, "bfloat16_t": 2, "float": 4, "int8_t": 1}


class Prepared:
    """A kernel that is compiled when it is first run, and then run with tensors of any shapes."""

    def __init__(self, twin: Twin, body: str, before: str, block: int | None) -> None:
        self._twin, self._body, self._before, self._block = twin, body, before, block
        self._done: Finished | None = None

    def run(self, inputs: Inputs, outputs: Outputs) -> Finished:
        if self._done is None:
            done = self._twin.run(self._body, inputs, outputs, before=self._before, block=self._block)
            self._done = done
        else:
            artifact = self._done.compiled.artifact
            assert artifact is not None
            task = task_for(inputs, outputs)
            request = RunRequest(task, task.cases[0], artifact, inputs, 7, 30.0)
            done = replace(self._done, seen=self._twin.executor.run(request))
        assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
        return done


#: x times the identity and the identity times x: what was row-major becomes columns of fractals in L1, rows of fractals
#: in L0A or turned ones in L0B, columns of fractals in L0C, and row-major again. L1 is written out as it is, too.
THERE_AND_BACK = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
if (GetBlockIdx() != 0) return;
Cube cube;
GlobalTensor<int32_t> sizes = Gm<int32_t>(dims);
const uint32_t m = sizes.GetValue(0), k = sizes.GetValue(1), deep = sizeof({T}) == 1 ? 32 : 16;
cube.Fractals(cube.a1.Get<{T}>(), Gm<{T}>(x), m, k);
DataCopy(Gm<{T}>(l1), cube.a1.Get<{T}>(), Up(m, 16) * Up(k, kC0<{T}>));
cube.Fractals(cube.b1.Get<{T}>(), Gm<{T}>(right), k, k, deep);
cube.Left<{T}>(m, k);
cube.Right<{T}>(k, k);
cube.Multiply<{C}, {T}>(m, k, k);
cube.Out<{C}, {C}>(Gm<{C}>(y), m, k);
FixpipeParamsV220 p;
p.nSize = Up(k, 16);
p.mSize = m;
p.srcStride = Up(m, 16);
p.dstStride = 2 * Up(m, 16);
Fixpipe<{C}, {C}, CFG_NZ>(Gm<{C}>(nz), cube.co1.Get<{C}>(), p);
PipeBarrier<PIPE_ALL>();
cube.Fractals(cube.a1.Get<{T}>(), Gm<{T}>(left), m, m);
cube.Fractals(cube.b1.Get<{T}>(), Gm<{T}>(x), m, k, deep);
cube.Left<{T}>(m, m);
cube.Right<{T}>(m, k);
cube.Multiply<{C}, {T}>(m, k, m);
cube.Out<{C}, {C}>(Gm<{C}>(z), m, k);
"""


def rows_of(columns: Array, height: int, lanes: int, shape: tuple[int, int]) -> Array:
    """The matrix whose columns of fractals these are; each is ``height`` rows of ``lanes`` elements."""
    whole: Array = np.asarray(columns).reshape(-1, height, lanes).transpose(1, 0, 2).reshape(height, -1)
    return whole[: shape[0], : shape[1]]


@pytest.mark.parametrize("name", ["half", "bfloat16_t", "float", "int8_t"])
def test_conversions_of_layout_are_undone_by_their_partners(twin: Twin, name: str) -> None:
    dtype: Any = NUMPY[name]
    sums = "int32_t" if name == "int8_t" else "float"
    prepared = Prepared(twin, THERE_AND_BACK.format(T=name, C=sums), CUBE, None)
    lanes = 32 // BYTES[name]

    @ALL
    @given(m=st.integers(2, 70), k=SIZES, seed=st.integers(0, 2**32 - 1))
    def there_and_back(m: int, k: int, seed: int) -> None:
        k = ceil(k / 32) * 32 if name == "int8_t" else k
        x = matrix(np.random.default_rng(seed), dtype, m, k)
        inputs: dict[str, Any] = {"x": x, "left": np.eye(m, dtype=dtype), "right": np.eye(k, dtype=dtype)}
        inputs["dims"] = np.array([m, k], np.int32)
        height, wide = ceil(m / 16) * 16, ceil(k / 16) * 16
        outputs = {
            "l1": ((height * ceil(k / lanes) * lanes,), OUT[name]),
            "y": ((m, k), OUT[sums]),
            "nz": ((height * wide,), OUT[sums]),
            "z": ((m, k), OUT[sums]),
        }
        done = prepared.run(inputs, outputs)
        expected = x.astype(np.int32 if name == "int8_t" else np.float32)
        np.testing.assert_array_equal(rows_of(done.output("l1"), height, lanes, (m, k)), x)
        np.testing.assert_array_equal(done.output("y"), expected)
        np.testing.assert_array_equal(rows_of(done.output("nz"), height, 16, (m, k)), expected)
        np.testing.assert_array_equal(done.output("z"), expected)

    there_and_back()


#: A product of parts of matrices in layouts of choice; numbers tell what is transposed, and which part.
PRODUCT = (
    OBJECT
    + """
mm.SetTensorA(Of<{a}>(a), at(0));
mm.SetTensorB(Of<{a}>(b), at(1));
if (t.isBias) mm.SetBias(Of<{bias}>(bias));
mm.SetTail(at(2), at(3), at(4));
while (mm.Iterate()) mm.GetTensorC(Of<{c}>(y));
mm.End();
"""
)
PRODUCTS = [
    (Types("half", "float", "float"), "ND", "NZ"),
    (Types("half", "half", "half"), "NZ", "ND"),
    (Types("bfloat16_t", "float", "float"), "ND", "ND"),
    (Types("float", "float", "float"), "NZ", "NZ"),
    (Types("int8_t", "int32_t", "int32_t"), "ND", "NZ"),
]


@pytest.mark.parametrize(("types", "layout_a", "layout_b"), PRODUCTS, ids=lambda value: getattr(value, "a", value))
def test_products_of_any_sizes_layouts_and_tails(twin: Twin, types: Types, layout_a: str, layout_b: str) -> None:
    body = PRODUCT.format(layout_a=layout_a, layout_b=layout_b, a=types.a, c=types.c, bias=types.bias)
    prepared = Prepared(twin, body, BEFORE, 0)
    lanes = 32 // BYTES[types.a]

    def stored(values: Array, layout: str, turned: bool) -> Array:
        values = np.ascontiguousarray(values.T) if turned else values
        return fractals(values, lanes) if layout == "NZ" else values

    @ALL
    @given(
        m=SIZES, n=SIZES, k=SIZES, turned=st.tuples(st.booleans(), st.booleans()), bias=st.booleans(),
        order=st.integers(0, 1), part=st.tuples(SIZES, SIZES, SIZES), seed=st.integers(0, 2**32 - 1),
    )  # fmt: skip
    def product(
        m: int, n: int, k: int, turned: tuple[bool, bool], bias: bool, order: int, part: tuple[int, ...], seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        a, b = matrix(rng, NUMPY[types.a], m, k), matrix(rng, NUMPY[types.a], k, n)
        row = matrix(rng, NUMPY[types.bias], n)
        tail = tuple(min(some, all_) for some, all_ in zip(part, (m, n, k), strict=True))
        inputs: dict[str, Any] = {
            "p": numbers(tiling(m, n, k, isBias=int(bias), iterateOrder=order, baseK=32), *map(int, turned), *tail),
            "a": stored(a, layout_a, turned[0]),
            "b": stored(b, layout_b, turned[1]),
            "bias": row,
        }
        actual = prepared.run(inputs, {"y": ((m, n), OUT[types.c])}).output()
        added = row[: tail[1]].astype(np.float64) if bias else 0
        agrees(actual[: tail[0], : tail[1]], a[: tail[0], : tail[2]], b[: tail[2], : tail[1]], types, added)

    product()
