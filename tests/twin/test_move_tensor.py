"""Tensors as handles: views, notes, operators, places of one's own choice, four-bit elements, lists of tensors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.nouns import DType
from tests.twin.running import Twin
from tests.twin.test_api_convert import load

I32, F32 = DType.INT32, DType.FLOAT32


def numbers(
    twin: Twin, body: str, expressions: list[str], **inputs: NDArray[np.generic] | list[NDArray[np.generic]]
) -> list[int]:
    """The values of integer ``expressions`` after ``body``."""
    stores = "\n".join(f"g_out.SetValue({i}, (int32_t)({expression}));" for i, expression in enumerate(expressions))
    source = f"""TPipe pipe;
    GlobalTensor<int32_t> g_out;
    g_out.SetGlobalBuffer((__gm__ int32_t*)y);
    {body}
    {stores}"""
    done = twin.run(source, inputs, {"y": ((len(expressions),), I32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return [int(value) for value in np.asarray(done.output())]


def check(
    twin: Twin, body: str, wanted: dict[str, int], **inputs: NDArray[np.generic] | list[NDArray[np.generic]]
) -> None:
    actual = dict(zip(wanted, numbers(twin, body, list(wanted), **inputs), strict=True))
    assert actual == wanted


def test_local_tensors(twin: Twin) -> None:
    check(
        twin,
        f"""{load("float", "a", 64)}
        LocalTensor<float> part = l_a[16], other, whole = l_a;
        other.SetAddrWithOffset(l_a, 8);
        whole.SetBufferLen(128);
        LocalTensor<half> halves = l_a.ReinterpretCast<half>();
        uint64_t base = l_a.GetPhyAddr();
        l_a(5) = 50.0f;
        l_a.SetValue(6, (half)60.0);
        uint32_t shape[] = {{4, 16}}, original[] = {{3, 15}};
        l_a.SetShapeInfo(ShapeInfo(2, shape, 2, original, DataFormat::NZ));
        LocalTensor<float> copy = l_a[8];
        copy.SetUserTag(77);
        LocalTensor<float> bare;
        bare.SetShapeInfo(ShapeInfo(1, shape, DataFormat::ND));""",
        {
            "l_a.GetSize()": 64,
            "part.GetSize()": 48,
            "part.GetLength()": 192,
            "other.GetPhyAddr() - base": 32,
            "l_a.GetPhyAddr(3) - base": 12,
            "whole.GetSize()": 32,
            "halves.GetSize()": 128,
            "halves[2].GetPhyAddr() - base": 4,
            "l_a.GetValue(5)": 50,
            "l_a(6)": 60,
            "l_a.GetPosition() == (int)TPosition::VECCALC": 1,
            "l_a.GetShapeInfo().shape[1]": 16,
            "copy.GetShapeInfo().originalShape[0]": 3,
            "(int)copy.GetShapeInfo().dataFormat": 1,
            "GetShapeSize(copy.GetShapeInfo())": 64,
            "copy.GetUserTag()": 77,
            "l_a.GetUserTag()": 0,
            "bare.GetShapeInfo().shapeDim": 1,
            "bare.GetShapeInfo().shape[0]": 4,
            "part.GetShapeInfo().shapeDim": 0,
        },
        a=np.arange(64, dtype=np.float32),
    )


def test_global_tensors(twin: Twin) -> None:
    check(
        twin,
        """GlobalTensor<int64_t> g, part;
        g.SetGlobalBuffer((__gm__ int64_t*)workspace, 64);
        g.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        g.SetL2CacheHint<CacheRwMode::READ>(CacheMode::CACHE_MODE_NORMAL);
        g.SetValue(3, 1ll << 33);
        g(4) = -5;
        part = g[3];
        uint32_t shape[] = {8, 8};
        g.SetShapeInfo(ShapeInfo(2, shape, DataFormat::ND));
        GlobalTensor<bool> flags;
        flags.SetGlobalBuffer((__gm__ bool*)workspace);
        flags.SetValue(0, true);
        DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
        DataCacheCleanAndInvalid<int64_t, CacheLine::ENTIRE_DATA_CACHE>(g);""",
        {
            "part.GetValue(0) >> 30": 8,
            "part(1)": -5,
            "part.GetSize()": 61,
            "part.GetPhyAddr() - g.GetPhyAddr()": 3,
            "g.GetPhyAddr(7) - g.GetPhyAddr()": 7,
            "g[9].GetShapeInfo().shape[0]": 8,
            "flags.GetValue(0)": 1,
            "flags[5].GetSize()": 0,
        },
    )


def test_places_of_ones_own_choice(twin: Twin) -> None:
    """Programs without a TPipe: tensors at addresses, an allocator, and what a pipe leaves over."""
    check(
        twin,
        """TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1000);
        LocalTensor<float> at(TPosition::VECIN, 4096, 100);
        LocalMemAllocator<Hardware::UB> memory;
        LocalTensor<half> first = memory.Alloc<TPosition::VECIN, half, 100>();
        LocalTensor<int32_t> second = memory.Alloc<int32_t>(8), third = memory.Alloc<int32_t, 8>();
        LocalTensor<uint8_t> rest;
        bool found = PopStackBuffer<uint8_t, TPosition::LCM>(rest);
        uint64_t base = pipe.GetBaseAddr((int8_t)TPosition::VECIN);
        LocalTensor<float> piece = buffer.GetWithOffset<float>(10, 64);
        LocalTensor<float> taken = buffer.AllocTensor<float>();
        buffer.FreeTensor(taken);""",
        {
            "at.GetPhyAddr() - base": 4096,
            "at.GetSize()": 100,
            "first.GetPhyAddr() - base": 0,
            "second.GetPhyAddr() - base": 224,
            "third.GetPhyAddr() - base": 256,
            "memory.GetCurAddr()": 288,
            "found": 1,
            "rest.GetPhyAddr() - base": 1024,
            "rest.GetSize()": 196608 - 1024,
            "piece.GetPhyAddr() - taken.GetPhyAddr()": 64,
            "piece.GetSize()": 10,
            "buffer.GetBufLen()": 1024,
            "buffer.Get<int64_t>().GetSize()": 128,
            "buffer.Get<int64_t>(3).GetLength()": 24,
        },
    )


def test_four_bit_tensors_hold_two_elements_a_byte(twin: Twin) -> None:
    check(
        twin,
        """GlobalTensor<int4b_t> g;
        g.SetGlobalBuffer((__gm__ int4b_t*)a, 256);
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 128);
        LocalTensor<int4b_t> t = buffer.Get<int4b_t>(), few = buffer.Get<int4b_t>(64);
        DataCopy(t, g, 128);
        DataCopy(t[128], g[64], DataCopyParams(1, 2, 0, 0));
        LocalTensor<uint8_t> bytes = t.ReinterpretCast<uint8_t>();""",
        {
            "t.GetSize()": 256,
            "few.GetLength()": 32,
            "t[64].GetPhyAddr() - t.GetPhyAddr()": 32,
            "(uint8_t*)g[64].GetPhyAddr() - (uint8_t*)g.GetPhyAddr()": 32,
            "bytes.GetValue(63)": 63,
            "bytes.GetValue(64)": 32,
            "bytes.GetValue(127)": 95,
            "bytes.ReinterpretCast<int4b_t>().GetSize()": 256,
        },
        a=np.arange(128, dtype=np.uint8),
    )


def test_lists_tell_shapes_and_addresses(twin: Twin) -> None:
    tensors: list[NDArray[np.generic]] = [
        np.arange(6, dtype=np.float32).reshape(1, 2, 3),
        np.array(41, np.float32),
        np.arange(10, 20, dtype=np.float32),
    ]
    check(
        twin,
        """ListTensorDesc list((__gm__ void*)x);
        ListTensorDesc again;
        again.Init((__gm__ void*)x, 1000, 3);
        uint64_t shape[8] = {};
        TensorDesc<float> first, second, third;
        first.SetShapeAddr(shape);
        list.GetDesc(first, 0);
        uint64_t none[1], one[1];
        second.SetShapeAddr(none);
        again.GetDesc(second, 1);
        third.SetShapeAddr(one);
        list.GetDesc(third, 2);
        uint64_t* words = (uint64_t*)x;
        float* direct = (float*)*(words + (*words >> 3) + 2);""",
        {
            "list.GetSize()": 3,
            "first.GetDim()": 3,
            "first.GetShape(1) * 10 + first.GetShape(2)": 23,
            "first.GetDataObj().GetSize()": 6,
            "first.GetDataObj().GetValue(5)": 5,
            "second.GetDim()": 0,
            "second.GetIndex()": 1,
            "second.GetDataPtr()[0]": 41,
            "third.GetShape(0)": 10,
            "list.GetDataPtr<float>(2)[3]": 13,
            "direct == third.GetDataPtr()": 1,
        },
        x=tensors,
    )


ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
RELATIONS = {
    "<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def test_operators_write_whole_tensors(twin: Twin, dtype: DType) -> None:
    t, n = dtype.ascend_c, 256
    rng = np.random.default_rng(1)
    a, b = (rng.integers(1, 5, n).astype(dtype.numpy()) for _ in range(2))
    body = f"""TPipe pipe;
    {load(t, "a", n)}
    {load(t, "b", n)}
    TBuf<TPosition::VECCALC> b_y, b_bits;
    pipe.InitBuffer(b_y, {n} * sizeof({t}));
    pipe.InitBuffer(b_bits, {n} / 8);
    LocalTensor<{t}> l_y = b_y.Get<{t}>(), handle;
    LocalTensor<uint8_t> bits = b_bits.Get<uint8_t>();
    GlobalTensor<{t}> gy;
    GlobalTensor<uint8_t> gz;
    gy.SetGlobalBuffer((__gm__ {t}*)y);
    gz.SetGlobalBuffer((__gm__ uint8_t*)z);
    """
    body += "".join(f"l_y = l_a {op} l_b;\nDataCopy(gy[{i * n}], l_y, {n});\n" for i, op in enumerate(ARITHMETIC))
    body += "".join(f"bits = l_a {op} l_b;\nDataCopy(gz[{i * 32}], bits, 32);\n" for i, op in enumerate(RELATIONS))
    body += f"handle = l_y;\nhandle = l_y + handle;\nDataCopy(gy[{4 * n}], l_y, {n});\n"
    done = twin.run(body, {"a": a, "b": b}, {"y": ((5 * n,), dtype), "z": ((6 * 32,), DType.UINT8)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    y, z = np.asarray(done.output()).reshape(5, n), np.asarray(done.output("z")).reshape(6, 32)
    for row, op in zip(y, ARITHMETIC.values(), strict=False):
        assert np.array_equal(row, op(a.astype(np.float32), b.astype(np.float32)).astype(dtype.numpy()))
    for row, relation in zip(z, RELATIONS.values(), strict=True):
        assert np.array_equal(np.unpackbits(row.view(np.uint8), bitorder="little"), relation(a, b))
    assert np.array_equal(y[4], y[3] + y[3])  # a handle and the tensor it was copied from are the same memory


def test_bit_operators(twin: Twin) -> None:
    a = np.arange(64, dtype=np.int16)
    body = f"""TPipe pipe;
    {load("int16_t", "a", 64)}
    {load("int16_t", "b", 64)}
    LocalTensor<int16_t> l_y = l_b;
    GlobalTensor<int16_t> gy;
    gy.SetGlobalBuffer((__gm__ int16_t*)y);
    l_y = l_a | l_b;
    DataCopy(gy, l_y, 64);
    l_y = l_a & l_y;
    DataCopy(gy[64], l_y, 64);"""
    y = np.asarray(twin.run(body, {"a": a, "b": a[::-1].copy()}, {"y": ((128,), DType.INT16)}).output())
    assert np.array_equal(y[:64], a | a[::-1])
    assert np.array_equal(y[64:], a)
