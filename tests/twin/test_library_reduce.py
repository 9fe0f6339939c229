"""Row and axis reductions, cumulative sums and selection by bytes of the high-level library, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.models import same
from tests.twin.running import Twin

SETUP = """
TPipe pipe;
TBuf<TPosition::VECCALC> bx, by, bl, bt;
pipe.InitBuffer(bx, 16384);
pipe.InitBuffer(by, 16384);
pipe.InitBuffer(bl, 4096);
pipe.InitBuffer(bt, 4096);
LocalTensor<{t}> a = bx.Get<{t}>(), d = by.Get<{t}>(), last = bl.Get<{t}>();
LocalTensor<uint8_t> tmp = bt.Get<uint8_t>();
GlobalTensor<{t}> gx, gy;
gx.SetGlobalBuffer((__gm__ {t}*)x);
gy.SetGlobalBuffer((__gm__ {t}*)y);
DataCopy(a, gx, {n});
"""


def run(twin: Twin, dtype: DType, x: np.ndarray, calls: list[str], out: int, before: str = "") -> np.ndarray:
    """The first ``out`` elements of ``d`` after each call."""
    block = 32 // dtype.itemsize
    room = (out + block - 1) // block * block
    text = "".join(f"{call}\nDataCopy(gy[{index * room}], d, {room});\n" for index, call in enumerate(calls))
    body = SETUP.format(t=dtype.ascend_c, n=x.size) + text
    done = twin.run(body, {"x": x}, {"y": ((len(calls), room), dtype)}, before=before)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())[:, :out]


def tree(row: np.ndarray, kind: type[np.floating]) -> float:
    """A sum as ReduceSum makes it: a binary tree in each repeat, repeats one after the other."""
    lanes = 256 // np.dtype(kind).itemsize
    total = None
    for first in range(0, len(row), lanes):
        values = np.zeros(lanes, kind)
        part = row[first : first + lanes].astype(kind)
        values[: len(part)] = part
        while len(values) > 1:
            values = values[0::2] + values[1::2]
        total = values[0] if total is None else total + values[0]
    assert total is not None
    return float(total)


@pytest.mark.parametrize("n", [5, 64, 300])
def test_sum_and_mean_of_rows(twin: Twin, dtype: DType, n: int) -> None:
    block = 32 // dtype.itemsize
    rows, inner = 5, (n + block - 1) // block * block
    kind = dtype.numpy().type
    x = np.random.default_rng(n).normal(0, 3, (rows, inner)).astype(kind)
    shape = f"{{{rows}, {inner}, {n}}}"
    t = dtype.ascend_c
    calls = [
        f"Sum(d, a, tmp, SumParams{shape});",
        f"Sum<{t}, -1, false>(d, a, SumParams{shape});",
        f"Mean(d, a, tmp, MeanParams{shape});",
        f"Mean<{t}, {t}, false, false, -1>(d, a, MeanParams{shape});",
        f"Mean<{t}, float>(d, a, tmp, MeanParams{shape});",
    ]
    actual = run(twin, dtype, x, calls, rows)
    sums = np.array([tree(row[:n], kind) for row in x], kind)
    wide = np.array([tree(row[:n], np.float32) for row in x], np.float32)
    mean = (sums.astype(np.float32) / np.float32(n)).astype(kind)
    for index, wanted in enumerate([sums, sums, mean, mean, (wide / np.float32(n)).astype(kind)]):
        assert same(actual[index], wanted), calls[index]


@pytest.mark.parametrize("columns", [16, 13])
def test_reductions_by_pattern(twin: Twin, columns: int) -> None:
    """Sum, mean, extremes and product of floats over the last axis (AR) and over the first (RA)."""
    rows, stride = 7, 16
    x = np.random.default_rng(columns).normal(0, 2, (rows, stride)).astype(np.float32)
    used = x[:, :columns]
    one = np.float32(1)
    column_sum, product, row_product = np.zeros(columns, np.float32), one, one
    for row in used:
        column_sum, product = column_sum + row, product * row
    for column in used.T:
        row_product = row_product * column
    row_sum = np.array([tree(row, np.float32) for row in used], np.float32)
    wanted = {
        "Sum": (row_sum, column_sum),
        "Mean": (row_sum / np.float32(columns), column_sum / np.float32(rows)),
        "Max": (used.max(1), used.max(0)),
        "Min": (used.min(1), used.min(0)),
        "Prod": (row_product, product),
    }
    shape = f"uint32_t shape[2] = {{{rows}, {columns}}};"
    for axis, pattern in enumerate(("AR", "RA")):
        calls = [f"Reduce{name}<float, Pattern::Reduce::{pattern}>(d, a, tmp, shape, true);" for name in wanted]
        calls += [
            f"DataCopy(a, gx, {x.size});\n"
            f"Reduce{name}<float, AscendC::Pattern::Reduce::{pattern}, true>(d, a, shape, true);"
            for name in wanted
        ]
        calls[0] = f"{shape}\n{calls[0]}"
        out = (rows, columns)[axis]
        actual = run(twin, DType.FLOAT32, x, calls, out)
        for index, call in enumerate(calls):
            assert same(actual[index], list(wanted.values())[index % len(wanted)][axis]), call


@pytest.mark.parametrize("dtype", [DType.UINT8, DType.FLOAT32])
def test_any_and_all(twin: Twin, dtype: DType) -> None:
    rng = np.random.default_rng(3)
    x = (rng.integers(0, 2, (6, 32)) * rng.integers(0, 2, (6, 1))).astype(dtype.numpy())
    x[2] = 1
    t = dtype.ascend_c
    calls = [
        f"Reduce{name}<{t}, Pattern::Reduce::{pattern}>(d, a, tmp, shape, true);"
        for pattern in ("AR", "RA")
        for name in ("Any", "All")
    ]
    calls[0] = f"uint32_t shape[2] = {{6, 32}};\n{calls[0]}"
    actual = run(twin, dtype, x, calls, 32)
    truth = [x.any(1), x.all(1), x.any(0), x.all(0)]
    for index, wanted in enumerate(np.asarray(array) for array in truth):
        assert (actual[index][: wanted.size] == wanted).all(), calls[index]


def test_extremes_of_halfs(twin: Twin) -> None:
    x = np.random.default_rng(4).normal(0, 2, (4, 32)).astype(np.float16)
    calls = [
        "uint32_t shape[2] = {4, 32};\nReduceMax<half, Pattern::Reduce::AR>(d, a, shape, true);",
        "ReduceMin<half, Pattern::Reduce::RA>(d, a, tmp, shape, true);",
    ]
    actual = run(twin, DType.FLOAT16, x, calls, 32)
    assert same(actual[0][:4], x.max(1))
    assert same(actual[1], x.min(0))


def test_sum_of_exclusive_or(twin: Twin) -> None:
    """Bits that differ, added up within int16_t."""
    a, b = np.random.default_rng(7).integers(-200, 200, (2, 96)).astype(np.int16)
    x = np.concatenate([a, b])
    calls = [
        "ReduceXorSum(d, a, a[96], tmp, 96);",
        "ReduceXorSum<int16_t, false>(d, a, a[96], 90);",
        "Duplicate(a, (int16_t)-1, 96);\nDuplicate(a[96], (int16_t)0x7fff, 96);\nReduceXorSum(d, a, a[96], 96);",
    ]
    actual = run(twin, DType.INT16, x, calls, 1)[:, 0]
    assert actual.tolist() == [int((a ^ b).sum()), int((a ^ b)[:90].sum()), -32768]


def test_cumulative_sums(twin: Twin, dtype: DType) -> None:
    x = np.random.default_rng(5).normal(0, 2, (6, 32)).astype(dtype.numpy())
    before = """
    constexpr CumSumConfig rows = {false, false, true};
    constexpr CumSumConfig quiet = {true, false, false};
    """
    t = dtype.ascend_c
    calls = [
        "CumSum(d, last, a, tmp, CumSumInfo{6, 32});",
        f"CumSum<{t}, quiet>(d, last, a, CumSumInfo{{6, 32}});",
        f"CumSum<{t}, rows>(d, last, a, tmp, CumSumInfo{{6, 32}});",
        "PipeBarrier<PIPE_V>();\nDataCopy(d, last, 32);",
    ]
    actual = run(twin, dtype, x, calls, 192, before)
    wide = x.astype(np.float32)
    across = np.cumsum(wide, 1, dtype=np.float32).astype(dtype.numpy())
    down = np.cumsum(wide, 0, dtype=np.float32).astype(dtype.numpy())
    assert same(actual[0].reshape(6, 32), across)
    assert same(actual[1].reshape(6, 32), across)
    assert same(actual[2].reshape(6, 32), down)
    assert same(actual[3][:32], down[-1])


@pytest.mark.parametrize("mask", [DType.BOOL, DType.INT8, DType.UINT16, DType.INT32])
def test_select_by_bytes(twin: Twin, dtype: DType, mask: DType) -> None:
    """Rows of the mask may be longer than those of the source; either operand may be the scalar."""
    rows, width, mask_width = 3, 32, 64
    rng = np.random.default_rng(6)
    x = rng.normal(0, 2, (rows, width)).astype(dtype.numpy())
    m = (rng.integers(0, 2, (rows, mask_width)) * (1 if mask is DType.BOOL else 100)).astype(mask.numpy())
    t, u = dtype.ascend_c, mask.ascend_c
    body = (
        SETUP.format(t=t, n=x.size)
        + f"""
    TBuf<TPosition::VECCALC> bm;
    pipe.InitBuffer(bm, 4096);
    LocalTensor<{u}> lm = bm.Get<{u}>();
    GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer((__gm__ uint8_t*)m);
    DataCopy(lm.ReinterpretCast<uint8_t>(), gm, {m.nbytes});
    SelectWithBytesMaskShapeInfo info;
    info.firstAxis = {rows};
    info.srcLastAxis = {width};
    info.maskLastAxis = {mask_width};
    {t} scalar = ({t})-9.5;
    SelectWithBytesMask<{t}, {u}, false>(d, a, scalar, lm, tmp, info);
    DataCopy(gy, d, {x.size});
    SelectWithBytesMask(a, scalar, a, lm, tmp, info);
    DataCopy(gy[{x.size}], a, {x.size});
    """
    )
    done = twin.run(body, {"x": x, "m": m}, {"y": ((2, rows, width), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    on = m[:, :width] != 0
    scalar = dtype.numpy().type(-9.5)
    first, second = np.asarray(done.output())
    assert same(first, np.where(on, scalar, x))
    assert same(second, np.where(on, x, scalar))


def test_sources_that_may_be_reused_are_spoilt(twin: Twin) -> None:
    """What the template parameters allow a function to overwrite is of no use afterwards."""
    x = np.ones((4, 32), np.float32)
    calls = [
        "DataCopy(a, gx, 128);\nuint32_t shape[2] = {4, 32};\n"
        "ReduceSum<float, Pattern::Reduce::AR, true>(d, a, tmp, shape, true);\nDataCopy(d, a, 128);",
        "DataCopy(a, gx, 128);\nReduceSum<float, Pattern::Reduce::AR>(d, a, tmp, shape, true);\nDataCopy(d, a, 128);",
        "DataCopy(a, gx, 128);\nExp<float, 10, true>(d, a, tmp, 128);\nDataCopy(d, a, 128);",
        "DataCopy(a, gx, 128);\nExp<float, 10>(d, a, tmp, 128);\nDataCopy(d, a, 128);",
    ]
    actual = run(twin, DType.FLOAT32, x, calls, 128)
    assert [bool(np.isnan(row).all()) for row in actual] == [True, False, True, False]
    assert (actual[1::2] == 1).all()


def test_a_mask_of_longer_rows_is_gathered_in_place(twin: Twin) -> None:
    """Unless isReuseMask is false, the mask is not what it was."""
    m = np.random.default_rng(8).integers(0, 2, (2, 64)).astype(np.uint8)
    body = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> bm, bx, bt;
    pipe.InitBuffer(bm, 128);
    pipe.InitBuffer(bx, 256);
    pipe.InitBuffer(bt, 4096);
    LocalTensor<uint8_t> mask = bm.Get<uint8_t>(), tmp = bt.Get<uint8_t>();
    LocalTensor<float> a = bx.Get<float>();
    GlobalTensor<uint8_t> gm, gy;
    gm.SetGlobalBuffer((__gm__ uint8_t*)m);
    gy.SetGlobalBuffer((__gm__ uint8_t*)y);
    SelectWithBytesMaskShapeInfo info;
    info.firstAxis = 2;
    info.srcLastAxis = 32;
    info.maskLastAxis = 64;
    DataCopy(mask, gm, 128);
    Duplicate(a, 1.0f, 64);
    SelectWithBytesMask<float, uint8_t, false>(a, a, 0.0f, mask, tmp, info);
    DataCopy(gy, mask, 128);
    SelectWithBytesMask(a, a, 0.0f, mask, tmp, info);
    DataCopy(gy[128], mask, 128);
    """
    done = twin.run(body, {"m": m}, {"y": ((2, 128), DType.UINT8)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    kept, gathered = np.asarray(done.output())
    assert (kept == m.ravel()).all()
    assert (gathered[:64] == m[:, :32].ravel()).all()
