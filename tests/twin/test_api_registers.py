"""Mask, compare and reduction registers; the compiler's intrinsics, which take their lanes from them."""

from __future__ import annotations

import numpy as np

from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.running import Twin
from tests.twin.test_api_convert import load, store

N = 256
F16, F32, U8, I16 = DType.FLOAT16, DType.FLOAT32, DType.UINT8, DType.INT16


def run(twin: Twin, dtype: DType, calls: list[str], values: dict[str, np.ndarray] | None = None) -> np.ndarray:
    """Each call works on l_a and l_b, of N elements, and leaves its row in l_y, which starts as -1."""
    t = dtype.ascend_c
    rows = "".join(f"Duplicate(l_y, ({t})-1, {N});\n{call}\n{store(t, N, at)}" for at, call in enumerate(calls))
    body = f"""TPipe pipe;
    {load(t, "a", N)} {load(t, "b", N)}
    TBuf<TPosition::VECCALC> b_y, b_m, b_w;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    pipe.InitBuffer(b_m, 256);
    pipe.InitBuffer(b_w, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>(), l_w = b_w.Get<{t}>();
    LocalTensor<uint8_t> l_m = b_m.Get<uint8_t>();
    __ubuf__ {t}* y_ = (__ubuf__ {t}*)l_y.GetPhyAddr();
    __ubuf__ {t}* a_ = (__ubuf__ {t}*)l_a.GetPhyAddr();
    __ubuf__ {t}* b_ = (__ubuf__ {t}*)l_b.GetPhyAddr();
    (void)y_, (void)a_, (void)b_;
    {rows}"""
    done = twin.run(body, values or sources(dtype), {"y": ((len(calls), N), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def sources(dtype: DType) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(9)
    if dtype.is_exact:
        return {name: rng.integers(-99, 99, N, dtype=dtype.value) for name in "ab"}
    return {name: rng.normal(0, 4, N).astype(dtype.numpy()) for name in "ab"}


def placed(full: np.ndarray, on: np.ndarray) -> np.ndarray:
    return np.where(on, full, full.dtype.type(-1))


PARAMS = "BinaryRepeatParams(1, 1, 1, 8, 8, 8)"


def test_every_way_to_set_the_mask(twin: Twin) -> None:
    add = f"Add<float, false>(l_y, l_a, l_b, MASK_PLACEHOLDER, 2, {PARAMS});"
    rows = run(twin, F32, [
        f"SetMaskNorm(); SetVectorMask<float>(7); {add} ResetMask();",
        f"SetVectorMask<float, MaskMode::NORMAL>(0, 0x81); {add} ResetMask();",
        f"AscendCUtils::SetMask<float>(9); {add} AscendCUtils::ResetMask();",
        f"AscendCUtils::SetMask<float>(0, 6); {add} ResetMask();",
        f"SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 70); {add} SetMaskNorm(); ResetMask();",
        f"set_mask_count(); set_vector_mask(0, 200); {add} set_mask_norm(); set_vector_mask(-1, -1);",
        f"{add}",
        f"SetMaskCount(); uint64_t some[2] = {{100, 0}}; Add(l_y, l_a, l_b, some, 1, {PARAMS}); SetMaskNorm(); "
        f"ResetMask();",
        f"SetMaskCount(); Add(l_y, l_a, l_b, 3); {add}",
        f"Add(l_w, l_a, l_b, 5, 1, {PARAMS}); {add} ResetMask();",
        f"SetVectorMask<float>(0); {add} ResetMask();",
    ])  # fmt: skip
    values = sources(F32)
    full = values["a"] + values["b"]
    index = np.arange(N)
    lane, two = index % 64, index < 128
    on = [
        two & (lane < 7), two & np.isin(lane, [0, 7]), two & (lane < 9), two & np.isin(lane, [1, 2]),
        index < 70, index < 200, two, index < 100,
        two,  # the form by count ends in normal mode with all lanes on
        two & (lane < 5),  # the form by lanes leaves its lanes behind
        index < 0,
    ]  # fmt: skip
    for row, taken in zip(rows, on, strict=True):
        assert models.same(row, placed(full, taken))
    assert run(twin, F32, ["l_y.SetValue(0, (float)AscendCUtils::GetC0Count(2));"])[0][0] == 16


def test_shifts_and_sums_by_count_may_use_the_register(twin: Twin) -> None:
    values = {"a": models.samples(I16, N, 1), "b": models.samples(I16, N, 2)}
    rows = run(twin, I16, [
        "SetMaskCount(); SetVectorMask<int16_t, MaskMode::COUNTER>(33); "
        "ShiftLeft<int16_t, false>(l_y, l_a, (int16_t)2, 1);\n"
        "SetMaskNorm(); ResetMask();",
        "ShiftRight(l_y, l_a, (int16_t)5, 128, 2, UnaryRepeatParams(1, 1, 8, 8), true);",
        "uint64_t bits[2] = {3, 0}; ShiftRight(l_y, l_a, (int16_t)5, bits, 1, UnaryRepeatParams(1, 1, 8, 8), false);",
    ], values)  # fmt: skip
    a, index = values["a"], np.arange(N)
    assert np.array_equal(rows[0], placed(a << 2, index < 33))
    assert np.array_equal(rows[1], (a >> 5) + ((a >> 4) & 1))
    assert np.array_equal(rows[2], placed(a >> 5, index < 2))


def test_compare_into_the_register_and_select_from_it(twin: Twin, dtype: DType) -> None:
    t, lanes = dtype.ascend_c, 256 // dtype.itemsize
    rows = run(twin, dtype, [
        f"Compare(l_a, l_b, CMPMODE::LT, {lanes}, {PARAMS});\n"
        f"Select<{t}, SELMODE::VSEL_CMPMASK_SPR>(l_y, l_a, l_b, 2, {PARAMS});",
        f"uint64_t some[2] = {{0xff, 0}}; Compare(l_a, l_b, CMPMODE::GE, some, {PARAMS}); ResetMask();\n"
        f"Select<{t}, SELMODE::VSEL_CMPMASK_SPR>(l_y, l_a, l_b, 1, {PARAMS});",
        f"Compare(l_m, l_a, l_b, CMPMODE::GT, {N}); SetCmpMask(l_m);\n"
        f"Select<{t}, SELMODE::VSEL_CMPMASK_SPR>(l_y, l_a, l_b, 1, {PARAMS});",
        f"Compares(l_m, l_a, ({t})1, CMPMODE::GT, {lanes}, {N // lanes}, UnaryRepeatParams(1, 1, 8, 8));\n"
        f"Duplicate(l_w, ({t})3, {N}); SetCmpMask(l_w); Select<{t}, uint8_t>(l_y, l_m, l_a, {N // lanes}, {PARAMS});",
        f"LocalTensor<uint64_t> where = l_w.template ReinterpretCast<uint64_t>();\n"
        f"where.SetValue(0, (uint64_t)l_m.GetPhyAddr()); where.SetValue(1, 0ull); SetCmpMask(where);\n"
        f"Select<{t}, SELMODE::VSEL_TENSOR_TENSOR_MODE>(l_y, l_a, l_b, {N // lanes}, {PARAMS});",
        f"Select(l_y, l_m, l_a, l_b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 5, {N // lanes}, {PARAMS});",
        f"uint64_t few[2] = {{0x11, 0}}; "
        f"Select(l_y, l_m, l_a, ({t})9, SELMODE::VSEL_TENSOR_SCALAR_MODE, few, 1, {PARAMS});",
        f"ResetMask(); CompareScalar(l_m, l_a, ({t})0, CMPMODE::LE, {N});\n"
        f"Select(l_y, l_m, l_a, l_b, SELMODE::VSEL_CMPMASK_SPR, {lanes}, 2, {PARAMS});",
        "set_vector_mask(-1, -1); vcmp_lt(a_, b_, 1, 1, 1, 1, 8, 8, 8); vsel(y_, a_, b_, 2, 1, 1, 1, 8, 8, 8);",
        "vcmpv_gt((__ubuf__ uint8_t*)l_m.GetPhyAddr(), a_, b_, 1, 1, 1, 1, 8, 8, 8);\n"
        "set_cmpmask((__ubuf__ uint8_t*)l_m.GetPhyAddr()); vsel(y_, a_, b_, 1, 1, 1, 1, 8, 8, 8);",
        f"vcmpvs_ge((__ubuf__ uint8_t*)l_m.GetPhyAddr(), a_, ({t})1, 1, 1, 1, 8, 8);\n"
        f"set_cmpmask((__ubuf__ uint8_t*)l_m.GetPhyAddr()); vsel(y_, a_, b_, 1, 1, 1, 1, 8, 8, 8);",
        "GetCmpMask(l_m); SetCmpMask(l_m); vsel(y_, a_, b_, 1, 1, 1, 1, 8, 8, 8);",
    ])  # fmt: skip
    values = sources(dtype)
    a, b = values["a"], values["b"]
    index = np.arange(N)
    lane = index % lanes
    first, two = index < lanes, index < 2 * lanes
    one, three, nine = (dtype.numpy().type(x) for x in (1, 3, 9))
    wanted = [
        placed(np.where((a < b)[lane], a, b), two),
        placed(np.where((a >= b) & (index < 8), a, b), first),
        placed(np.where(a > b, a, b), first),
        np.where(a > one, a, three),
        np.where(a > one, a, b),
        placed(np.where(a > one, a, b), lane < 5),
        placed(np.where(a > one, a, nine), np.isin(index, [0, 4])),
        placed(np.where((a <= 0)[lane], a, b), two),
        placed(np.where((a < b)[lane], a, b), two),
        placed(np.where(a > b, a, b), first),
        placed(np.where(a >= one, a, b), first),
        placed(np.where(a >= one, a, b), first),
    ]
    for at, (row, want) in enumerate(zip(rows, wanted, strict=True)):
        assert models.same(row, want), at


def test_nan_differs_from_nothing(twin: Twin) -> None:
    """CMPMODE::NE on this chip is false for NaN, in registers and in UB."""
    values = sources(F32)
    values["a"][3] = np.nan
    rows = run(twin, F32, [
        f"Compare(l_a, l_a, CMPMODE::NE, 64, {PARAMS}); "
        f"Select<float, SELMODE::VSEL_CMPMASK_SPR>(l_y, l_a, l_b, 1, {PARAMS});",
        f"Compare(l_m, l_a, l_b, CMPMODE::NE, {N}); Select(l_y, l_m, l_a, l_b, SELMODE::VSEL_TENSOR_TENSOR_MODE, {N});",
    ], values)  # fmt: skip
    assert models.same(rows[0][:64], values["b"][:64])
    assert models.same(rows[1], np.where(np.isnan(values["a"]), values["b"], values["a"]))


def test_vector_intrinsics(twin: Twin, dtype: DType) -> None:
    t, lanes = dtype.ascend_c, 256 // dtype.itemsize
    two = ("vadd", "vsub", "vmul", "vdiv", "vmax", "vmin")
    one = ("vabs", "vexp", "vln", "vrec", "vrelu", "vrsqrt", "vsqrt")
    scalar = ("vadds", "vmuls", "vmaxs", "vmins", "vlrelu")
    reset = "set_mask_norm(); set_vector_mask(-1, -1);"
    rows = run(twin, dtype, [
        *(f"{reset} {name}(y_, a_, b_, 2, 1, 1, 1, 8, 8, 0);" for name in two),
        *(f"set_mask_count(); set_vector_mask(0, 150); {name}(y_, a_, 1, 1, 1, 8, 8); {reset}" for name in one),
        *(f"{reset} {name}(y_, a_, ({t})1.5, 1, 1, 1, 8, 8);" for name in scalar),
        f"{reset} vaxpy(y_, a_, ({t})2, 1, 1, 1, 8, 8);",
    ])  # fmt: skip
    values = sources(dtype)
    a, b = values["a"], values["b"]
    index = np.arange(N)
    api = {"vrec": "Reciprocal", "vlrelu": "LeakyRelu"}
    minus, s = np.full(N, -1, dtype.numpy()), np.full(N, 1.5, dtype.numpy())

    def model(name: str, *operands: np.ndarray) -> np.ndarray:
        full = api.get(name, name[1:].capitalize())
        return models.expected(full, *operands)

    for name, row in zip(two, rows, strict=False):
        wanted = placed(model(name, minus, a, b[index % lanes], s), index < 2 * lanes)
        assert models.same(row, wanted), name
    for name, row in zip(one, rows[len(two) :], strict=False):
        assert models.same(row, placed(model(name, minus, a, b, s), index < 150), 1), name
    for name, row in zip(scalar, rows[len(two) + len(one) :], strict=False):
        assert models.same(row, placed(model(name, minus, a, b, s), index < lanes)), name
    assert models.same(
        rows[-1], placed(models.expected("Axpy", minus, a, b, 2 * np.ones(N, dtype.numpy())), index < lanes)
    )


def test_integer_and_converting_intrinsics(twin: Twin) -> None:
    values = {"a": models.samples(I16, N, 1), "b": models.samples(I16, N, 2)}
    rows = run(twin, I16, [
        "set_vector_mask(-1, -1); vor(y_, a_, b_, 2, 1, 1, 1, 8, 8, 8);",
        "vand(y_, a_, b_, 2, 1, 1, 1, 8, 8, 8);",
        "vnot(y_, a_, 2, 1, 1, 8, 8);",
        "vconv_s162f16((__ubuf__ half*)l_w.GetPhyAddr(), a_, 2, 1, 1, 8, 8);\n"
        "vconv_f162s16r(y_, (__ubuf__ half*)l_w.GetPhyAddr(), 2, 1, 1, 8, 8);",
        "vbrcb((__ubuf__ uint16_t*)l_y.GetPhyAddr(), (__ubuf__ uint16_t*)l_a.GetPhyAddr(), 1, 8, 2);",
    ], values)  # fmt: skip
    a, b = values["a"], values["b"]
    assert np.array_equal(rows[0], a | b)
    assert np.array_equal(rows[1], a & b)
    assert np.array_equal(rows[2], ~a)
    assert np.array_equal(rows[3], np.clip(a.astype(np.float16).astype(np.float64), -32768, 32767).astype(np.int16))
    assert np.array_equal(rows[4], np.repeat(a[:16], 16))


def test_reducing_intrinsics_and_what_they_leave_in_registers(twin: Twin, dtype: DType) -> None:
    t, lanes = dtype.ascend_c, 256 // dtype.itemsize
    block, repeats = 32 // dtype.itemsize, N // lanes
    bits = {2: "uint16_t", 4: "uint32_t"}[dtype.itemsize]
    read = f"{t} index; {t} value; GetReduceMaxMinCount<{t}>(value, index); l_y.SetValue(0, value);\n"
    read += f"l_y.SetValue(1, ({t})(float)*({bits}*)&index);"
    rows = run(twin, dtype, [
        f"set_vector_mask(-1, -1); vcadd(y_, a_, {repeats}, 1, 1, 8);",
        f"vcadd(({t}*)nullptr, a_, {repeats}, 1, 1, 8, true); int64_t bits = GetAccVal();\n"
        f"l_y.SetValue(0, *({t}*)&bits); l_y.SetValue(1, GetAccVal<{t}>());",
        f"vcgadd(y_, a_, {repeats}, 1, 1, 8); vcgmax(y_ + {N // 2}, a_, {repeats}, 1, 1, 8);",
        f"vcpadd(y_, a_, {repeats}, 1, 1, 8);",
        f"vcmax(y_, a_, {repeats}, 1, 1, 8, ONLY_VALUE); vcmin(y_ + {N // 2}, a_, {repeats}, 1, 1, 8, INDEX_VALUE);",
        f"WholeReduceMax(l_w, l_a, {lanes}, {repeats}, 1, 1, 8); {read}",
        f"ReduceMin(l_w, l_a, l_w, {N}); {t} v, i; GetReduceRepeatMaxMinSpr<{t}>(v, i); l_y.SetValue(0, v);",
        f"ReduceSum(l_w, l_a, l_w, {N}); l_y.SetValue(0, GetReduceRepeatSumSpr<{t}>()); "
        f"l_y.SetValue(1, l_w.GetValue(0));",
        f"set_mask_count(); set_vector_mask(0, {lanes + 3}); vcadd(y_, a_, 1, 1, 1, 8); set_mask_norm(); "
        f"set_vector_mask(-1, -1);",
        f"SetMaskCount(); SetVectorMask<{t}, MaskMode::COUNTER>(0, {lanes + 3}); "
        f"ReduceSum<{t}, false>(l_y, l_a, l_w, 1);\n"
        "SetMaskNorm(); ResetMask();",
    ])  # fmt: skip
    a = sources(dtype)["a"]
    grid = a.reshape(repeats, lanes)
    sums = models.tree(grid)
    total = sums[0]
    for part in sums[1:]:
        total = a.dtype.type(total + part)
    index = {2: np.uint16, 4: np.uint32}[dtype.itemsize]
    assert models.same(rows[0][:repeats], sums)
    assert (rows[1][0], rows[1][1]) == (total, total)
    assert models.same(rows[2][: N // block], models.tree(a.reshape(-1, block)))
    assert models.same(rows[2][N // 2 : N // 2 + N // block], a.reshape(-1, block).max(axis=1))
    assert models.same(rows[3][: N // 2], (a[0::2] + a[1::2]).astype(a.dtype))
    assert models.same(rows[4][:repeats], grid.max(axis=1))
    assert np.array_equal(rows[4].view(index)[N // 2 : N // 2 + 2 * repeats : 2], grid.argmin(axis=1))
    assert (rows[5][0], rows[5][1]) == (a.max(), a.argmax())
    assert rows[6][0] == a.min()
    assert (rows[7][0], rows[7][1]) == (total, total)
    tail = np.full(lanes, -0.0, a.dtype)
    tail[:3] = grid[1][:3]
    assert (rows[8][0], rows[8][1]) == (sums[0], models.tree(tail))
    assert rows[9][0] == a.dtype.type(sums[0] + models.tree(tail))
