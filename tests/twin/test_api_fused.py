"""Instructions whose destination has another type than their sources, and the registers that steer them."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_twin.compile.instructions import instructions
from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.rows import TYPES
from tests.twin.running import Twin
from tests.twin.test_api_convert import load, store

N = 256
F16, F32, I8, U8, I16, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32


def run(
    twin: Twin, dst: DType, src: DType, values: dict[str, np.ndarray], calls: list[str], before: str = ""
) -> np.ndarray:
    """Each call writes l_y, which starts as 7s and is stored as a row of its own; sources are l_a and l_b."""
    t, u = dst.ascend_c, src.ascend_c
    fill = f"Duplicate(l_y.ReinterpretCast<int16_t>(), (int16_t)0x0707, {N * dst.itemsize // 2});"
    rows = "".join(f"{fill}\n{call}\n{store(t, N, at)}" for at, call in enumerate(calls))
    body = f"""TPipe pipe;
    {load(u, "a", N)} {load(u, "b", N)}
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N * dst.itemsize});
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    uint64_t bits[2] = {{0x5, {0 if 4 in (dst.itemsize, src.itemsize) else 0x3}}};
    (void)bits;
    {before}
    {rows}"""
    done = twin.run(body, values, {"y": ((len(calls), N), dst)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def sevens(dtype: DType) -> np.ndarray:
    return np.full(N * dtype.itemsize, 7, np.uint8).view(dtype.numpy())


def saturated(x: np.ndarray, dtype: DType) -> np.ndarray:
    info = np.iinfo(dtype.value)
    return np.clip(np.nan_to_num(np.rint(x.astype(np.float64)), nan=0.0), info.min, info.max).astype(dtype.value)


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), x, np.maximum(x, 0))


def expected(name: str, dst: DType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        if name == "MulCast":
            return saturated((a.astype(np.float32) * b.astype(np.float32)).astype(np.float16), dst)
        wide = a.astype(np.int64) if a.dtype.kind == "i" else a.astype(np.float32)
        other = b.astype(wide.dtype)
        result = wide + other if name == "AddReluCast" else wide - other
        if dst is F16:
            return relu(result.astype(np.float32)).astype(np.float16)
        if a.dtype.kind == "i":
            return np.clip(result, 0, 127).astype(np.int8)
        return saturated(relu(result.astype(np.float16)), dst)


FUSED = [
    (row.name, TYPES[dst], TYPES[src])
    for row in instructions()
    if row.unit == "Fused" and row.call == "MIXED_UNSIGNED"
    for dst, src in row.pairs
]


@pytest.mark.parametrize(("name", "dst", "src"), FUSED, ids=lambda p: p.value if isinstance(p, DType) else p)
def test_compute_and_cast(twin: Twin, name: str, dst: DType, src: DType) -> None:
    values = {"a": models.samples(src, N, 1), "b": models.samples(src, N, 2)}
    if src is I16:
        values = {key: (value // 400).astype(np.int16) for key, value in values.items()}
    lanes = 256 // src.itemsize
    stride = 8 * dst.itemsize // src.itemsize
    params = f"BinaryRepeatParams(1, 1, 1, {stride}, 8, 8)"
    rows = run(twin, dst, src, values, [
        f"{name}(l_y, l_a, l_b, {N - 3});",
        f"{name}(l_y, l_a, l_b, {lanes - 5}, 2, {params});",
        f"{name}(l_y, l_a, l_b, bits, 1, {params});",
        f"SetMaskNorm(); SetVectorMask<{src.ascend_c}>(0, 0xf0);\n"
        f"{name}<{dst.ascend_c}, {src.ascend_c}, false>(l_y, l_a, l_b, MASK_PLACEHOLDER, 1, {params}); ResetMask();",
    ])  # fmt: skip
    full = expected(name, dst, values["a"], values["b"])
    index = np.arange(N)
    on = [
        index < N - 3,
        (index < 2 * lanes) & (index % lanes < lanes - 5),
        np.isin(index, [0, 2, 64, 65] if lanes == 128 else [0, 2]),
        (index >= 4) & (index < 8),
    ]
    for row, taken in zip(rows, on, strict=True):
        assert models.same(row, np.where(taken, full, sevens(dst)))


def test_half_sources_for_a_float_destination(twin: Twin) -> None:
    values = {"a": models.samples(F16, N, 3), "b": models.samples(F16, N, 4)}
    rows = run(twin, F32, F16, values, [
        "Duplicate(l_y, 0.5f, 256); MulAddDst(l_y, l_a, l_b, 200);",
        "Duplicate(l_y, 0.5f, 256); Axpy(l_y, l_a, (half)1.5, 200);",
        "Duplicate(l_y, 0.5f, 256); MulAddDst(l_y, l_a, l_b, 40, 2, BinaryRepeatParams(1, 1, 1, 8, 4, 4));",
        "Duplicate(l_y, 0.5f, 256); Axpy(l_y, l_a, (half)1.5, bits, 1, UnaryRepeatParams(1, 1, 8, 4));",
    ])  # fmt: skip
    a, b = (values[key].astype(np.float32) for key in "ab")
    index = np.arange(N)
    half = np.float32(0.5)
    with np.errstate(all="ignore"):
        product, scaled = a * b + half, a * np.float32(1.5) + half
    assert models.same(rows[0], np.where(index < 200, product, half))
    assert models.same(rows[1], np.where(index < 200, scaled, half))
    assert models.same(rows[2], np.where((index < 128) & (index % 64 < 40), product, half))
    assert models.same(rows[3], np.where(np.isin(index, [0, 2]), scaled, half))


def test_dequantisation_to_half(twin: Twin) -> None:
    """int32_t to half goes through DEQSCALE, by Cast, CastDequant and AddDeqRelu."""
    rng = np.random.default_rng(5)
    values = {name: rng.integers(-40000, 40000, N, dtype=np.int32) for name in "ab"}
    values["a"][:2] = [2**31 - 1, -(2**31)]
    rows = run(twin, F16, I32, values, [
        f"Cast(l_y, l_a, RoundMode::CAST_NONE, {N});",
        f"CastDequant(l_y, l_a, {N});",
        "CastDeq<half, int32_t, true, false, false>(l_y, l_a, 64, 4, UnaryRepeatParams(1, 1, 4, 8));",
        f"AddDeqRelu(l_y, l_a, l_b, {N});",
        "AddDeqRelu(l_y, l_a, l_b, 64, 4, BinaryRepeatParams(1, 1, 1, 4, 8, 8));",
    ], before="SetDeqScale((half)0.5);")  # fmt: skip
    with np.errstate(over="ignore"):
        scaled = (values["a"].astype(np.float64) * 0.5).astype(np.float16)
        total = np.maximum(((values["a"] + values["b"]).astype(np.float64) * 0.5).astype(np.float16), 0)
    for row in rows[:3]:
        assert models.same(row, scaled)
    for row in rows[3:]:
        assert models.same(row, total)


@pytest.mark.parametrize(("dtype", "sign"), [(I8, "true"), (U8, "false")])
def test_dequantisation_to_bytes(twin: Twin, dtype: DType, sign: str) -> None:
    """Sixteen results fill one half of a block; scales are one for all, or sixteen in turn."""
    values = {"a": models.samples(I16, N, 6), "b": models.samples(I16, N, 7)}
    t = dtype.ascend_c
    before = f"""TBuf<TPosition::VECCALC> b_v;
    pipe.InitBuffer(b_v, 128);
    LocalTensor<uint64_t> vdeq = b_v.Get<uint64_t>();
    float scale[16];
    int16_t offset[16];
    bool sign[16];
    for (int i = 0; i < 16; ++i) {{
        scale[i] = 0.0625f * (i + 1);
        offset[i] = i - 8;
        sign[i] = {sign};
    }}
    VdeqInfo info(scale, offset, sign);"""
    rows = run(twin, dtype, I16, values, [
        f"SetDeqScale(0.125f, (int16_t)-3, {sign}); CastDequant<{t}, int16_t, false, false>(l_y, l_a, 128);",
        f"CastDequant<{t}, int16_t, true, false, true>(l_y, l_a, 128, 1, UnaryRepeatParams(1, 1, 8, 8));",
        f"SetDeqScale(vdeq, info); CastDequant<{t}, int16_t, true, false>(l_y, l_a, 128);",
    ], before=before)  # fmt: skip
    a = values["a"][:128].astype(np.float64)
    array = saturated(a * 0.125 - 3, dtype)
    lane = np.arange(128) % 16
    many = saturated(a * 0.0625 * (lane + 1) + lane - 8, dtype)
    for row, wanted, upper in zip(rows, (array, array, many), (0, 1, 0), strict=True):
        blocks = row.reshape(8, 2, 16)
        assert np.array_equal(blocks[:, upper].ravel(), wanted)
        assert (blocks[:, 1 - upper] == 7).all()


def test_saturating_mode(twin: Twin) -> None:
    """Infinities become the largest half, NaN 0, and integers stop at their limits; outside of it they wrap."""
    values = {"a": np.full(N, 60000, np.float16), "b": np.full(N, 60000, np.float16)}
    values["a"][1] = np.nan
    rows = run(twin, F16, F16, values, [
        "SetSaturationFlag<SaturationMode::FLOAT>(true); Add(l_y, l_a, l_b, 256);",
        "Muls(l_y, l_a, (half)-2, 256);",
        "WholeReduceSum(l_y, l_a[16], 2, 1, 1, 1, 8);",
        "Duplicate(l_a.ReinterpretCast<int16_t>(), (int16_t)30000, 256);\n"
        "Adds(l_y.ReinterpretCast<int16_t>(), l_a.ReinterpretCast<int16_t>(), (int16_t)30000, 256);",
        "SetSaturationFlag<SaturationMode::FLOAT>(false);\n"
        "Adds(l_y.ReinterpretCast<int16_t>(), l_a.ReinterpretCast<int16_t>(), (int16_t)30000, 256);",
    ])  # fmt: skip
    assert (rows[0][0], rows[0][1]) == (65504, 0)
    assert (rows[1][0], rows[1][1]) == (-65504, 0)
    assert rows[2][0] == 65504
    assert (rows[3].view(np.int16) == 32767).all()
    assert (rows[4].view(np.int16) == 60000 - 65536).all()


def test_int4_casts(twin: Twin) -> None:
    """Two four-bit integers a byte, the first in the low half."""
    halves = np.linspace(-12, 12, N).astype(np.float16)
    body = f"""TPipe pipe;
    {load("half", "a", N)}
    TBuf<TPosition::VECCALC> b_y, b_n;
    pipe.InitBuffer(b_y, {N * 2});
    pipe.InitBuffer(b_n, {N});
    LocalTensor<half> l_y = b_y.Get<half>();
    LocalTensor<int4b_t> l_n = b_n.Get<int4b_t>();
    Cast(l_n, l_a, RoundMode::CAST_FLOOR, {N});
    Cast(l_y, l_n, RoundMode::CAST_NONE, {N});
    {store("half", N, 0)}
    Cast(l_n, l_a, RoundMode::CAST_CEIL, 128, 2, UnaryRepeatParams(1, 1, 2, 8));
    Cast(l_y, l_n, RoundMode::CAST_NONE, 128, 2, UnaryRepeatParams(1, 1, 8, 2));
    {store("half", N, 1)}"""
    done = twin.run(body, {"a": halves}, {"y": ((2, N), F16)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    rows = np.asarray(done.output())
    assert np.array_equal(rows[0], np.clip(np.floor(halves), -8, 7))
    assert np.array_equal(rows[1], np.clip(np.ceil(halves), -8, 7))


def test_bilinear_interpolation(twin: Twin) -> None:
    """Gathered blocks, weighed and added up over one row; the example of the documentation and its other mode."""
    src = np.arange(1, 513, dtype=np.float16)
    weights = np.arange(2, 34, dtype=np.float16)
    offsets = np.arange(0, 1024, 32, dtype=np.uint32)
    body = f"""TPipe pipe;
    {load("half", "a", 512)}
    {load("half", "b", 32)}
    {load("uint32_t", "c", 32)}
    TBuf<TPosition::VECCALC> b_t, b_y;
    pipe.InitBuffer(b_t, 20480);
    pipe.InitBuffer(b_y, 512);
    LocalTensor<uint8_t> t = b_t.Get<uint8_t>();
    LocalTensor<half> l_y = b_y.Get<half>();
    BilinearInterpolation(l_y, l_a, l_c, l_b, 128, 2, false, 1, 128, 2, t);
    {store("half", 256, 0)}
    uint64_t all[2] = {{~0ull, ~0ull}};
    BilinearInterpolation(l_y, l_a, l_c, l_b, all, 2, true, 1, 128, 2, t);
    {store("half", 256, 1)}"""
    done = twin.run(body, {"a": src, "b": weights, "c": offsets}, {"y": ((2, 256), F16)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    rows = np.asarray(done.output())
    grid = src.reshape(2, 2, 128)
    for row, weight in zip(
        rows, (weights[:4].reshape(2, 2, 1), np.repeat(weights, 16).reshape(2, 2, 128)), strict=True
    ):
        products = (grid * weight).astype(np.float16)
        assert models.same(row.reshape(2, 128), (products[:, 0] + products[:, 1]).astype(np.float16))
