"""Objects that multiply matrices, in all their forms, against products in float64."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from npukb_twin.compile.build import source_root
from npukernelbench.nouns import DType
from tests.twin.running import Finished, Twin

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

_DEF = (source_root() / "include" / "twin" / "tiling_structs.def").read_text(encoding="utf-8")
FIELDS = re.findall(r"NPUKB_TILING_FIELD\(int32_t, (\w+)\)", _DEF[_DEF.index("BEGIN(TCubeTiling)") :])

BEFORE = """
#include "lib/matmul_intf.h"
template <typename T>
__aicore__ inline GlobalTensor<T> Of(GM_ADDR address) {
    GlobalTensor<T> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return g;
}
__aicore__ inline TCubeTiling TilingOf(GM_ADDR p) {
    TCubeTiling t;
    auto g = Of<int32_t>(p);
    for (uint32_t i = 0; i < sizeof(t) / 4; ++i) reinterpret_cast<int32_t*>(&t)[i] = g.GetValue(i);
    return t;
}
"""
#: An object for matrices in layouts of choice; `at` reads the numbers behind its tiling.
OBJECT = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::GM, CubeFormat::{layout_a}, {a}, true>;
using B = MatmulType<TPosition::GM, CubeFormat::{layout_b}, {a}, true>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, {c}>;
using Bias = MatmulType<TPosition::GM, CubeFormat::ND, {bias}>;
TCubeTiling t = TilingOf(p);
auto told = Of<int32_t>(p);
auto at = [&](int i) {{ return told.GetValue(64 + i); }};
TPipe pipe;
Matmul<A, B, C, Bias> mm;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
"""
#: One object, told everything by numbers: how it runs, which matrix is transposed, whether there is a bias.
BODY = (
    OBJECT.replace("{layout_a}", "ND").replace("{layout_b}", "ND")
    + """
mm.SetTensorA(Of<{a}>(a), at(1));
mm.SetTensorB(Of<{a}>(b), at(2));
if (at(3)) mm.SetBias(Of<{bias}>(bias));
if (at(4)) mm.SetTail(at(4), at(5), at(6));
if (at(7)) mm.SetQuantScalar(static_cast<uint64_t>(static_cast<uint32_t>(at(7))) | (1ull << 46));
if (at(8)) mm.SetQuantVector(Of<uint64_t>(scales));
auto out = Of<{c}>(y);
if (at(0) == 0) {{
    mm.IterateAll(out, at(9));
}} else if (at(0) == 1) {{
    while (mm.Iterate()) mm.GetTensorC(out, at(9));
}} else if (at(0) == 2) {{
    auto aside = Of<{c}>(space);
    mm.SetWorkspace(aside);
    mm.template Iterate<false>();
    int down = (t.singleCoreM + t.baseM - 1) / t.baseM, across = (t.singleCoreN + t.baseN - 1) / t.baseN;
    int blocks = down * across;
    for (int i = 0; i < blocks; ++i) mm.template GetTensorC<false>(out);
}} else if (at(0) == 3) {{
    mm.template IterateAll<false>(out, 0, false, true);
    mm.WaitIterateAll();
}}
mm.End();
"""
)


def tiling(m: int, n: int, k: int, **changes: int) -> dict[str, int]:
    """Small base blocks, so that there are several of them."""
    values = {
        "usedCoreNum": 1, "M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": m, "singleCoreN": n, "singleCoreK": k,
        "baseM": min(ceil(m / 16) * 16, 48), "baseN": min(ceil(n / 16) * 16, 64), "baseK": 64,
        "depthA1": 1, "depthB1": 1, "stepM": 1, "stepN": 1, "stepKa": 1, "stepKb": 1, "dbL0A": 2, "dbL0B": 2,
        "dbL0C": 1,
    }  # fmt: skip
    return values | changes


def numbers(values: Mapping[str, int], *told: int) -> Array:
    """The tiling as the kernel reads it, and what else it is told."""
    words = np.zeros(96, np.int32)
    words[: len(FIELDS)] = [values.get(name, 0) for name in FIELDS]
    words[64 : 64 + len(told)] = told
    return words


