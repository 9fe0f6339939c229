"""Mathematics of the high-level library against SciPy: every half there is, floats of every size, every form."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType, Severity
from tests.twin import library_models as library
from tests.twin.models import same
from tests.twin.running import Finished, Twin

UNARY = sorted(library.UNARY)
SIMPLE = [row.name for row in library.functions() if row.kind == "UNARY"]  # those with all four forms
N = 4096  # floats per function

#: Where SciPy's own float64 result is off by more than a half's or a float's rounding, next to zeros of the function.
NEAR_ZEROS = {"Lgamma": 1e-12, "Digamma": 1e-12}
#: In float, results that round to the neighbour of the correctly rounded one: at most this many of ``N``.
MISROUNDED = 2

SETUP = """
TPipe pipe;
TBuf<TPosition::VECCALC> ba, bd, bt;
pipe.InitBuffer(ba, {n} * sizeof({t}));
pipe.InitBuffer(bd, {n} * sizeof({t}));
pipe.InitBuffer(bt, 8192);
LocalTensor<{t}> a = ba.Get<{t}>(), d = bd.Get<{t}>();
LocalTensor<uint8_t> tmp = bt.Get<uint8_t>();
GlobalTensor<{t}> gx, gy;
gx.SetGlobalBuffer((__gm__ {t}*)x);
gy.SetGlobalBuffer((__gm__ {t}*)y);
"""


def floats(seed: int) -> np.ndarray:
    """Ordinary values, values of every exponent, and the special ones."""
    rng = np.random.default_rng(seed)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, 1e-45, -1e-45, 3.4e38, 89.0, -104.0]
    parts = [
        np.array(special),
        rng.uniform(-1, 1, N // 4),
        rng.uniform(-30, 30, N // 4),
        rng.integers(0, 2**32, N // 4, dtype=np.uint32).view(np.float32),
        1 + rng.normal(0, 1e-3, N // 8),
    ]
    parts.append(rng.normal(0, 100, N - sum(map(len, parts))))
    with np.errstate(all="ignore"):
        return np.concatenate(parts).astype(np.float32)


def check(done: Finished) -> None:
    """Nothing was said, except that arguments are outside of a function's documented domain."""
    assert {diagnostic.rule for diagnostic in done.diagnostics} <= {"out_of_domain"}, [
        str(diagnostic) for diagnostic in done.diagnostics
    ]


def assert_close(name: str, actual: np.ndarray, x: np.ndarray, dtype: DType, misrounded: int = 0) -> None:
    exact = library.evaluate(name, x)
    wanted = library.rounded(exact, dtype)
    if name in NEAR_ZEROS:  # an absolute error of the reference there: leave those elements out
        with np.errstate(all="ignore"):
            sure = ~(np.abs(exact) < NEAR_ZEROS[name] * 2.0 ** (12 if dtype is DType.FLOAT16 else 26))
        actual, wanted, x = actual[sure], wanted[sure], x[sure]
    different = ~((actual == wanted) | (np.isnan(actual) & np.isnan(wanted)))
    assert same(actual, wanted, ulps=1), (name, x[different][:8], actual[different][:8], wanted[different][:8])
    assert different.sum() <= misrounded, (name, different.sum(), x[different][:8])


def test_every_function_has_a_model_and_scratch() -> None:
    names = {row.name for row in library.functions()}
    other = {"Axpy", "ClampMax", "ClampMin", "ReduceXorSum", "SwiGLU", "Swish", "Xor"}
    assert names == {*library.UNARY, *library.BINARY, *other}
    assert names <= library.scratch()


def test_every_half_there_is(twin: Twin) -> None:
    """Correctly rounded, for all 65,536 arguments."""
    n = 32768
    lines = []
    for index, name in enumerate(UNARY):
        for half in range(2):
            call = f"{name}<half, 3>" if name == "Exp" else name
            lines.append(f"DataCopy(a, gx[{half * n}], {n});\n{call}(d, a, {n});")
            lines.append(f"DataCopy(gy[{index * 65536 + half * n}], d, {n});")
    body = SETUP.format(n=n, t="half") + "\n".join(lines)
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    done = twin.run(body, {"x": x}, {"y": ((len(UNARY), 65536), DType.FLOAT16)})
    check(done)
    for name, actual in zip(UNARY, np.asarray(done.output()), strict=True):
        assert_close(name, actual, x, DType.FLOAT16)


