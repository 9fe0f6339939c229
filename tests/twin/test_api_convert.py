"""Cast under every documented rounding mode, Compare, Select, Duplicate, Brcb, Copy, CreateVecIndex against NumPy."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from npukb_twin.compile.instructions import casts
from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.rows import TYPES
from tests.twin.running import Twin

N = 256
MODES = ("NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD")
#: Modes as casts.def names them.
NAMES = {"Exact": ("NONE",), "Five": ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC"), "Odd": ("ODD",)}
F16, BF16, F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32
I8, U8, I16, I32, I64 = DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64

#: Destination, source, the modes that the documentation lists for the pair. int4b_t and DEQSCALE have their own tests.
PAIRS = [
    (
        TYPES[row.dst],
        TYPES[row.src],
        tuple(mode for name, modes in NAMES.items() if name in row.modes for mode in modes),
    )
    for row in casts()
    if "I4" not in (row.dst, row.src) and (row.dst, row.src) != ("F16", "I32")
]


def load(t: str, name: str = "a", n: int = N) -> str:
    return f"""TBuf<TPosition::VECCALC> b_{name};
    pipe.InitBuffer(b_{name}, {n} * sizeof({t}) < 32 ? 32 : {n} * sizeof({t}));
    LocalTensor<{t}> l_{name} = b_{name}.Get<{t}>();
    GlobalTensor<{t}> g_{name};
    g_{name}.SetGlobalBuffer((__gm__ {t}*){name});
    DataCopy(l_{name}, g_{name}, {n});"""


def store(t: str, n: int, at: int = 0) -> str:
    return f"""GlobalTensor<{t}> g_y{at};
    g_y{at}.SetGlobalBuffer((__gm__ {t}*)y);
    DataCopy(g_y{at}[{at * n}], l_y, {n});"""


def source_values(dtype: DType, seed: int) -> np.ndarray:
    """Values of a source type, half of them where rounding is decided."""
    values = models.samples(dtype, N, seed)
    if not dtype.is_exact:
        rng = np.random.default_rng(seed)
        ties = rng.integers(-40, 40, 64) + 0.5
        near = rng.normal(0, 1, 32) * 2.0 ** rng.integers(-16, 16, 32)
        fine = 1 + rng.integers(0, 64, 32) / 2.0**12
        values[64:192] = np.concatenate([ties, near, fine]).astype(values.dtype)
    return values


def to_integer(value: float, mode: str, dtype: DType) -> int:
    info = np.iinfo(dtype.value)
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return int(info.max if value > 0 else info.min)
    exact = Fraction(float(value))
    floor = exact.numerator // exact.denominator
    rest = exact - floor
    rounded = {
        "FLOOR": floor,
        "CEIL": floor + (rest > 0),
        "TRUNC": floor + (rest > 0 and exact < 0),
        "ROUND": floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and exact > 0)),
    }.get(mode, floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1)))
    return int(min(max(rounded, info.min), info.max))


def to_float(value: object, mode: str, dtype: DType) -> np.generic:
    """The nearest value of a float type in the direction of the mode, found among neighbours of the nearest one."""
    kind = dtype.numpy().type
    with np.errstate(all="ignore"):
        nearest = kind(np.float64(value)) if not isinstance(value, int) else kind(value)
    if not np.isfinite(np.float64(nearest)) or mode in ("NONE", "RINT"):
        return nearest  # what overflows is infinite under every mode
    exact = Fraction(value) if isinstance(value, int) else Fraction(float(value))  # type: ignore[arg-type]
    step = ml_dtypes.finfo(dtype.numpy())
    around = [nearest, *(np.nextafter(nearest, kind(limit)) for limit in (-np.inf, np.inf))]
    finite = sorted((x for x in around if np.isfinite(np.float64(x))), key=float)
    below = [x for x in finite if Fraction(float(x)) <= exact]
    above = [x for x in finite if Fraction(float(x)) >= exact]
    low = below[-1] if below else kind(-np.inf)
    high = above[0] if above else kind(np.inf)
    if low == high:
        return nearest
    if mode in ("FLOOR", "CEIL", "TRUNC"):
        up = mode == "CEIL" or (mode == "TRUNC" and exact < 0)
        return high if up else low
    if mode == "ROUND":
        if not (below and above):
            return nearest
        to_low, to_high = exact - Fraction(float(low)), Fraction(float(high)) - exact
        if to_low == to_high:
            return high if exact > 0 else low
        return low if to_low < to_high else high
    assert step is not None
    odd = [x for x in (low, high) if int(np.asarray(x).view(np.uint16)) & 1]
    return odd[0]


def model(values: np.ndarray, dst: DType, mode: str) -> np.ndarray:
    if dst.is_exact:
        if values.dtype.kind in "iu":
            info = np.iinfo(dst.value)
            return np.clip(values.astype(object), info.min, info.max).astype(dst.value)
        return np.array([to_integer(float(v), mode, dst) for v in values], dtype=dst.value)
    if dst is F32 and values.dtype == np.float32:
        rounding = {"RINT": np.rint, "FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc}
        away = lambda x: np.trunc(x) + (np.abs(x - np.trunc(x)) >= 0.5) * np.sign(x)  # noqa: E731
        with np.errstate(all="ignore"):
            return np.asarray(rounding.get(mode, away)(values)).astype(np.float32) + np.float32(0)
    items = [int(v) if values.dtype.kind in "iu" else v for v in values]
    return np.array([to_float(v, mode, dst) for v in items], dtype=dst.numpy())


@pytest.mark.parametrize(("dst", "src", "modes"), PAIRS, ids=lambda p: p.value if isinstance(p, DType) else "")
def test_cast(twin: Twin, dst: DType, src: DType, modes: tuple[str, ...]) -> None:
    values = source_values(src, seed=11)
    calls = [
        f"Cast(l_y, l_a, RoundMode::CAST_{mode}, {N});\n{store(dst.ascend_c, N, at)}" for at, mode in enumerate(modes)
    ]
    body = f"""TPipe pipe;
    {load(src.ascend_c)}
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N} * sizeof({dst.ascend_c}));
    LocalTensor<{dst.ascend_c}> l_y = b_y.Get<{dst.ascend_c}>();
    {" ".join(calls)}"""
    done = twin.run(body, {"a": values}, {"y": ((len(modes), N), dst)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    for actual, mode in zip(np.asarray(done.output()), modes, strict=True):
        wanted = model(values, dst, mode)
        differ = actual.astype(np.float64) != wanted.astype(np.float64)
        differ &= ~(np.isnan(actual.astype(np.float64)) & np.isnan(wanted.astype(np.float64)))
        assert not differ.any(), (mode, values[differ][:4], actual[differ][:4], wanted[differ][:4])


def test_cast_by_lanes_counts_the_wider_type(twin: Twin) -> None:
    """half to float: 64 lanes a repeat, four source blocks, eight destination blocks."""
    values = models.samples(F16, N, 3)
    body = f"""TPipe pipe;
    {load("half")}
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N} * sizeof(float));
    LocalTensor<float> l_y = b_y.Get<float>();
    Duplicate(l_y, 7.0f, {N});
    Cast(l_y, l_a, RoundMode::CAST_NONE, 40, 3, UnaryRepeatParams(1, 1, 8, 4));
    {store("float", N)}"""
    actual = np.asarray(twin.run(body, {"a": values}, {"y": ((N,), F32)}).output())
    wanted = np.full(N, 7, np.float32)
    for r in range(3):
        wanted[r * 64 : r * 64 + 40] = values[r * 64 : r * 64 + 40].astype(np.float32)
    assert models.same(actual, wanted)


RELATIONS = {
    "LT": np.less, "GT": np.greater, "EQ": np.equal, "LE": np.less_equal, "GE": np.greater_equal,
    "NE": lambda a, b: (a < b) | (a > b),  # unlike IEEE: NaN differs from nothing
}  # fmt: skip


@pytest.mark.parametrize("bits", ["uint8_t", "int8_t", "uint16_t", "int16_t"])
def test_bits_of_a_comparison_lie_the_same_in_every_type(twin: Twin, bits: str) -> None:
    """The page names types of one byte. Kernels that ran on devices give tensors of two as well."""
    a = np.arange(N, dtype=np.float32)
    body = f"""TPipe pipe;
    {load("float", "a")}
    TBuf<TPosition::VECCALC> b_m, b_y;
    pipe.InitBuffer(b_m, {N});
    pipe.InitBuffer(b_y, {N} * 4);
    LocalTensor<{bits}> l_m = b_m.Get<{bits}>();
    LocalTensor<float> l_y = b_y.Get<float>();
    Duplicate(l_y, 7.0f, {N});
    Compare(l_m, l_a, l_y, CMPMODE::LT, {N});
    Select(l_y, l_m.template ReinterpretCast<uint8_t>(), l_a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, {N});
    {store("float", N, 0)}
    CompareScalar(l_m, l_a, 9.0f, CMPMODE::GE, {N});
    Select(l_y, l_m.template ReinterpretCast<uint8_t>(), l_a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, {N});
    {store("float", N, 1)}"""
    done = twin.run(body, {"a": a}, {"y": ((2, N), F32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert np.array_equal(done.output(), [np.where(a < 7, a, 0), np.where(a >= 9, a, 0)])


def test_compare_packs_bits_and_select_reads_them(twin: Twin, dtype: DType) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-2, 3, N).astype(dtype.numpy())
    b = rng.integers(-2, 3, N).astype(dtype.numpy())
    a[:3] = [np.nan, np.inf, -0.0]
    t = dtype.ascend_c
    calls = "".join(
        f"""Compare(l_m, l_a, l_b, CMPMODE::{name}, {N});
        Select(l_y, l_m, l_a, l_b, SELMODE::VSEL_TENSOR_TENSOR_MODE, {N});
        {store(t, N, 3 * at)}
        Compares(l_m, l_a, ({t})1, CMPMODE::{name}, {N});
        Select(l_y, l_m, l_a, ({t})9, SELMODE::VSEL_TENSOR_SCALAR_MODE, {N});
        {store(t, N, 3 * at + 1)}
        Select(l_y, l_m, l_a, l_b, SELMODE::VSEL_CMPMASK_SPR, {N});
        {store(t, N, 3 * at + 2)}
        """
        for at, name in enumerate(RELATIONS)
    )
    body = f"""TPipe pipe;
    {load(t, "a")} {load(t, "b")}
    TBuf<TPosition::VECCALC> b_m, b_y;
    pipe.InitBuffer(b_m, {N});
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    LocalTensor<uint8_t> l_m = b_m.Get<uint8_t>();
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    {calls}"""
    done = twin.run(body, {"a": a, "b": b}, {"y": ((3 * len(RELATIONS), N), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    rows = np.asarray(done.output())
    lanes = 256 // dtype.itemsize
    for at, relation in enumerate(RELATIONS.values()):
        one = dtype.numpy().type(1)
        assert models.same(rows[3 * at], np.where(relation(a, b), a, b))
        assert models.same(rows[3 * at + 1], np.where(relation(a, one), a, dtype.numpy().type(9)))
        register = np.resize(relation(a, one)[:lanes], N)  # one repeat's bits serve every repeat
        assert models.same(rows[3 * at + 2], np.where(register, a, b))


def test_int32_equality_is_exact(twin: Twin) -> None:
    a = np.arange(N, dtype=np.int32) + 2**24
    b = a.copy()
    b[::3] += 1
    body = f"""TPipe pipe;
    {load("int32_t", "a")} {load("int32_t", "b")}
    TBuf<TPosition::VECCALC> b_m;
    pipe.InitBuffer(b_m, {N});
    LocalTensor<uint8_t> l_y = b_m.Get<uint8_t>();
    Compare(l_y, l_a, l_b, CMPMODE::EQ, {N});
    {store("uint8_t", N // 8)}"""
    actual = np.asarray(twin.run(body, {"a": a, "b": b}, {"y": ((N // 8,), U8)}).output(), np.uint8)
    assert np.array_equal(np.unpackbits(actual, bitorder="little"), a == b)


@pytest.mark.parametrize("dtype", [F16, BF16, F32, I16, I32], ids=lambda d: d.value)
def test_duplicate_brcb_and_copy(twin: Twin, dtype: DType) -> None:
    values = np.arange(N).astype(dtype.numpy())
    t, block = dtype.ascend_c, 32 // dtype.itemsize
    body = f"""TPipe pipe;
    {load(t)}
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    {t} scalar = g_a.GetValue(5);
    Duplicate(l_y, scalar, {N});
    Copy(l_y, l_a, {block}, 2, CopyRepeatParams(1, 1, 2, 1));
    {store(t, N, 0)}
    Brcb(l_y, l_a[{block}], 1, BrcbRepeatParams(1, 8));
    {store(t, N, 1)}"""
    rows = np.asarray(twin.run(body, {"a": values}, {"y": ((2, N), dtype)}).output()).astype(np.float64)
    wanted = np.full(N, 5.0)
    wanted[:block] = values[:block]
    wanted[2 * block : 3 * block] = values[block : 2 * block]
    assert np.array_equal(rows[0], wanted)
    assert np.array_equal(rows[1][: 8 * block], np.repeat(values[block : block + 8].astype(np.float64), block))


@pytest.mark.parametrize("dtype", [F16, F32, I16, I32], ids=lambda d: d.value)
def test_create_vec_index(twin: Twin, dtype: DType) -> None:
    t = dtype.ascend_c
    body = f"""TPipe pipe;
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    CreateVecIndex(l_y, ({t})3, {N});
    {store(t, N)}"""
    actual = np.asarray(twin.run(body, {}, {"y": ((N,), dtype)}).output())
    assert np.array_equal(actual, np.arange(3, 3 + N).astype(dtype.numpy()))
