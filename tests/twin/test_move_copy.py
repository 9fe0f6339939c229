"""Moves with shapes, of every element type, of many bytes, atomic, and through the intrinsics."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.openings import on_buffer, on_global
from tests.twin.running import Twin

#: Types that a kernel has a name for and the documentation lets move.
MOVED = (
    DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32,
    DType.UINT32, DType.INT64, DType.UINT64, DType.BOOL,
)  # fmt: skip
F32 = DType.FLOAT32


@pytest.mark.parametrize("dtype", MOVED)
def test_every_element_type_moves(twin: Twin, dtype: DType) -> None:
    """In, inside and out: whole blocks, a ragged tail with padding, single bytes at any address."""
    t, n = dtype.ascend_c, 96
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, n).astype(dtype.numpy()) if t == "bool" else np.arange(n).astype(dtype.numpy())
    body = f"""TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 2048);
    LocalTensor<{t}> x = b.Get<{t}>(), z = x[{1024 // dtype.itemsize}];
    GlobalTensor<{t}> ga, gy;
    ga.SetGlobalBuffer((__gm__ {t}*)a);
    gy.SetGlobalBuffer((__gm__ {t}*)y);
    DataCopyPad(x, ga[1], DataCopyExtParams(1, 37 * sizeof({t}), 0, 0, 0), DataCopyPadExtParams<{t}>(true, 0, 1, 0));
    DataCopyPad(gy[1], x, DataCopyExtParams(1, 38 * sizeof({t}), 0, 0, 0));
    DataCopy(x, ga, 64);
    DataCopy(z, x, 64);
    DataCopyPad(gy[50], z, DataCopyParams(1, 40 * sizeof({t}), 0, 0));"""
    y = np.asarray(twin.run(body, {"a": a}, {"y": ((n,), dtype)}).output())
    assert np.array_equal(y[1:38], a[1:38])
    assert y[38] == 0
    assert np.array_equal(y[50:90], a[:40])


def test_byte_counts_do_not_wrap(twin: Twin) -> None:
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 1024);
    GlobalTensor<float> ga;
    ga.SetGlobalBuffer((__gm__ float*)a);
    DataCopy(b.Get<float>(), ga, (1u << 30) + 8);  // here"""
    done = twin.run(body, {"a": np.zeros(64, np.float32)})
    assert done.found == [("out_of_bounds", done.marked)]
    assert "4294967328" in done.diagnostics[0].message


def test_slices(twin: Twin) -> None:
    """The documented example: 3 rows of 87, of which 2 rows and in each 2 pieces of 24 are wanted; and back again."""
    a = np.arange(3 * 87, dtype=np.float32)
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 96 * 4);
    LocalTensor<float> x = b.Get<float>();
    GlobalTensor<float> ga, gy;
    ga.SetGlobalBuffer((__gm__ float*)a);
    gy.SetGlobalBuffer((__gm__ float*)y);
    SliceInfo src[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}, dst[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
    DataCopy(x, ga, dst, src, 2);
    DataCopy(gy, x, 96);
    DataCopy(gy[96], x, src, dst, 2);
    SliceInfo one[] = {{8, 39, 0, 4, 40}}, two[] = {{0, 39, 8, 2, 40}};
    SliceInfo four[] = {{0, 7, 0, 1, 8}, {0, 3, 0, 1, 4}};
    DataCopy(gy[96 + 261], x, one, one);
    DataCopy(gy[96 + 261 + 40], x, two, two);
    DataCopy(gy[96 + 261 + 80], x[32], four, four, 2);"""
    n = 96 + 261 + 40 + 40 + 32
    y = np.asarray(twin.run(body, {"a": a}, {"y": ((n,), F32)}, seed=3).output())
    rows = a.reshape(3, 87)
    pieces = np.concatenate([rows[r, s : s + 24] for r in (0, 2) for s in (16, 47)])
    assert np.array_equal(y[:96], pieces)
    back = y[96 : 96 + 261].reshape(3, 87)
    for r in (0, 2):
        for s in (16, 47):
            assert np.array_equal(back[r, s : s + 24], rows[r, s : s + 24])
    tail = y[96 + 261 :]
    assert np.array_equal(tail[8:40], pieces[8:40])
    assert np.array_equal(tail[40:56], pieces[:16])
    assert np.array_equal(tail[64:80], pieces[24:40])
    assert np.array_equal(tail[80:], pieces[32:64])


def test_rows_into_fractals(twin: Twin) -> None:
    """Two matrices of 5 by 20 halfs: columns of 16, the last filled up with zeros."""
    a = np.arange(1, 2 * 5 * 20 + 1).astype(np.float16)
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 1024);
    LocalTensor<half> x = b.Get<half>();
    Duplicate(x, (half)-1, 512);
    GlobalTensor<half> ga, gy;
    ga.SetGlobalBuffer((__gm__ half*)a);
    gy.SetGlobalBuffer((__gm__ half*)y);
    DataCopy(x, ga, Nd2NzParams(2, 5, 20, 100, 20, 8, 1, 256));
    DataCopy(gy, x, 512);"""
    y = np.asarray(twin.run(body, {"a": a}, {"y": ((512,), DType.FLOAT16)}).output()).reshape(2, 2, 8, 16)
    wanted = np.full((2, 2, 8, 16), -1, np.float16)
    wide = np.zeros((2, 5, 32), np.float16)
    wide[:, :, :20] = a.reshape(2, 5, 20)
    wanted[:, :, :5] = wide.reshape(2, 5, 2, 16).transpose(0, 2, 1, 3)
    assert np.array_equal(y, wanted)


def test_moves_inside_ub_go_upwards(twin: Twin) -> None:
    """Towards lower addresses a move may overlap itself."""
    a = np.arange(64, dtype=np.float32)
    body = f"""{on_buffer("float", "x", 256)}{on_global("float", ga="a", gy="y")}
    DataCopy(x, ga, 64);
    DataCopy(x, x[8], 56);
    DataCopy(gy, x, 64);"""
    done = twin.run(body, {"a": a}, {"y": ((64,), F32)})
    assert not done.diagnostics
    assert np.array_equal(np.asarray(done.output()), np.concatenate([a[8:], a[56:]]))


ATOMIC = [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT32, DType.INT16, DType.INT8]


@pytest.mark.parametrize("dtype", ATOMIC)
def test_atomic_moves(twin: Twin, dtype: DType) -> None:
    """Add, Max and Min onto what is there; afterwards moves overwrite again."""
    t, n = dtype.ascend_c, 64
    rng = np.random.default_rng(2)
    a, y0 = (rng.integers(-20, 20, n).astype(dtype.numpy()) for _ in range(2))
    body = f"""TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, {2 * n} * sizeof({t}));
    LocalTensor<{t}> x = b.Get<{t}>(), old = x[{n}];
    GlobalTensor<{t}> ga, gb, gy;
    ga.SetGlobalBuffer((__gm__ {t}*)a);
    gb.SetGlobalBuffer((__gm__ {t}*)b0);
    gy.SetGlobalBuffer((__gm__ {t}*)y);
    DataCopy(x, ga, {n});
    DataCopy(old, gb, {n});
    for (int i = 0; i < 4; ++i) DataCopy(gy[i * {n}], old, {n});
    SetAtomicAdd<{t}>();
    DataCopy(gy, x, {n});
    SetAtomicMax<{t}>();
    DataCopy(gy[{n}], x, {n});
    SetAtomicMin<{t}>();
    DataCopyPad(gy[{2 * n}], x, DataCopyExtParams(1, 32, 0, 0, 0));
    SetAtomicNone();
    DataCopy(gy[{3 * n}], x, {n});"""
    done = twin.run(body, {"a": a, "b0": y0}, {"y": ((4 * n,), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    y = np.asarray(done.output()).reshape(4, n).astype(np.float32)
    wide_a, wide_b = a.astype(np.float32), y0.astype(np.float32)
    few = 32 // dtype.itemsize
    assert np.array_equal(y[0], wide_a + wide_b)
    assert np.array_equal(y[1], np.maximum(wide_a, wide_b))
    assert np.array_equal(y[2], np.concatenate([np.minimum(wide_a, wide_b)[:few], wide_b[few:]]))
    assert np.array_equal(y[3], wide_a)


def test_atomic_sums_are_the_same_every_time(twin: Twin) -> None:
    """All blocks add numbers of very different size to one place, twice with a meeting between: in block order."""
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 256);
    LocalTensor<float> x = b.Get<float>();
    GlobalTensor<float> ga, gy;
    ga.SetGlobalBuffer((__gm__ float*)a + 64 * GetBlockIdx());
    gy.SetGlobalBuffer((__gm__ float*)y);
    if (GetBlockIdx() == 0) InitOutput<float>(gy, 64, 0);
    SyncAll();
    DataCopy(x, ga, 64);
    SetAtomicAdd<float>();
    DataCopy(gy, x, 64);
    SyncAll();
    DataCopy(gy, x, 64);
    SetAtomicNone();"""
    rng = np.random.default_rng(8)
    a = (rng.normal(0, 1, (48, 64)) * 10.0 ** rng.integers(-6, 6, (48, 64))).astype(np.float32)
    wanted = np.zeros(64, np.float32)
    for row in (*a, *a):
        wanted += row
    runs = [np.asarray(twin.run(body, {"a": a}, {"y": ((64,), F32)}, block=None).output()) for _ in range(3)]
    for y in runs:
        assert np.array_equal(y, wanted)


def test_atomic_configuration_and_intrinsics(twin: Twin) -> None:
    """SetStoreAtomicConfig, set_atomic_*, and copies by raw pointers."""
    a = np.arange(64, dtype=np.float32)
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    pipe.InitBuffer(b, 1024);
    LocalTensor<float> x = b.Get<float>(), z = x[64];
    __ubuf__ float* ub = (__ubuf__ float*)x.GetPhyAddr();
    __ubuf__ float* other = (__ubuf__ float*)z.GetPhyAddr();
    __gm__ float* in = (__gm__ float*)a;
    __gm__ float* out = (__gm__ float*)y;
    copy_gm_to_ubuf(ub, in, 0, 2, 2, 2, 0);
    copy_ubuf_to_ubuf(other, ub, 0, 1, 4, 0, 0);
    copy_ubuf_to_gm(out, other, 0, 1, 4, 0, 0);
    copy_gm_to_ubuf_align_b32(ub, in + 1, 0, 2, 12, 1, 0, 8, 1);
    copy_ubuf_to_gm_align_b32(out + 33, ub, 0, 2, 16, 0, 0, 1, 4);
    SetVectorMask<float>(0, 0xff0f);
    vector_dup(other, 3.0f, 1, 1, 0, 8, 0);
    uint16_t type = 9, op = 9;
    SetStoreAtomicConfig<AtomicDtype::ATOMIC_F32, AtomicOp::ATOMIC_SUM>();
    GetStoreAtomicConfig(type, op);
    copy_ubuf_to_gm(out, other, 0, 1, 1, 0, 0);
    set_atomic_none();
    set_atomic_f32();
    set_atomic_max();
    copy_ubuf_to_gm(out + 8, other + 8, 0, 1, 1, 0, 0);
    set_atomic_none();
    ((__gm__ int32_t*)out)[63] = type * 10 + op;"""
    y = np.asarray(twin.run(body, {"a": a}, {"y": ((64,), F32)}).output())
    wanted = np.concatenate([a[:16], a[32:48]])
    wanted[:4] += 3
    wanted[4:8] += wanted[4:8]
    wanted[8:16] = np.maximum(wanted[8:16], 3)
    assert np.array_equal(y[:32], wanted)
    assert np.array_equal(y[34:37], a[1:4])
    assert np.array_equal(y[39:42], a[6:9])
    assert y.view(np.int32)[63] == 10


def test_global_memory_is_filled(twin: Twin) -> None:
    body = """GlobalTensor<bfloat16_t> gy;
    gy.SetGlobalBuffer((__gm__ bfloat16_t*)y);
    InitOutput<bfloat16_t>(gy, 7, 0);
    InitOutput<bfloat16_t>(gy[7], 5, (bfloat16_t)2);
    Fill<bfloat16_t>(gy, 2, 3);"""
    y = np.asarray(twin.run(body, {}, {"y": ((12,), DType.BFLOAT16)}).output())
    assert y.astype(np.float32).tolist() == [3, 3, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2]


def test_set_pad_value_fills_where_the_copy_names_no_value(twin: Twin) -> None:
    x = np.arange(1, 3 * 5 + 1, dtype=np.float32)
    body = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 3 * 96);
    LocalTensor<float> local = buffer.Get<float>();
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, 15);
    out.SetGlobalBuffer((__gm__ float*)y, 72);
    DataCopyPadExtParams<float> quiet{false, 1, 2, 0}, loud{true, 1, 2, 9}, none{false, 0, 0, 0};
    SetPadValue<float, TPosition::VECIN>(37.0f);
    DataCopyPad(local, in, DataCopyExtParams{3, 20, 0, 0, 0}, quiet);
    DataCopyPad(local[24], in, DataCopyExtParams{3, 20, 0, 0, 0}, loud);
    DataCopyPad(local[48], in, DataCopyExtParams{3, 20, 0, 0, 0}, quiet);
    DataCopyParams rows{1, 9, 0, 0};
    DataCopy(out, local, rows, DataCopyEnhancedParams());
    """
    done = twin.run(body, {"x": x}, {"y": ((72,), DType.FLOAT32)})
    rows = np.pad(x.reshape(3, 5), ((0, 0), (1, 2)), constant_values=37)
    assert np.array_equal(done.output().reshape(3, 3, 8)[0], rows)
    for at in (1, 2):  # a value that a copy names stays for those that follow
        assert np.array_equal(done.output().reshape(3, 3, 8)[at], np.where(rows == 37, 9, rows))


def test_global_memory_is_filled_by_either_name(twin: Twin) -> None:
    body = """
    TPipe pipe;
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)y, 32);
    InitSocState();
    InitGlobalMemory(out, 20, 2.5f);
    GlobalTensor<float> rest = out[20];
    Fill(rest, 12, 1.0f);
    Async<EngineType::AIC, Trap>();
    PrintTimeStamp(7);
    """
    done = twin.run(body, {}, {"y": ((32,), DType.FLOAT32)})
    assert np.array_equal(done.output(), [2.5] * 20 + [1.0] * 12)
    assert [diagnostic.message.split(":")[0] for diagnostic in done.diagnostics] == ["time stamp 7"]


def test_complex_numbers_are_moved(twin: Twin) -> None:
    x = (np.arange(16) + 1j * np.arange(16, 0, -1)).astype(np.complex64)
    body = f"""{on_buffer("complex64", "local", 128)}{on_global("complex64", xs="x, 16", ys="y, 16")}
    DataCopy(local, xs, 16);
    Muls(local.ReinterpretCast<float>(), local.ReinterpretCast<float>(), 2.0f, 32);
    DataCopy(ys, local, 16);
    PipeBarrier<PIPE_ALL>();
    complex64 first = xs.GetValue(3);
    ys.SetValue(0, first);
    """
    done = twin.run(body, {"x": x}, {"y": ((16,), DType.COMPLEX64)})
    assert np.array_equal(done.output(), np.concatenate([x[3:4], 2 * x[1:]]))