def test_floats(twin: Twin) -> None:
    """Less than a unit in the last place off, and almost always correctly rounded; with scratch."""
    lines = []
    for index, name in enumerate(UNARY):
        call = f"{name}<float, 3>" if name == "Exp" else name
        scratch = "" if name == "Silu" else "tmp, "
        lines.append(f"{call}(d, a, {scratch}{N});\nDataCopy(gy[{index * N}], d, {N});")
    body = SETUP.format(n=N, t="float") + f"DataCopy(a, gx, {N});\n" + "\n".join(lines)
    x = floats(1)
    done = twin.run(body, {"x": x}, {"y": ((len(UNARY), N), DType.FLOAT32)})
    check(done)
    for name, actual in zip(UNARY, np.asarray(done.output()), strict=True):
        assert_close(name, actual, x, DType.FLOAT32, MISROUNDED)


@pytest.mark.parametrize("form", ["tmp, 37", "37", "tmp", ""])
def test_forms(twin: Twin, form: str) -> None:
    """With and without scratch and count; elements beyond the count stay as they were."""
    lines = []
    for index, name in enumerate(SIMPLE):
        arguments = f"d, a, {form}".rstrip(", ")
        call = f"{name}<float, false>" if index % 2 else name
        lines.append(f"Duplicate(d, 5.0f, 64);\n{call}({arguments});\nDataCopy(gy[{index * 64}], d, 64);")
    body = SETUP.format(n=64, t="float") + "DataCopy(a, gx, 64);\n" + "\n".join(lines)
    x = np.random.default_rng(2).uniform(0.1, 0.9, 64).astype(np.float32)
    done = twin.run(body, {"x": x}, {"y": ((len(SIMPLE), 64), DType.FLOAT32)})
    check(done)
    count = 37 if "37" in form else 64
    for name, actual in zip(SIMPLE, np.asarray(done.output()), strict=True):
        assert_close(name, actual[:count], x[:count], DType.FLOAT32)
        assert (actual[count:] == 5).all()


