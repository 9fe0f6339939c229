"""Transpose, TransDataTo5HD, Broadcast, Pad, UnPad and the intrinsics behind them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from npukernelbench.nouns import DType
from tests.twin.running import Twin
from tests.twin.test_api_convert import load

BYTES = (DType.INT8, DType.UINT8)
HALVES = (DType.INT16, DType.UINT16, DType.FLOAT16)
#: How TransDataTo5HD is told where its blocks lie, besides by tensors.
WAYS = ("addresses", "tensor of addresses", "pointers", "registers")
WORDS = (DType.INT32, DType.UINT32, DType.FLOAT32)


def run(twin: Twin, dtype: DType, n: int, body: str, n_out: int | None = None) -> tuple[NDArray[np.generic], ...]:
    """``body`` with n elements in l_a and room for them in l_y, which begins full of ones."""
    t, n_out = dtype.ascend_c, n_out or n
    a = np.arange(n).astype(dtype.numpy())
    source = f"""TPipe pipe;
    {load(t, "a", n)}
    TBuf<TPosition::VECCALC> b_y, b_tmp;
    pipe.InitBuffer(b_y, {n_out} * sizeof({t}));
    pipe.InitBuffer(b_tmp, 32768);
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    LocalTensor<uint8_t> tmp = b_tmp.Get<uint8_t>();
    Duplicate(l_y.template ReinterpretCast<int16_t>(), (int16_t)0x0101, {n_out} * sizeof({t}) / 2);
    GlobalTensor<{t}> gy;
    gy.SetGlobalBuffer((__gm__ {t}*)y);
    {body}
    DataCopy(gy, l_y, {n_out});"""
    done = twin.run(source, {"a": a}, {"y": ((n_out,), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return a, np.asarray(done.output())


@pytest.mark.parametrize("dtype", HALVES)
def test_sixteen_by_sixteen(twin: Twin, dtype: DType) -> None:
    """By the plain form, in place, and through the intrinsic."""
    t = dtype.ascend_c
    a, y = run(
        twin,
        dtype,
        256,
        f"""Transpose(l_y, l_a);
        Transpose(l_y[256], l_y);
        Transpose(l_y[256], l_y[256]);
        vtranspose((__ubuf__ {t}*)l_y[512].GetPhyAddr(), (__ubuf__ {t}*)l_a.GetPhyAddr());""",
        768,
    )
    wanted = a.reshape(16, 16).T.reshape(-1)
    assert np.array_equal(y, np.concatenate([wanted] * 3))


@pytest.mark.parametrize("dtype", [*BYTES, *HALVES, *WORDS])
def test_images(twin: Twin, dtype: DType) -> None:
    """Channels last and back, over a batch."""
    n, c, h, w = 2, 3, 4, 8
    size = n * c * h * w
    a, y = run(
        twin,
        dtype,
        size,
        f"""TransposeParamsExt last({n}, {c}, {h}, {w}, TransposeType::TRANSPOSE_NCHW2NHWC), first = last;
        first.transposeType = TransposeType::TRANSPOSE_NHWC2NCHW;
        Transpose(l_y, l_a, tmp, last);
        Transpose(l_y[{size}], l_y, tmp, first);""",
        2 * size,
    )
    assert np.array_equal(y[:size], a.reshape(n, c, h, w).transpose(0, 2, 3, 1).reshape(-1))
    assert np.array_equal(y[size:], a)


def transposed(dtype: DType, blocks: NDArray[np.generic]) -> NDArray[np.generic]:
    """Sixteen blocks as TransDataTo5HD leaves them: 16 columns for 16 bits, two halves of 8 rows for 32."""
    if dtype.itemsize == 2:
        return np.ascontiguousarray(blocks.T)
    return np.ascontiguousarray(blocks.T).reshape(16, 8)


@pytest.mark.parametrize(
    ("dtype", "way"),
    [
        *((dtype, "tensors") for dtype in (*HALVES, *WORDS)),
        *((dtype, way) for dtype in (DType.FLOAT16, DType.FLOAT32) for way in WAYS),
    ],
)
def test_trans_data_to_5hd(twin: Twin, dtype: DType, way: str) -> None:
    """Three repeats: sources follow each other block by block, destinations sixteen blocks apart."""
    t, bits = dtype.ascend_c, 8 * dtype.itemsize
    per, repeats = 32 // dtype.itemsize, 3
    row = per * repeats
    params = f"TransDataTo5HDParams(false, false, {repeats}, 16, 1)"
    fill = "for (int i = 0; i < 16; ++i) {{ d[i] = {0}l_y[i * {2}]{1}; s[i] = {0}l_a[i * {3}]{1}; }}"
    address = fill.format("", ".GetPhyAddr()", per, row)
    call = {
        "tensors": f"""LocalTensor<{t}> d[16], s[16];
            {fill.format("", "", per, row)} TransDataTo5HD<{t}>(d, s, {params});""",
        "addresses": f"uint64_t d[16], s[16]; {address} TransDataTo5HD<{t}>(d, s, {params});",
        "tensor of addresses": f"""uint64_t d[16], s[16]; {address}
            LocalTensor<uint64_t> l_d = tmp.ReinterpretCast<uint64_t>(), l_s = l_d[16];
            for (int i = 0; i < 16; ++i) {{ l_d.SetValue(i, d[i]); l_s.SetValue(i, s[i]); }}
            TransDataTo5HD<{t}>(l_d, l_s, {params});""",
        "pointers": f"""__ubuf__ {t} *d[16], *s[16];
            {fill.format(f"(__ubuf__ {t}*)", ".GetPhyAddr()", per, row)} TransDataTo5HDImpl(d, s, {params});""",
        "registers": f"""uint64_t d[16], s[16]; {address}
            set_va_reg_sb(VA0, d); set_va_reg_sb(VA1, d + 8); set_va_reg_sb(VA4, s); set_va_reg_sb(VA5, s + 8);
            scatter_vnchwconv_b{bits}(VA0, VA4, {repeats}, 16, 1);""",
    }[way]
    a, y = run(twin, dtype, 16 * row, call)
    wanted = [transposed(dtype, a.reshape(16, row)[:, r * per : (r + 1) * per]) for r in range(repeats)]
    assert np.array_equal(y, np.concatenate(wanted).reshape(-1))


@pytest.mark.parametrize("dtype", BYTES)
def test_bytes_fill_one_half_of_a_block(twin: Twin, dtype: DType) -> None:
    """Four calls transpose 16 by 32 bytes and back into halves that the parameters choose."""
    t = dtype.ascend_c
    body = f"LocalTensor<{t}> d[16], s[16];\nfor (int i = 0; i < 16; ++i) s[i] = l_a[32 * i];\n"
    for high in (0, 1):
        for half in (0, 1):
            body += f"for (int i = 0; i < 16; ++i) d[i] = l_y[{512 * high} + 32 * i];\n"
            body += f"TransDataTo5HD<{t}>(d, s, TransDataTo5HDParams({half}, {high}, 1, 0, 0));\n"
    a, y = run(twin, dtype, 512, body, 1024)
    turned = a.reshape(16, 32).T  # [column, row]
    assert np.array_equal(y.reshape(32, 32), np.concatenate([turned, turned], axis=1))


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.FLOAT16, DType.FLOAT32])
@pytest.mark.parametrize("tmp", [", tmp", ""])
def test_broadcast(twin: Twin, dtype: DType, tmp: str) -> None:
    t = dtype.ascend_c
    a, y = run(
        twin,
        dtype,
        64,
        f"""uint32_t d1[] = {{96}}, s1[] = {{1}}, d2[] = {{3, 64}}, s2[] = {{1, 64}}, d3[] = {{8, 32}}, s3[] = {{8, 1}};
        Broadcast<{t}, 1, 0>(l_y, l_a, d1, s1{tmp});
        BroadCast<{t}, 2, 0>(l_y[96], l_a, d2, s2{tmp});
        BroadCast<{t}, 2, 1>(l_y[288], l_a, d3, s3{tmp});""",
        544,
    )
    assert (y[:96] == a[0]).all()
    assert np.array_equal(y[96:288], np.tile(a, 3))
    assert np.array_equal(y[288:544].reshape(8, 32), np.repeat(a[:8], 32).reshape(8, 32))


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.INT32])
def test_pad_and_unpad(twin: Twin, dtype: DType) -> None:
    """Rows of odd length grow on both sides; rows of whole blocks lose what lies behind the real columns; and back."""
    per = 32 // dtype.itemsize
    rows, width = 4, 2 * per
    a, y = run(
        twin,
        dtype,
        rows * width,
        f"""PadTiling odd, even;
        odd.srcHeight = even.srcHeight = {rows};
        odd.srcWidth = odd.srcOriWidth = {width - 3};
        even.srcWidth = {width};
        even.srcOriWidth = {width - 2};
        PadParams both{{1, 2, 9}}, right{{0, 2, -5}};
        Pad(l_y, l_a, both, tmp, odd);
        Pad(l_y[{rows * width}], l_a, right, even);
        UnPadTiling cut;
        cut.srcHeight = {rows};
        cut.srcWidth = {width};
        UnPadParams three{{0, 3}};
        UnPad(l_y[{2 * rows * width}], l_a, three, tmp, cut);""",
        3 * rows * width,
    )
    grown = np.full((rows, width), 9)
    grown[:, 1:-2] = a[: rows * (width - 3)].reshape(rows, -1)
    kept = a.reshape(rows, width).copy()
    kept[:, -2:] = -5
    assert np.array_equal(y[: rows * width].reshape(rows, width), grown)
    assert np.array_equal(y[rows * width : 2 * rows * width].reshape(rows, width), kept)
    short = a.reshape(rows, width)[:, :-3].reshape(-1)
    assert np.array_equal(y[2 * rows * width :][: short.size], short)
