"""Objects that multiply matrices in whole kernels: on cube cores alone, on all cores, and what they are refused for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType
from tests.twin.breaches import Breach, breaches_of_objects
from tests.twin.openings import on_matmul
from tests.twin.running import Finished, Twin
from tests.twin.test_matmul_object import BEFORE, LOCAL, PLAIN, agrees, matrix, numbers, tiling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npukernelbench.nouns.execution import Array

FLOATS = PLAIN[0]

#: A cube core asks nobody: the object lives on it, and so do its results.
CUBE = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
using A = MatmulType<TPosition::GM, CubeFormat::ND, {a}, false, LayoutMode::{layout}>;
using B = MatmulType<TPosition::GM, CubeFormat::ND, {a}, true, LayoutMode::{layout}>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, {c}, false, LayoutMode::{layout}>;
TCubeTiling t = TilingOf(p);
TPipe pipe;
MatmulImpl<A, B, C> mm;
mm.SetSubBlockIdx(0);
mm.Init(&t, &pipe);
mm.SetTensorA(Of<{a}>(a));
mm.SetTensorB(Of<{a}>(b), true);
{calls}
mm.End();
"""
ALONE = "#define ASCENDC_CUBE_ONLY" + BEFORE


def run_cube(
    twin: Twin, calls: str, a: Array, b: Array, size: tuple[int, ...], values: dict[str, int], *,
    types: tuple[str, str] = ("half", "float"), layout: str = "NONE", out: DType = DType.FLOAT32,
) -> Finished:  # fmt: skip
    body = CUBE.format(a=types[0], c=types[1], layout=layout, calls=calls)
    return twin.run(body, {"p": numbers(values), "a": a, "b": b}, {"y": (size, out)}, before=ALONE)


def test_a_cube_core_alone(twin: Twin) -> None:
    rng = np.random.default_rng(1)
    a, b = matrix(rng, np.float16, 90, 200), matrix(rng, np.float16, 70, 200)
    calls = (
        "mm.IterateAll(Of<float>(y));\nSetAtomicAdd<float>();\nwhile (mm.Iterate()) mm.GetTensorC(Of<float>(y));\n"
        "SetAtomicNone();"
    )
    done = run_cube(twin, calls, a, b, (90, 70), tiling(90, 70, 200))
    agrees(done.output(), 2 * a, b.T, FLOATS)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert done.seen is not None
    assert done.seen.profile is not None
    counters = done.seen.profile.counters
    assert counters["aic_cube_time"] > 0
    assert "aiv_time" not in counters


def test_batches_on_a_cube_core(twin: Twin) -> None:
    rng = np.random.default_rng(2)
    a, b = matrix(rng, np.float16, 4, 20, 30), matrix(rng, np.float16, 4, 40, 30)
    calls = "mm.SetBatchNum(4, 4);\nmm.IterateBatch(Of<float>(y), false, 0, false);"
    actual = run_cube(twin, calls, a, b, (4, 20, 40), tiling(20, 40, 30), layout="NORMAL").output()
    for i in range(4):
        agrees(actual[i], a[i], b[i].T, FLOATS)


@pytest.mark.parametrize("away", [0, 1])
def test_short_floats(twin: Twin, away: int) -> None:
    """Floats are rounded to 11 bits of fraction, ties to even or away from zero."""
    ones = np.array([1 + 2.0**-12, 1 + 3 * 2.0**-12, 1.0 + 2.0**-14], np.float32)
    a, b = np.diag(ones), np.eye(3, dtype=np.float32)
    calls = f"mm.SetHF32(true, {away});\nmm.IterateAll(Of<float>(y));"
    actual = run_cube(twin, calls, a, b, (3, 3), tiling(3, 3, 3, baseK=8), types=("float", "float")).output()
    ties = [1 + 2.0**-11, 1 + 2.0**-10, 1.0] if away else [1.0, 1 + 2.0**-10, 1.0]
    assert np.diag(actual).tolist() == ties


def packed(values: Array) -> Array:
    """Signed numbers of 4 bits, two in a byte, the first in the lower half."""
    nibbles = values.astype(np.uint8) & 15
    return (nibbles[..., ::2] | nibbles[..., 1::2] << 4).view(np.int8)