def test_functions_as_template_arguments(twin: Twin) -> None:
    """Twelve functions have exactly this type, so that kernels can be written over them."""
    names = ["Sigmoid", "Tanh", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Erf", "Erfc"]
    before = """
    template <typename T>
    using Each = void(const LocalTensor<T>&, const LocalTensor<T>&, const uint32_t);
    template <typename T, Each<T>* op>
    __aicore__ inline void Apply(const LocalTensor<T>& d, const LocalTensor<T>& a, uint32_t n) { op(d, a, n); }
    """
    calls = "\n".join(
        f"Apply<float, {name}<float, false>>(d, a, 64);\nDataCopy(gy[{index * 64}], d, 64);\n"
        f"Apply<half, {name}<half, false>>(d.ReinterpretCast<half>(), a.ReinterpretCast<half>(), 16);"
        for index, name in enumerate(names)
    )
    x = np.random.default_rng(3).uniform(-0.9, 0.9, 64).astype(np.float32)
    body = SETUP.format(n=64, t="float") + "DataCopy(a, gx, 64);\n" + calls
    done = twin.run(body, {"x": x}, {"y": ((12, 64), DType.FLOAT32)}, before=before)
    check(done)
    for name, actual in zip(names, np.asarray(done.output()), strict=True):
        assert_close(name, actual, x, DType.FLOAT32)


TWO = """
TPipe pipe;
TBuf<TPosition::VECCALC> ba, bb, bd, bt;
pipe.InitBuffer(ba, {n} * sizeof({t}));
pipe.InitBuffer(bb, {n} * sizeof({t}));
pipe.InitBuffer(bd, {n} * sizeof({t}));
pipe.InitBuffer(bt, 8192);
LocalTensor<{t}> la = ba.Get<{t}>(), lb = bb.Get<{t}>(), d = bd.Get<{t}>();
LocalTensor<uint8_t> tmp = bt.Get<uint8_t>();
GlobalTensor<{t}> ga, gb, gy;
ga.SetGlobalBuffer((__gm__ {t}*)a);
gb.SetGlobalBuffer((__gm__ {t}*)b);
gy.SetGlobalBuffer((__gm__ {t}*)y);
DataCopy(la, ga, {n});
DataCopy(lb, gb, {n});
"""


def run_two(
    twin: Twin, dtype: DType, calls: list[str], a: np.ndarray, b: np.ndarray, *, before: str = ""
) -> np.ndarray:
    """Each call's ``d`` as a row of the result; ``d`` holds the second operand beforehand."""
    n = len(a)
    text = "".join(
        f"DataCopy(d, gb, {n});\n{call}\nDataCopy(gy[{index * n}], d, {n});\n" for index, call in enumerate(calls)
    )
    body = TWO.format(n=n, t=dtype.ascend_c) + text
    done = twin.run(body, {"a": a, "b": b}, {"y": ((len(calls), n), dtype)}, before=before)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def grid(dtype: DType, seed: int, n: int = 1024) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of ordinary values, of small integers, and all pairs of special values."""
    rng = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e-7, np.inf, -np.inf, np.nan])
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    integers = rng.integers(-9, 10, (2, n // 4)).astype(np.float64)
    rest = n - len(a) - n // 4
    a = np.concatenate([a, integers[0], np.abs(rng.normal(0, 3, rest))])
    b = np.concatenate([b, integers[1], rng.normal(0, 4, rest)])
    return a.astype(dtype.numpy()), b.astype(dtype.numpy())


def test_power_and_fmod(twin: Twin, dtype: DType) -> None:
    """All four forms of the tensor-tensor functions, special values as in C."""
    a, b = grid(dtype, 4)
    n = len(a)
    calls = [f"Power(d, la, lb, tmp, {n});", "Power(d, la, lb, tmp);", f"Power(d, la, lb, {n});", "Power(d, la, lb);"]
    calls += [call.replace("Power", "Fmod") for call in calls]
    rows = run_two(twin, dtype, calls, a, b)
    for index, actual in enumerate(rows):
        name = calls[index].partition("(")[0]
        wanted = library.rounded(library.evaluate(name, a, b), dtype)
        bad = ~((actual == wanted) | (np.isnan(actual) & np.isnan(wanted)))
        assert not bad.any(), (calls[index], a[bad][:5], b[bad][:5], actual[bad][:5], wanted[bad][:5])


def test_fmod_of_any_two_floats(twin: Twin) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2**32, (2, 2048), dtype=np.uint32).view(np.float32)
    [actual] = run_two(twin, DType.FLOAT32, ["Fmod(d, la, lb, 2048);"], a, b)
    with np.errstate(all="ignore"):
        assert same(actual, np.fmod(a, b))


def test_power_with_a_scalar(twin: Twin, dtype: DType) -> None:
    a, b = grid(dtype, 6, 512)
    t = dtype.ascend_c
    exponents = {
        f"Power<{t}, false>(d, la, ({t})2.0, tmp, 512);": 2.0,
        f"Power(d, la, ({t})-1.5, tmp);": -1.5,
        f"Power<{t}, false>(d, la, ({t})0.5, 512);": 0.5,
        f"Power(d, la, ({t})3.0);": 3.0,
    }
    bases = {
        f"Power<{t}, false>(d, ({t})2.0, lb, tmp, 512);": 2.0,
        f"Power(d, ({t})0.5, lb, tmp);": 0.5,
        f"Power<{t}, false>(d, ({t})-1.0, lb, 512);": -1.0,
        f"Power(d, ({t})0.0, lb);": 0.0,
    }
    exact = {call: library.evaluate("Power", a, np.full(512, scalar)) for call, scalar in exponents.items()}
    exact |= {call: library.evaluate("Power", np.full(512, scalar), b) for call, scalar in bases.items()}
    for call, actual in zip(exact, run_two(twin, dtype, list(exact), a, b), strict=True):
        assert same(actual, library.rounded(exact[call], dtype)), call


def test_power_of_integers(twin: Twin) -> None:
    """Modulo 2^32; a negative exponent leaves only 1 and -1."""
    rng = np.random.default_rng(7)
    a = rng.integers(-12, 12, 256).astype(np.int32)
    b = rng.integers(-4, 12, 256).astype(np.int32)
    calls = ["Power(d, la, lb, tmp, 256);", "Power(d, la, 3);", "Power(d, -2, lb, 256);"]

    def power(x: int, y: int) -> int:
        if y < 0:
            return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)
        return int((x**y + 2**31) % 2**32 - 2**31)

    rows = run_two(twin, DType.INT32, calls, a, b)
    assert rows[0].tolist() == [power(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert rows[1].tolist() == [power(int(x), 3) for x in a]
    assert rows[2].tolist() == [power(-2, int(y)) for y in b]


@pytest.mark.parametrize("shift", [-1504, -8, 8, 512, 1504])
def test_a_result_inside_its_source_is_warned_of_and_does_not_depend_on_how_the_work_is_cut(
    twin: Twin, shift: int
) -> None:
    n, start = 1600, 1600
    x = np.random.default_rng(shift % 97).normal(0, 2, n).astype(np.float32)
    body = (
        SETUP.format(n=3 * n + 1600, t="float")
        + f"""
    LocalTensor<float> from = a[{start}], into = a[{start + shift}];
    DataCopy(from, gx, {n});
    PipeBarrier<PIPE_ALL>();
    Sigmoid(into, from, tmp, {n});
    PipeBarrier<PIPE_ALL>();
    DataCopy(gy, into, {n});
    PipeBarrier<PIPE_ALL>();
    DataCopy(from, gx, {n});
    PipeBarrier<PIPE_ALL>();
    Power(into, from, from, tmp, {n});
    PipeBarrier<PIPE_ALL>();
    DataCopy(gy[{n}], into, {n});
    """
    )
    done = twin.run(body, {"x": np.abs(x)}, {"y": ((2 * n,), DType.FLOAT32)})
    assert {diagnostic.rule for diagnostic in done.diagnostics} == {"overlap"}
    assert {diagnostic.severity for diagnostic in done.diagnostics} == {Severity.WARNING}
    assert_close("Sigmoid", done.output()[:n], np.abs(x), DType.FLOAT32)
    wide = np.abs(x).astype(np.float64)
    assert same(done.output()[n:], (wide**wide).astype(np.float32), ulps=1)


@pytest.mark.parametrize("dtype", [DType.INT16, DType.UINT16])
def test_xor(twin: Twin, dtype: DType) -> None:
    info = np.iinfo(dtype.value)
    a, b = np.random.default_rng(8).integers(info.min, info.max, (2, 256), dtype=dtype.value, endpoint=True)
    calls = ["Xor(d, la, lb, tmp, 200);", "Xor(d, la, lb, tmp);", "Xor(d, la, lb, 200);", "Xor(d, la, lb);"]
    rows = run_two(twin, dtype, calls, a, b)
    for actual, count in zip(rows, (200, 256, 200, 256), strict=True):
        assert (actual[:count] == (a ^ b)[:count]).all()
        assert (actual[count:] == b[count:]).all()


def test_clamps_and_axpy(twin: Twin, dtype: DType) -> None:
    a, b = grid(dtype, 9, 512)
    t = dtype.ascend_c
    calls = [
        f"ClampMax(d, la, tmp, ({t})1.5, 512);",
        f"ClampMax<{t}>(d, la, ({t})1.5, 512);",
        f"ClampMin(d, la, tmp, ({t})-0.25, 512);",
        f"ClampMin<{t}>(d, la, ({t})-0.25, 512);",
        f"Axpy(d, la, ({t})0.3, tmp, 512);",
    ]
    rows = run_two(twin, dtype, calls, a, b)
    kind = dtype.numpy()
    with np.errstate(all="ignore"):
        for actual in rows[:2]:
            assert same(actual, np.where(a > kind.type(1.5), kind.type(1.5), a))
        for actual in rows[2:4]:
            assert same(actual, np.where(a < kind.type(-0.25), kind.type(-0.25), a))
        assert same(rows[4], (a * kind.type(0.3) + b).astype(kind))


def test_axpy_of_halfs_into_floats(twin: Twin) -> None:
    a = np.random.default_rng(10).normal(0, 2, 128).astype(np.float16)
    d = np.arange(128, dtype=np.float32)
    body = (
        TWO.format(n=128, t="float")
        .replace(
            "ga.SetGlobalBuffer((__gm__ float*)a);", "GlobalTensor<half> gh;\ngh.SetGlobalBuffer((__gm__ half*)a);"
        )
        .replace("DataCopy(la, ga, 128);", "LocalTensor<half> lh = ba.Get<half>();\nDataCopy(lh, gh, 128);")
    )
    body += "Axpy(lb, lh, (half)1.5, tmp, 128);\nDataCopy(gy, lb, 128);"
    done = twin.run(body, {"a": a, "b": d}, {"y": ((128,), DType.FLOAT32)})
    assert same(np.asarray(done.output()), d + a.astype(np.float32) * np.float32(1.5))


def test_wrong_types_are_named(twin: Twin) -> None:
    body = "LocalTensor<int32_t> t;\nTanh(t, t, 8);"
    done = twin.run(body)
    assert "Tanh is not available for this element type; it takes F16 | F32" in str(done.errors[0])