@dataclass(frozen=True)
class Types:
    """Element types of a multiplication as C++ and as NumPy know them."""

    a: str
    c: str
    bias: str

    def numpy(self, which: str) -> Any:
        return NUMPY[getattr(self, which)]


BF16 = DType.BFLOAT16.numpy()
NUMPY = {"half": np.float16, "float": np.float32, "bfloat16_t": BF16, "int8_t": np.int8, "int32_t": np.int32}
OUT = {
    "half": DType.FLOAT16, "float": DType.FLOAT32, "bfloat16_t": DType.BFLOAT16, "int8_t": DType.INT8,
    "int32_t": DType.INT32,
}  # fmt: skip
PLAIN = [
    Types("half", "float", "float"),
    Types("half", "half", "half"),
    Types("bfloat16_t", "bfloat16_t", "float"),
    Types("float", "float", "float"),
    Types("int8_t", "int32_t", "int32_t"),
]
HALF_ULP = {"half": 2.0**-11, "bfloat16_t": 2.0**-8, "float": 2.0**-24, "int32_t": 0.0}


def matrix(rng: np.random.Generator, dtype: Any, *shape: int) -> Array:
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-127, 128, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)


def run(
    twin: Twin, types: Types, a: Array, b: Array, shape: tuple[int, int], told: tuple[int, ...], values: dict[str, int],
    bias: Array | None = None, scales: Array | None = None, body: str = BODY, before: str = BEFORE,
) -> Finished:  # fmt: skip
    rows, columns = shape
    inputs = {
        "p": numbers(values, *told),
        "a": a,
        "b": b,
        "bias": bias if bias is not None else np.zeros(8, types.numpy("bias")),
        "scales": scales if scales is not None else np.zeros(4, np.uint64).view(np.int64),
    }
    outputs = {"y": ((rows, columns), OUT[types.c]), "space": ((4 * rows * columns + 65536,), OUT[types.c])}
    return twin.run(body.format(a=types.a, c=types.c, bias=types.bias), inputs, outputs, before=before)


def agrees(actual: Array, a: Array, b: Array, types: Types, bias: Any = 0) -> None:
    """Within what single precision sums and one rounding can differ by."""
    left, right = a.astype(np.float64), b.astype(np.float64)
    exact = left @ right + bias
    slack = (left.shape[1] + 2) * 2.0**-24 * (np.abs(left) @ np.abs(right) + np.abs(bias))
    if types.a == "int8_t":
        slack = 0.0 * exact
    # Below the least normal half, numbers stand equally far apart.
    finest = 2.0**-25 if types.c == "half" else 0.0
    bound = slack + np.maximum((np.abs(exact) + slack) * HALF_ULP[types.c], finest)
    error = np.abs(np.asarray(actual).astype(np.float64) - exact)
    assert (error <= bound).all(), (error - bound).max()


@pytest.mark.parametrize("types", PLAIN, ids=lambda t: f"{t.a}-{t.c}")
def test_products_of_every_kind_and_way(twin: Twin, types: Types) -> None:
    rng = np.random.default_rng(5)
    for way in range(4):
        for turned_a, turned_b, order in (((0, 0, 0), (1, 1, 1)), ((1, 0, 1), (0, 1, 0)))[way % 2]:
            m, n, k = (int(x) for x in rng.integers(1, 150, 3))
            a, b = matrix(rng, types.numpy("a"), m, k), matrix(rng, types.numpy("a"), k, n)
            bias = matrix(rng, types.numpy("bias"), n)
            stored = (np.ascontiguousarray(a.T) if turned_a else a, np.ascontiguousarray(b.T) if turned_b else b)
            values = tiling(m, n, k, isBias=1, iterateOrder=order)
            done = run(twin, types, *stored, (m, n), (way, turned_a, turned_b, 1), values, bias)
            agrees(done.output(), a, b, types, bias.astype(np.float64))
            assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]


