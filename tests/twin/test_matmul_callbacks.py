"""Functions of a kernel that bring a Matmul object's blocks into L1, on cube cores: right ones and broken ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType
from tests.twin.openings import on_cubes, on_matmul
from tests.twin.running import Finished, Twin
from tests.twin.test_matmul_kernels import ALONE, FLOATS
from tests.twin.test_matmul_object import BEFORE, agrees, matrix, numbers, tiling

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

#: A is stored with gaps between its rows: their stride lies behind the tiling's numbers, which the object hands on.
#: B is brought as it lies.
FUNCTIONS = """
__aicore__ inline void Block(const LocalTensor<int8_t>& place, const __gm__ void* gm, int64_t first, int rows,
                             int columns, int stride) {
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)gm + first);
    Nd2NzParams shape;
    shape.ndNum = 1;
    shape.nValue = rows;
    shape.dValue = columns;
    shape.srcNdMatrixStride = 0;
    shape.srcDValue = stride;
    shape.dstNzC0Stride = (rows + 15) / 16 * 16;
    shape.dstNzNStride = 1;
    shape.dstNzMatrixStride = 0;
    DataCopy(place.ReinterpretCast<half>(), from, shape);
}
__aicore__ inline void CopyA(const LocalTensor<int8_t>& place, const __gm__ void* gm, int row, int col, int useM,
                             int useK, const uint64_t tilingPtr, const uint64_t dataPtr) {
    auto told = Of<int32_t>((GM_ADDR)tilingPtr);
    const int stride = told.GetValue(64), baseM = told.GetValue(65), baseK = told.GetValue(66);
    Block(place, gm, int64_t(row) * baseM * stride + col * baseK, useM, useK, stride);
}
__aicore__ inline void CopyB(const LocalTensor<int8_t>& place, const __gm__ void* gm, int row, int col, int useK,
                             int useN, const uint64_t tilingPtr, const uint64_t dataPtr) {
    auto told = Of<int32_t>((GM_ADDR)dataPtr);
    const int stride = told.GetValue(67), baseN = told.GetValue(68), baseK = told.GetValue(66);
    Block(place, gm, int64_t(row) * baseK * stride + col * baseN, useK, useN, stride);
}
"""
KERNEL = f"""{on_cubes("CFG_NORM, MatmulCallBackFunc<nullptr, {functions}>")}
mm.SetUserDefInfo(reinterpret_cast<uint64_t>(p));
mm.SetSelfDefineData(reinterpret_cast<uint64_t>(p));
mm.SetTensorA(Of<half>(a));
mm.SetTensorB(Of<half>(b));
{{before}}
{{calls}}
mm.End();
"""
ALL = "mm.IterateAll(Of<float>(y));"
BOTH = "CopyA, CopyB"
#: Blocks of 32 by 48 over 16 along K, with tails in all three directions.
M, N, K, STRIDE = 90, 70, 56, 64


def run(
    twin: Twin,
    calls: str = ALL,
    *,
    functions: str = BOTH,
    source: str = FUNCTIONS,
    before: str = "",
    bias: Array | None = None,
    **told: int,
) -> tuple[Finished, Array, Array]:
    rng = np.random.default_rng(1)
    a, b = matrix(rng, np.float16, M, STRIDE), matrix(rng, np.float16, K, N)
    values = tiling(M, N, K, baseM=32, baseN=48, baseK=16, **told)
    p = numbers(values, STRIDE, 32, 16, N, 48)
    inputs = {"p": p, "a": a if "CopyA" in functions else np.ascontiguousarray(a[:, :K]), "b": b}
    if bias is not None:
        inputs["bias"] = bias
    body = KERNEL.format(functions=functions, calls=calls, before=before)
    done = twin.run(body, inputs, {"y": ((M, N), DType.FLOAT32)}, before=ALONE + source)
    return done, np.ascontiguousarray(a[:, :K]), b


@pytest.mark.parametrize("functions", [BOTH, "CopyA", "nullptr, CopyB"])
@pytest.mark.parametrize("order", [0, 1])
def test_blocks_are_those_that_functions_bring(twin: Twin, functions: str, order: int) -> None:
    done, a, b = run(twin, functions=functions, iterateOrder=order)
    agrees(done.output(), a, b, FLOATS)


@pytest.mark.parametrize("depth", [1, 2])
def test_block_by_block_and_added_to_what_is_there(twin: Twin, depth: int) -> None:
    calls = (
        f"{ALL}\nSetAtomicAdd<float>();\nwhile (mm.Iterate()) mm.GetTensorC(Of<float>(y));\nSetAtomicNone();"
        f"\nmm.SetTensorA(Of<half>(a));\nmm.Iterate();\nmm.SetTensorB(Of<half>(b));"
    )
    done, a, b = run(twin, calls, depthA1=depth, depthB1=depth)
    agrees(done.output(), 2 * a, b, FLOATS)


def test_a_bias_and_a_smaller_shape(twin: Twin) -> None:
    bias = np.arange(N, dtype=np.float32)
    calls = f"{ALL}\nPipeBarrier<PIPE_ALL>();\nmm.SetTail(40, N, 56);\nmm.ClearBias();\n{ALL}".replace("N", str(N))
    done, a, b = run(twin, calls, before="mm.SetBias(Of<float>(bias));", bias=bias, isBias=1)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    exact[40:] += bias
    np.testing.assert_allclose(np.asarray(done.output()), exact, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        # What is asked for are numbers of blocks, not of rows.
        ("int64_t(row) * baseM * stride", "int64_t(row) * stride", "wrong"),
        # Nothing is brought.
        ("DataCopy(place", "if (stride < 0) DataCopy(place", "wrong"),
        # The block is as wide as it is asked for.
        ("shape.dValue = columns", "shape.dValue = columns + 16", "past_tensor"),
        # A place in L1 is the object's: its memory is not the function's to keep.
        ("shape.dstNzC0Stride = (rows + 15) / 16 * 16", "shape.dstNzC0Stride = 16384", "out_of_bounds"),
        ("shape.nValue = rows", "shape.nValue = rows + 200", "illegal_read"),
    ],
)
def test_broken_functions(twin: Twin, old: str, new: str, rule: str) -> None:
    assert FUNCTIONS.count(old) == 1
    done, a, b = run(twin, source=FUNCTIONS.replace(old, new))
    if rule == "wrong":
        assert not np.allclose(np.asarray(done.output()), a.astype(np.float64) @ b.astype(np.float64), atol=0.1)
    else:
        assert rule in {said.rule for said in done.diagnostics}, done.diagnostics


def test_the_full_checker_finds_the_order_of_blocks_right() -> None:
    twin = Twin(TwinExecutor(TwinArgs(checker=Checker.FULL)))
    for depth in (1, 2):
        done, a, b = run(twin, depthA1=depth, depthB1=depth)
        assert not done.diagnostics
        agrees(done.output(), a, b, FLOATS)
    twin.executor.close()


@pytest.mark.parametrize("functions", ["CopyA", "nullptr, CopyB"])
def test_a_mixed_kernel_has_no_such_functions(twin: Twin, functions: str) -> None:
    declared = f"Matmul<A, A, C, C, CFG_NORM, MatmulCallBackFunc<nullptr, {functions}>> mm;"
    opening = on_matmul("MIX_AIC_1_1", registered=False).replace("Matmul<A, A, C> mm;", declared)
    zeros = np.zeros((16, 16), np.float16)
    inputs = {"p": numbers(tiling(16, 16, 16)), "a": zeros, "b": zeros}
    done = twin.run(f"{opening}mm.End();\n", inputs, before=BEFORE + FUNCTIONS)
    assert {error.rule for error in done.errors} == {"unsupported_api"}