def test_integers_of_four_bits(twin: Twin) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(-8, 8, (20, 64)), rng.integers(-8, 8, (30, 64))
    done = run_cube(
        twin, "mm.IterateAll(Of<int32_t>(y));", packed(a), packed(b), (20, 30), tiling(20, 30, 64),
        types=("int4b_t", "int32_t"), out=DType.INT32,
    )  # fmt: skip
    assert np.array_equal(done.output(), a @ b.T)


def test_sums_that_stay_on_the_core(twin: Twin) -> None:
    """Iterate into a tensor of the kernel's own in L0C, which Fixpipe takes out."""
    rng = np.random.default_rng(4)
    a, b = matrix(rng, np.float16, 32, 64), matrix(rng, np.float16, 48, 64)
    body = CUBE.format(
        a="half", c="float", layout="NONE",
        calls="""
TQue<TPosition::CO1, 1> sums;
pipe.InitBuffer(sums, 1, 32 * 48 * 4);
LocalTensor<float> c = sums.AllocTensor<float>();
mm.Iterate(false, c);
sums.EnQue(c);
c = sums.DeQue<float>();
FixpipeParamsV220 params;
params.nSize = 48;
params.mSize = 32;
params.srcStride = 32;
params.dstStride = 48;
params.ndNum = 1;
Fixpipe<float, float, CFG_ROW_MAJOR>(Of<float>(y), c, params);
sums.FreeTensor(c);
""",
    )  # fmt: skip
    body = body.replace("TPosition::GM, CubeFormat::ND, float", "TPosition::CO1, CubeFormat::NZ, float")
    inputs = {"p": numbers(tiling(32, 48, 64)), "a": a, "b": b}
    done = twin.run(body, inputs, {"y": ((32, 48), DType.FLOAT32)}, before=ALONE)
    agrees(done.output(), a, b.T, FLOATS)


#: Every vector core of a launch multiplies rows of its own; results of all cores are also added up in one place.
SHARED = f"""{on_matmul("MIX_AIC_1_2")}
int i = GetBlockIdx();
TBuf<TPosition::VECCALC> blank;
pipe.InitBuffer(blank, 5 * 40 * 4);
LocalTensor<float> zeros = blank.Get<float>();
Duplicate(zeros, 0.0f, 5 * 40);
PipeBarrier<PIPE_ALL>();
if (i == 0) DataCopy(Of<float>(z), zeros, 5 * 40);
SyncAll();
mm.SetOrgShape(t.M, t.N, t.Ka, t.Kb, 40);
mm.SetTensorA(Of<half>(a)[i * t.singleCoreM * t.Ka]);
mm.SetTensorB(Of<half>(b));
mm.IterateAll(Of<float>(y)[i * t.singleCoreM * 40]);
mm.SetTensorA(Of<half>(a)[i * t.singleCoreM * t.Ka]);
mm.IterateAll(Of<float>(z), 1);
mm.End();
"""


def run_shared(twin: Twin) -> Finished:
    rng = np.random.default_rng(5)
    inputs = {
        "p": numbers(tiling(48 * 5, 33, 70, singleCoreM=5, usedCoreNum=48, baseM=16)),
        "a": matrix(rng, np.float16, 48 * 5, 70), "b": matrix(rng, np.float16, 70, 33),
    }  # fmt: skip
    outputs = {"y": ((48 * 5, 40), DType.FLOAT32), "z": ((5, 40), DType.FLOAT32)}
    done = twin.run(SHARED, inputs, outputs, before=BEFORE, block=None)
    agrees(done.output()[:, :33], inputs["a"], inputs["b"], FLOATS)
    agrees(done.output("z")[:, :33], np.hstack(np.split(inputs["a"], 48)), np.vstack([inputs["b"]] * 48), FLOATS)
    return done


def test_all_cores_of_a_launch(twin: Twin) -> None:
    done = run_shared(twin)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert done.seen is not None
    assert done.seen.profile is not None
    counters = done.seen.profile.counters
    assert counters["aic_cube_time"] > 0
    assert counters["aiv_time"] > 0
    threaded = Twin(TwinExecutor(TwinArgs(threads=3)), apart=True)
    try:
        again = run_shared(threaded)
    finally:
        threaded.executor.close()
    assert again.seen is not None
    assert again.seen.profile == done.seen.profile
    for name in ("y", "z"):
        assert np.array_equal(done.output(name).view(np.uint32), again.output(name).view(np.uint32))