@pytest.mark.parametrize(
    "config",
    ["CFG_MDL", "CFG_IBSHARE_NORM", "GetMDLConfig(false, false, 2)", "GetSpecialMDLConfig()", "GetIBShareNormConfig()"],
)
def test_a_configuration_decides_how_but_not_what(twin: Twin, config: str) -> None:
    rng = np.random.default_rng(8)
    types = PLAIN[0]
    a, b = matrix(rng, np.float16, 100, 333), matrix(rng, np.float16, 333, 90)
    usual = run(twin, types, a, b, (100, 90), (1,), tiling(100, 90, 333)).output()
    values = tiling(100, 90, 333, stepKa=2, stepKb=2, depthA1=2, depthB1=2)
    body = BODY.replace("Bias> mm;", "Bias, kConfig> mm;")
    before = f"{BEFORE}constexpr MatmulConfig kConfig = {config};\n"
    done = run(twin, types, a, b, (100, 90), (1,), values, body=body, before=before)
    assert np.array_equal(done.output(), usual)
    assert not done.diagnostics


#: A block of a product comes into the unified buffer while the next one is computed, asked for in one of these ways.
FETCHES = {
    "waited for": "mm.AsyncGetTensorC(block); mm.WaitGetTensorC();",
    "put aside": """auto left = i == 0 ? mm.GetTensorC() : mm.template GetTensorC<false>();
    DataCopy(block, left, 48 * 64);""",
}
AHEAD = "mm.template Iterate<false>();"
FETCH = """
TBuf<TPosition::VECCALC> held;
pipe.InitBuffer(held, 48 * 64 * 4);
auto block = held.Get<float>();
auto aside = Of<float>(space);
mm.SetWorkspace(aside);
AHEAD
for (int i = 0; i < 2; ++i) {{
    BLOCK
    PipeBarrier<PIPE_ALL>();
    DataCopy(out[i * 64], block, DataCopyParams(48, 8, 0, 8));
    PipeBarrier<PIPE_ALL>();
}}
mm.End();
"""


def fetched(twin: Twin, a: Array, b: Array, way: str, ahead: str = AHEAD) -> Finished:
    body = BODY.partition("if (at(0) == 0) {{")[0] + FETCH.replace("AHEAD", ahead).replace("BLOCK", FETCHES[way])
    return run(twin, PLAIN[0], a, b, (48, 128), (), tiling(48, 128, 96), body=body)


@pytest.mark.parametrize("way", FETCHES)
def test_blocks_are_fetched_into_the_unified_buffer(twin: Twin, way: str) -> None:
    rng = np.random.default_rng(9)
    a, b = matrix(rng, np.float16, 48, 96), matrix(rng, np.float16, 96, 128)
    agrees(fetched(twin, a, b, way).output(), a, b, PLAIN[0])


def test_no_block_is_there_before_anything_was_computed(twin: Twin) -> None:
    done = fetched(twin, np.ones((48, 96), np.float16), np.ones((96, 128), np.float16), "put aside", ahead="")
    assert "nothing was computed ahead" in done.errors[0].message


def test_part_of_a_matrix(twin: Twin) -> None:
    rng = np.random.default_rng(1)
    types = PLAIN[0]
    a, b = matrix(rng, np.float16, 70, 90), matrix(rng, np.float16, 90, 110)
    done = run(twin, types, a, b, (70, 110), (1, 0, 0, 0, 50, 33, 17), tiling(70, 110, 90))
    actual = done.output()
    agrees(actual[:50, :33], a[:50, :17], b[:17, :33], types)


def test_the_same_bits_by_any_way(twin: Twin) -> None:
    rng = np.random.default_rng(2)
    types = PLAIN[0]
    a, b = matrix(rng, np.float16, 100, 333), matrix(rng, np.float16, 333, 90)
    outputs = [run(twin, types, a, b, (100, 90), (way,), tiling(100, 90, 333)).output() for way in range(4)]
    assert all(np.array_equal(outputs[0], output) for output in outputs[1:])


def test_adding_to_what_is_there(twin: Twin) -> None:
    rng = np.random.default_rng(3)
    types = Types("half", "float", "float")
    a, b = matrix(rng, np.float16, 40, 32), matrix(rng, np.float16, 32, 48)
    body = BODY.replace("mm.End();", "mm.IterateAll(out, 1);\nmm.End();")
    done = run(twin, types, a, b, (40, 48), (), tiling(40, 48, 32), body=body)
    agrees(done.output(), 2 * a, b, types)


def scale_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def test_integers_become_halves(twin: Twin) -> None:
    rng = np.random.default_rng(4)
    types = Types("int8_t", "half", "int32_t")
    a, b = matrix(rng, np.int8, 33, 64), matrix(rng, np.int8, 64, 50)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    done = run(twin, types, a, b, (33, 50), (0, 0, 0, 0, 0, 0, 0, scale_bits(0.0078125)), tiling(33, 50, 64))
    assert np.array_equal(done.output(), (exact * np.float32(0.0078125)).astype(np.float16))
    factors = np.array([2.0 ** -(5 + i % 8) for i in range(50)], np.float32)
    scales = factors.view(np.uint32).astype(np.int64)
    done = run(twin, types, a, b, (33, 50), (1, 0, 0, 0, 0, 0, 0, 0, 1), tiling(33, 50, 64), scales=scales)
    assert np.array_equal(done.output(), (exact * factors).astype(np.float16))


@pytest.mark.parametrize("source", ["int8_t", "half"])
def test_results_of_eight_bits(twin: Twin, source: str) -> None:
    rng = np.random.default_rng(6)
    types = Types(source, "int8_t", "int32_t" if source == "int8_t" else "float")
    scale = 2.0**-9 if source == "int8_t" else 32.0
    a, b = matrix(rng, NUMPY[source], 20, 40), matrix(rng, NUMPY[source], 40, 30)
    done = run(twin, types, a, b, (20, 30), (0, 0, 0, 0, 0, 0, 0, scale_bits(scale)), tiling(20, 30, 40))
    exact = a.astype(np.float64) @ b.astype(np.float64) * scale
    off = np.abs(done.output().astype(np.float64) - np.clip(np.rint(exact), -128, 127))
    assert off.max() <= (0 if source == "int8_t" else 1)