@pytest.fixture(scope="module")
def full() -> Iterator[Twin]:
    made = Twin(TwinExecutor(TwinArgs(checker=Checker.FULL)))
    yield made
    made.executor.close()


#: Two vector cores share the columns of a result, which one of them then reads.
HALVES = (
    on_matmul("MIX_AIC_1_2")
    + """
if (GetBlockIdx() > 1) return;
TBuf<TPosition::VECCALC> buffer;
pipe.InitBuffer(buffer, 64 * 64 * 4);
LocalTensor<float> x = buffer.Get<float>();
mm.SetTensorA(Of<half>(a));
mm.SetTensorB(Of<half>(b)[GetBlockIdx() * {apart}]);
mm.IterateAll(Of<float>(z)[GetBlockIdx() * {apart}]);
{meet}
if (GetBlockIdx() == 0) {{
    DataCopy(x, Of<float>(z), 64 * 64);
    PipeBarrier<PIPE_ALL>();
    Muls(x, x, 2.0f, 64 * 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(Of<float>(y), x, 64 * 64);
}}
mm.End();
"""
)


@pytest.mark.parametrize(
    ("apart", "meet", "rules"),
    [
        (32, "CrossCoreSetFlag<1, PIPE_MTE3>(5);\nCrossCoreWaitFlag(5);", set()),
        (32, "", {"core_race"}),
        (24, "CrossCoreSetFlag<1, PIPE_MTE3>(5);\nCrossCoreWaitFlag(5);", {"core_race"}),
    ],
)
def test_what_cores_write_and_read_of_results(full: Twin, apart: int, meet: str, rules: set[str]) -> None:
    rng = np.random.default_rng(9)
    values = tiling(64, 64, 64, singleCoreN=32, baseN=32)
    inputs = {"p": numbers(values), "a": matrix(rng, np.float16, 64, 64), "b": matrix(rng, np.float16, 64, 64)}
    outputs = {"y": ((64, 64), DType.FLOAT32), "z": ((64, 64), DType.FLOAT32)}
    done = full.run(HALVES.format(apart=apart, meet=meet), inputs, outputs, before=BEFORE, block=None)
    said = {diagnostic.rule for diagnostic in done.diagnostics}
    if rules:  # who reads too early reads what nobody has written yet
        said.discard("uninitialized_read")
    assert said == rules, [str(diagnostic) for diagnostic in done.diagnostics]
    if not rules:
        agrees(done.output(), inputs["a"], 2 * inputs["b"], FLOATS)


def test_the_full_checker_has_nothing_to_say(full: Twin) -> None:
    done = run_shared(full)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    rng = np.random.default_rng(10)
    a, b = matrix(rng, np.float16, 32, 32), matrix(rng, np.float16, 32, 61)
    body = LOCAL.format(format="ND_ALIGN", width=64)
    done = full.run(
        body, {"p": numbers(tiling(32, 61, 32)), "a": a, "b": b}, {"y": ((32, 64), DType.FLOAT32)}, before=BEFORE
    )
    assert {diagnostic.rule for diagnostic in done.diagnostics} == {
        "uninitialized_read"
    }  # the columns that fill up lines
    agrees(done.output()[:, :61], 2 * a, b, FLOATS)


#: What the type of an object says in place of a tiling, and beside it.
TYPED = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
using A = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, float>;
{declared}
TPipe pipe;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm{told});
mm.SetTensorA(Of<half>(a));
mm.SetTensorB(Of<half>(b));
mm.IterateAll(Of<float>(y){rest});
mm.End();
"""


def run_typed(twin: Twin, declared: str, a: Array, b: Array, told: str = ", &t", rest: str = "") -> Array:
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    body = TYPED.format(declared="TCubeTiling t = TilingOf(p);\n" + declared, told=told, rest=rest)
    values = tiling(m, n, k, baseM=32, baseN=32, baseK=32)
    return twin.run(
        body, {"p": numbers(values), "a": a, "b": b}, {"y": ((m, n), DType.FLOAT32)}, before=BEFORE
    ).output()


@pytest.mark.parametrize(("which", "kept"), [("Upper", np.triu), ("Lower", np.tril)])
def test_triangles_of_blocks(twin: Twin, which: str, kept: Any) -> None:
    rng = np.random.default_rng(6)
    a, b = matrix(rng, np.float16, 96, 64), matrix(rng, np.float16, 64, 128)
    declared = f"Matmul<A, A, C, C, CFG_NORM, MatmulCallBackFunc<>, Trian{which}MatmulPolicy> mm;"
    actual = run_typed(twin, declared, a, b)
    mask = np.kron(kept(np.ones((3, 4))), np.ones((32, 32)))
    whole = run_typed(twin, "Matmul<A, A, C> mm;", a, b)
    assert np.array_equal(np.asarray(actual)[mask == 1], np.asarray(whole)[mask == 1])
    assert not np.isclose(np.asarray(actual)[mask == 0], np.asarray(whole)[mask == 0]).any()


def test_tilings_that_are_constants(twin: Twin) -> None:
    rng = np.random.default_rng(7)
    a, b = matrix(rng, np.float16, 64, 64), matrix(rng, np.float16, 64, 64)
    declared = """