def fractals(stored: Array, lanes: int) -> Array:
    """A matrix as columns of fractals: 16 rows of `lanes` elements each."""
    rows, columns = (ceil(stored.shape[0] / 16) * 16, ceil(stored.shape[1] / lanes) * lanes)
    full = np.zeros((rows, columns), stored.dtype)
    full[: stored.shape[0], : stored.shape[1]] = stored
    return np.ascontiguousarray(full.reshape(rows, columns // lanes, lanes).transpose(1, 0, 2))


FORMATS = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::GM, CubeFormat::NZ, half, true>;
using B = MatmulType<TPosition::GM, CubeFormat::NZ, half, true>;
using C = MatmulType<TPosition::GM, CubeFormat::{c}, float>;
constexpr MatmulConfig split = [] {{ auto c = CFG_NORM; c.isEnableChannelSplit = {split}; return c; }}();
TCubeTiling t = TilingOf(p);
auto told = Of<int32_t>(p);
TPipe pipe;
Matmul<A, B, C, C, split> mm;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
mm.SetTensorA(Of<half>(a), told.GetValue(64));
mm.SetTensorB(Of<half>(b), told.GetValue(65));
mm.IterateAll(Of<float>(y));
mm.End();
"""


@pytest.mark.parametrize(("layout", "split"), [("ND", 0), ("NZ", 0), ("NZ", 1)])
def test_fractal_layouts(twin: Twin, layout: str, split: int) -> None:
    rng = np.random.default_rng(7)
    body = FORMATS.format(c=layout, split="true" if split else "false").replace("constexpr", "static constexpr", 1)
    m, n, k = 48, 80, 64
    for turned_a, turned_b in ((0, 0), (1, 1)):
        a, b = matrix(rng, np.float16, m, k), matrix(rng, np.float16, k, n)
        stored = fractals(a.T if turned_a else a, 16), fractals(b.T if turned_b else b, 16)
        inputs = {"p": numbers(tiling(m, n, k), turned_a, turned_b), "a": stored[0], "b": stored[1]}
        actual = twin.run(body, inputs, {"y": ((m * n,), DType.FLOAT32)}, before=BEFORE).output()
        lanes = 8 if split else 16
        if layout == "NZ":
            actual = actual.reshape(n // lanes, m, lanes).transpose(1, 0, 2)
        agrees(actual.reshape(m, n), a, b, PLAIN[0])


LOCAL = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::VECOUT, CubeFormat::ND, half>;
using B = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using C = MatmulType<TPosition::VECIN, CubeFormat::{format}, float>;
TCubeTiling t = TilingOf(p);
TPipe pipe;
Matmul<A, B, C> mm;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
TQue<TPosition::VECIN, 1> in;
TQue<TPosition::VECOUT, 1> left;
TBuf<TPosition::VECIN> sums;
pipe.InitBuffer(in, 1, 32 * 32 * 2);
pipe.InitBuffer(left, 1, 32 * 32 * 2);
pipe.InitBuffer(sums, 32 * 64 * 4);
LocalTensor<half> x = in.AllocTensor<half>();
DataCopy(x, Of<half>(a), 32 * 32);
in.EnQue(x);
x = in.DeQue<half>();
LocalTensor<half> l = left.AllocTensor<half>();
Muls(l, x, static_cast<half>(2), 32 * 32);
left.EnQue(l);
l = left.DeQue<half>();
mm.SetTensorA(l);
mm.SetTensorB(Of<half>(b));
LocalTensor<float> c = sums.Get<float>();
mm.IterateAll(c);
mm.End();
left.FreeTensor(l);
in.FreeTensor(x);
DataCopy(Of<float>(y), c, 32 * {width});
"""


@pytest.mark.parametrize(("layout", "columns", "width"), [("ND", 64, 64), ("ND_ALIGN", 61, 64)])
def test_matrices_in_the_unified_buffer(twin: Twin, layout: str, columns: int, width: int) -> None:
    rng = np.random.default_rng(8)
    a, b = matrix(rng, np.float16, 32, 32), matrix(rng, np.float16, 32, columns)
    inputs = {"p": numbers(tiling(32, columns, 32)), "a": a, "b": b}
    body = LOCAL.format(format=layout, width=width)
    actual = twin.run(body, inputs, {"y": ((32, width), DType.FLOAT32)}, before=BEFORE).output()
    agrees(actual[:, :columns], 2 * a, b, PLAIN[0])


SUMS = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using B = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, float>;
TCubeTiling t = TilingOf(p);
TPipe pipe;
matmul::Matmul<A, B, C> mm, vector;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t, vector, &t);
for (int k = 0; k < 4; ++k) {
    mm.SetTensorA(Of<half>(a)[16 * k]);
    mm.SetTensorB(Of<half>(b)[16 * k * 32]);
    mm.SetTail(-1, -1, 16);
    mm.Iterate(k != 0);
}
mm.GetTensorC(Of<float>(y));
mm.End();
vector.SetTensorA(static_cast<half>(1));
vector.SetTensorB(Of<half>(b));
vector.SetSingleShape(1, 32, 64);
vector.IterateAll(Of<float>(z));
vector.End();
"""


def test_sums_that_go_on_and_matrices_of_one_value(twin: Twin) -> None:
    rng = np.random.default_rng(9)
    a, b = matrix(rng, np.float16, 32, 64), matrix(rng, np.float16, 64, 32)
    outputs = {"y": ((32, 32), DType.FLOAT32), "z": ((32,), DType.FLOAT32)}
    done = twin.run(SUMS, {"p": numbers(tiling(32, 32, 64)), "a": a, "b": b}, outputs, before=BEFORE)
    agrees(done.output(), a, b, PLAIN[0])
    agrees(done.output("z")[np.newaxis], np.ones((1, 64), np.float16), b, PLAIN[0])


BATCH = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::{layout}>;
using B = MatmulType<TPosition::GM, CubeFormat::ND, half, true, LayoutMode::{layout}>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::{out}>;
using Bias = MatmulType<TPosition::GM, CubeFormat::ND, float>;
TCubeTiling t = TilingOf(p);
auto told = Of<int32_t>(p);
TPipe pipe;
static constexpr MatmulConfig config = GetNormalConfig(false, true, false, BatchMode::BATCH_LESS_THAN_L1);
Matmul<A, B, C, Bias, config> mm;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
mm.Init(&t);
mm.SetTensorA(Of<half>(a));
mm.SetTensorB(Of<half>(b), true);
if (t.isBias) mm.SetBias(Of<float>(bias));
if (told.GetValue(64) == 0) {{
    mm.IterateBatch(Of<float>(y), told.GetValue(65), told.GetValue(66), false);
}} else {{
    auto aside = Of<float>(y);
    mm.SetWorkspace(aside);
    mm.IterateNBatch(told.GetValue(64), told.GetValue(65), told.GetValue(66), false);
}}
mm.End();
"""


def layout(which: str, b: int, s: int, n: int, g: int, d: int) -> dict[str, int]:
    last = ("S1", "S2") if which == "C" else ("S", "D")
    return {
        f"{which}LayoutInfo{axis}": v
        for axis, v in zip(("B", last[0], "N", "G", last[1]), (b, s, n, g, d), strict=True)
    }


def run_batch(
    twin: Twin, names: tuple[str, str], told: tuple[int, int, int], values: dict[str, int], a: Array, b: Array,
    bias: Array, size: int,
) -> Array:  # fmt: skip
    inputs = {"p": numbers(values, *told), "a": a, "b": b, "bias": bias}
    body = BATCH.format(layout=names[0], out=names[1])
    return twin.run(body, inputs, {"y": ((size,), DType.FLOAT32)}, before=BEFORE).output()


@pytest.mark.parametrize("batch_b", [6, 2])
def test_batches_one_after_the_other(twin: Twin, batch_b: int) -> None:
    rng = np.random.default_rng(10)
    m, n, k = 20, 30, 40
    a, b = matrix(rng, np.float16, 6, m, k), matrix(rng, np.float16, batch_b, n, k)
    bias = matrix(rng, np.float32, 6, n)
    values = tiling(m, n, k, isBias=1)
    actual = run_batch(twin, ("NORMAL", "NORMAL"), (0, 6, batch_b), values, a, b, bias, 6 * m * n).reshape(6, m, n)
    for i in range(6):
        agrees(actual[i], a[i], b[i * batch_b // 6].T, PLAIN[0], bias[i].astype(np.float64))


@pytest.mark.parametrize(("loops", "out"), [(0, "BNGS1S2"), (2, "BNGS1S2"), (0, "BSNGD")])
def test_batches_that_are_interleaved(twin: Twin, loops: int, out: str) -> None:
    rng = np.random.default_rng(11)
    heads, s1, s2, d = 4, 24, 40, 16
    a, b = matrix(rng, np.float16, s1, heads, d), matrix(rng, np.float16, s2, heads, d)
    values = tiling(s1, s2, d) | layout("A", 1, s1, 1, heads, d) | layout("B", 1, s2, 1, heads, d)
    values |= layout("C", 1, s1, 1, heads, s2)
    each = heads // max(loops, 1)
    size = heads * s1 * s2
    actual = run_batch(twin, ("BSNGD", out), (loops, each, each), values, a, b, np.zeros(8, np.float32), size)
    shaped = actual.reshape(heads, s1, s2) if out == "BNGS1S2" else actual.reshape(s1, heads, s2).transpose(1, 0, 2)
    for head in range(heads):
        agrees(shaped[head], a[:, head], b[:, head].T, PLAIN[0])


def test_groups_that_add_up(twin: Twin) -> None:
    rng = np.random.default_rng(12)
    groups, s1, s2, d = 3, 16, 32, 16
    a, b = matrix(rng, np.float16, s1, groups, d), matrix(rng, np.float16, s2, groups, d)
    values = tiling(s1, s2, d) | layout("A", 1, s1, 1, groups, d) | layout("B", 1, s2, 1, groups, d)
    values |= layout("C", 1, s1, 1, 1, s2)
    told = (0, groups, groups)
    actual = run_batch(twin, ("BSNGD", "BNGS1S2"), told, values, a, b, np.zeros(8, np.float32), s1 * s2)
    agrees(actual.reshape(s1, s2), a.reshape(s1, -1), b.reshape(s2, -1).T, PLAIN[0])