static constexpr MatmulShapeParams shape{64, 64, 64, 32, 32, 32};
static constexpr MatmulConfig config = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(shape);
static constexpr MatmulApiStaticTiling constant = GetMatmulApiTiling<A, A, C, C>(config);
Matmul<A, A, C, C, constant> mm;
static_assert(constant.baseM == 32 && constant.singleCoreK == 64);
"""
    agrees(run_typed(twin, declared, a, b, told=", static_cast<TCubeTiling*>(nullptr)"), a, b, FLOATS)


def test_blocks_one_after_the_other(twin: Twin) -> None:
    rng = np.random.default_rng(8)
    a, b = matrix(rng, np.float16, 64, 32), matrix(rng, np.float16, 32, 64)
    actual = run_typed(twin, "Matmul<A, A, C> mm;", a, b, rest=", 0, true")
    blocks = np.asarray(actual).reshape(2, 2, 32, 32)
    agrees(blocks.transpose(1, 2, 0, 3).reshape(64, 64), a, b, FLOATS)


@pytest.mark.parametrize("breach", breaches_of_objects(), ids=lambda b: f"{b.rule}-{b.says[:20]}")
def test_refused(twin: Twin, breach: Breach) -> None:
    zeros = np.zeros((64, 64), np.float16)
    inputs = {"p": numbers(tiling(64, 64, 64) | breach.numbers), "a": zeros, "b": zeros}
    body = f"{on_matmul(breach.kind, registered=False)}{breach.body}\n"
    done = twin.run(body, inputs, {"y": ((64, 64), DType.FLOAT32)}, before=BEFORE)
    breach.check(done)


#: What the compiler says of a declaration, and whether the kernel is to blame.
DECLARED = [
    ("using A = MatmulType<TPosition::TSCM, CubeFormat::NZ, half>;\nMatmul<A, A, C> mm;", "unsupported_api"),
    ("Matmul<A, A, C, C, CFG_NORM, MatmulCallBackFunc<Out>> mm;", "unsupported_api"),
    (
        "static constexpr MatmulConfig sum = [] { auto c = CFG_NORM; c.intraBlockPartSum = true; return c; }();\n"
        "Matmul<A, A, C, C, sum> mm;",
        "compile",
    ),
    ("Matmul<A, A, MatmulType<TPosition::GM, CubeFormat::ND, int8_t, false>, C> mm;\nusing D = int;", ""),
    ("Matmul<A, C, C> mm;", "compile"),
]
OUT = """
__aicore__ inline void Out(const __gm__ void*, const LocalTensor<int8_t>&, const void*, uint64_t, uint64_t) {}
"""


@pytest.mark.parametrize(("declared", "rule"), DECLARED)
def test_declarations(twin: Twin, declared: str, rule: str) -> None:
    opening = on_matmul("MIX_AIC_1_1", registered=False).replace("Matmul<A, A, C> mm;", declared)
    body = f"{opening}mm.End();\n"
    if "TSCM" in declared:
        body = body.replace("using A = MatmulType<TPosition::GM, CubeFormat::ND, half>;\n", "", 1)
    zeros = np.zeros((16, 16), np.float16)
    done = twin.run(body, {"p": numbers(tiling(16, 16, 16)), "a": zeros, "b": zeros}, before=BEFORE + OUT)
    assert {error.rule for error in done.errors} == ({rule} if rule else set()), [
        str(diagnostic) for diagnostic in done.diagnostics
    ]
