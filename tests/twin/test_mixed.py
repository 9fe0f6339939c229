"""Kernels of cube cores, and of cube and vector cores together: what runs where, and how they wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome, Severity
from tests.twin.openings import fresh, put
from tests.twin.running import Twin

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

CELLS = {"y": ((2048,), DType.INT32)}
#: Every core writes what it knows of itself to a row of its own: first the cube cores', then the vector cores'.
CENSUS = """
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 2048);
    int64_t at = 16 * (g_coreType == AIC ? get_block_idx() : 64 + GetBlockIdx());
    g.SetValue(at, 1);
    g.SetValue(at + 1, GetBlockIdx());
    g.SetValue(at + 2, GetSubBlockIdx());
    g.SetValue(at + 3, GetSubBlockNum());
    g.SetValue(at + 4, GetBlockNum());
    g.SetValue(at + 5, get_block_idx());
    g.SetValue(at + 6, GetTaskRatio());
"""
MIX = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);\n"
HEAD = (
    MIX
    + """
    GlobalTensor<int32_t> g, w;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 2048);
    w.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace), 2048);
    const int32_t me = GetBlockIdx(), block = get_block_idx();
"""
)


@pytest.fixture(scope="module", params=[1, 3])
def full(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """A twin with the full checker, on one thread and on several."""
    chosen = Twin(TwinExecutor(TwinArgs(checker=Checker.FULL, threads=request.param)))
    yield chosen
    chosen.executor.close()


def rows(cells: Array) -> tuple[Array, Array]:
    """What the cube cores and the vector cores of a launch said of themselves."""
    table = np.asarray(cells).reshape(128, 16)
    cube, vector = table[:64], table[64:]
    return cube[cube[:, 0] == 1, 1:7], vector[vector[:, 0] == 1, 1:7]


@pytest.mark.parametrize(
    ("declared", "cubes", "vectors"),
    [
        ("KERNEL_TYPE_AIC_ONLY", 24, 0),
        ("KERNEL_TYPE_MIX_AIC_1_0", 24, 0),
        ("KERNEL_TYPE_MIX_AIC_1_1", 24, 24),
        ("KERNEL_TYPE_MIX_AIC_1_2", 24, 48),
        ("KERNEL_TYPE_AIV_ONLY", 0, 48),
        ("KERNEL_TYPE_MIX_AIV_1_0", 0, 48),
        ("__cube__", 24, 0),
        ("__vector__", 0, 48),
        ("__mix__(1, 1)", 24, 24),
        ("__mix__(1, 2)", 24, 48),
        ("", 0, 48),
    ],
)
def test_every_core_knows_its_place(twin: Twin, declared: str, cubes: int, vectors: int) -> None:
    body = f"KERNEL_TASK_TYPE_DEFAULT({declared});\n{CENSUS}" if declared.startswith("KERNEL") else CENSUS
    attribute = "" if declared.startswith("KERNEL") else f"{declared} "
    source = (
        '#include "kernel_operator.h"\nusing namespace AscendC;\n'
        f'extern "C" __global__ {attribute}__aicore__ void probe(GM_ADDR y, GM_ADDR workspace) {{{body}}}\n'
    )
    cube, vector = rows(twin.run_source(source, {}, CELLS).output())
    blocks = cubes or vectors
    ratio = vectors // blocks
    assert cube.tolist() == [[b, 0, 1, blocks, b, 1] for b in range(cubes)]
    expected = [[b * ratio + s, s, ratio, blocks, b, ratio] for b in range(blocks) for s in range(ratio)]
    assert vector.tolist() == expected


def test_the_architecture_is_told_to_the_preprocessor(twin: Twin) -> None:
    before = """
        #if defined(__DAV_C220_CUBE__) == defined(__DAV_C220_VEC__)
        #error "a compilation is for one kind of core"
        #endif
        #ifdef __DAV_C220_CUBE__
        constexpr int32_t kind = 3;
        static_assert(g_coreType == AIC);
        #else
        constexpr int32_t kind = 4;
        static_assert(g_coreType == AIV);
        #endif
    """
    done = twin.run(
        HEAD + "g.SetValue(16 * (kind == 3 ? block : 50 + me), kind);", {}, CELLS, before=before, block=None
    )
    cells = np.asarray(done.output())
    assert (cells[: 24 * 16 : 16].tolist(), cells[50 * 16 : 98 * 16 : 16].tolist()) == ([3] * 24, [4] * 48)


@pytest.mark.parametrize(("kind", "cubes"), [("KERNEL_TYPE_AIC_ONLY", True), ("KERNEL_TYPE_AIV_ONLY", False)])
def test_only_the_declared_kind_has_to_compile(twin: Twin, kind: str, cubes: bool) -> None:
    other = "__DAV_C220_VEC__" if cubes else "__DAV_C220_CUBE__"
    body = f"KERNEL_TASK_TYPE_DEFAULT({kind});\n#ifdef {other}\nnonsense;\n#endif\n{CENSUS}"
    assert len(rows(twin.run(body, {}, CELLS, block=None).output())[0]) == (24 if cubes else 0)


@pytest.mark.parametrize("declared", ["KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);", ""])
def test_only_what_runs_has_to_link(twin: Twin, declared: str) -> None:
    """A template without a body for the other kind of core is never called there."""
    before = """
        template <int kind> struct Part { static __aicore__ void Run(); };
        template <> __aicore__ void Part<AIC>::Run() {}
    """
    body = """
        LocalTensor<float> c;
        LocalTensor<half> a, b;
        Part<g_coreType>::Run();
        if (y == nullptr) { Mmad(c, a, b, MmadParams()); }
    """
    assert twin.run(declared + body, {}, CELLS, before=before, block=None).outcome is Outcome.OK
    mixed = twin.run(MIX + body, {}, CELLS, before=before, block=None)
    assert [rule for rule, _ in mixed.found] == ["host_call"]


def test_what_fails_for_the_cube_core_alone_says_so(twin: Twin) -> None:
    done = twin.run(HEAD + "if ASCEND_IS_AIC { nonsense; }  // here", {}, CELLS, block=None)
    assert done.outcome is Outcome.COMPILE_ERROR
    done = twin.run(HEAD + "#ifdef __DAV_C220_CUBE__\nnonsense;  // here\n#endif", {}, CELLS, block=None)
    assert (done.outcome, done.found) == (Outcome.COMPILE_ERROR, [("compile", done.marked)])
    assert done.errors[0].message.endswith("(compiled for the cube core)")


def test_a_key_without_a_type_needs_a_default(twin: Twin) -> None:
    """Which the vendor documents; where every key has a type there need be none."""
    done = twin.run("KERNEL_TASK_TYPE(1, KERNEL_TYPE_MIX_AIC_1_1);", {}, CELLS)
    assert (done.outcome, [error.rule for error in done.errors]) == (Outcome.COMPILE_ERROR, ["task_type"])
    body = "KERNEL_TASK_TYPE(3, KERNEL_TYPE_MIX_AIC_1_1); if (TILING_KEY_IS(3) || TILING_KEY_LIST(4, 5)) return;"
    done = twin.run(body, {}, CELLS)
    assert done.errors[0].message == "KERNEL_TASK_TYPE gives types to some tiling keys, not to 4, 5"
    assert "KERNEL_TASK_TYPE_DEFAULT" in done.errors[0].remedy
    done = twin.run(f"KERNEL_TASK_TYPE(0, KERNEL_TYPE_MIX_AIC_1_1);\n{CENSUS}", {}, CELLS)
    assert done.outcome is Outcome.OK, done.errors


HAND_OVER = (
    HEAD
    + f"""
    if ASCEND_IS_AIC {{
        {put("w", "16 * me", "100 + me")}
        CrossCoreSetFlag<2, PIPE_FIX>(3);
        CrossCoreWaitFlag(4);
        g.SetValue(1024 + 16 * me, {fresh("w", "16 * me + 8")});
    }}
    if ASCEND_IS_AIV {{
        CrossCoreWaitFlag(3);
        g.SetValue(16 * me, {fresh("w", "16 * block")});
        if (GetSubBlockIdx() == 1) {{ {put("w", "16 * block + 8", "7")} }}
        CrossCoreSetFlag<2, PIPE_MTE3>(4);
    }}
"""
)


def test_a_cube_core_and_its_vector_cores_hand_over(full: Twin) -> None:
    done = full.run(HAND_OVER, {}, CELLS, block=None)
    cells = np.asarray(done.output())
    assert cells[: 48 * 16 : 16].tolist() == [100 + index // 2 for index in range(48)]
    assert cells[1024 : 1024 + 384 : 16].tolist() == [7] * 24
    assert done.found == []
    assert done.seen is not None
    assert done.seen.profile is not None
    counters = done.seen.profile.counters
    assert counters["aic_time"] > counters["aiv_time"] > 0


def test_vector_cores_of_a_block_wait_for_each_other(full: Twin) -> None:
    body = f"""
    if ASCEND_IS_AIV {{
        {put("w", "16 * me", "me")}
        CrossCoreSetFlag<1, PIPE_MTE3>(2);
        CrossCoreWaitFlag<1>(2);
        g.SetValue(16 * me, {fresh("w", "16 * (me ^ 1)")});
    }}
    """
    done = full.run(HEAD + body, {}, CELLS, block=None)
    assert np.asarray(done.output())[: 48 * 16 : 16].tolist() == [index ^ 1 for index in range(48)]
    assert done.found == []


@pytest.mark.parametrize(
    "meeting", ["SyncAll<false>();", "CrossCoreSetFlag<0, PIPE_MTE3>(1);\nCrossCoreWaitFlag(1);"], ids=["all", "kind"]
)
def test_all_cores_of_a_kind_or_of_both_meet(full: Twin, meeting: str) -> None:
    """In the second form cube cores read what cube cores wrote, and vector cores what vector cores did."""
    body = f"""
    const int32_t own = g_coreType == AIC ? 0 : 24, count = g_coreType == AIC ? 24 : 48;
    {put("g", "16 * (own + me) + 8", "own + me")}
    {meeting}
    g.SetValue(16 * (own + me), {fresh("g", "16 * (own + (me + 5) % count) + 8")});
    """
    done = full.run(HEAD + body, {}, CELLS, block=None)
    cells = np.asarray(done.output())[: 72 * 16 : 16]
    expected = [(index + 5) % 24 for index in range(24)] + [24 + (index + 5) % 48 for index in range(48)]
    assert cells.tolist() == expected
    assert done.found == []


def test_the_two_kinds_meet_in_one_barrier(full: Twin) -> None:
    body = f"""
    if ASCEND_IS_AIC {{ {put("w", "16 * me", "50 + me")} }}
    SyncAll<false>();
    if ASCEND_IS_AIV {{ g.SetValue(16 * me, {fresh("w", "16 * ((block + 1) % 24)")}); }}
    """
    done = full.run(HEAD + body, {}, CELLS, block=None)
    assert np.asarray(done.output())[: 48 * 16 : 16].tolist() == [50 + (index // 2 + 1) % 24 for index in range(48)]
    assert done.found == []


PIECES = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<int32_t> a = buffer.Get<int32_t>();
    if ASCEND_IS_AIV {
        Duplicate(a, me, 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(w[8 * me], a, 8);
        {between}
    }
    if ASCEND_IS_AIC {
        {wait}
        g.SetValue(16 * me, w.GetValue(16 * me + 8));
    }
"""


def handed(full: Twin, between: str, wait: str) -> list[str]:
    body = HEAD + PIECES.replace("{between}", between).replace("{wait}", wait)
    done = full.run(body, {}, CELLS, block=None)
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]
    return [diagnostic.message for diagnostic in done.diagnostics if diagnostic.rule == "core_race"]


def test_a_flag_orders_what_its_pipe_has_done(full: Twin) -> None:
    assert handed(full, "CrossCoreSetFlag<2, PIPE_MTE3>(5);", "CrossCoreWaitFlag(5);") == []
    flags = "SetFlag<HardEvent::MTE3_V>(EVENT_ID0);\nWaitFlag<HardEvent::MTE3_V>(EVENT_ID0);\n"
    assert handed(full, f"{flags}CrossCoreSetFlag<2, PIPE_V>(5);", "CrossCoreWaitFlag(5);") == []


def test_a_flag_of_another_pipe_orders_nothing(full: Twin) -> None:
    [told] = handed(full, "CrossCoreSetFlag<2, PIPE_V>(5);", "CrossCoreWaitFlag(5);")
    assert "vector core 1 and cube core 0" in told or "cube core 0 and vector core 1" in told


def test_a_wait_leaves_what_came_before_it_under_way(full: Twin) -> None:
    """Only what follows a wait is documented to be held up: a store before it is not over because of it."""
    wait = "CrossCoreWaitFlag(6);\nCrossCoreSetFlag<2, PIPE_V>(5);"
    [told] = handed(full, wait, "CrossCoreSetFlag<2, PIPE_FIX>(6);\nCrossCoreWaitFlag(5);")
    assert "vector core 1 and cube core 0" in told or "cube core 0 and vector core 1" in told


@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("checker", [Checker.FAST, Checker.FULL])
def test_a_flag_that_comes_back_says_what_is_over(checker: Checker, answers: bool) -> None:
    """The cube core sets its flag by itself, or once it knows that the load is complete."""
    tell, hear = ("CrossCoreSetFlag<2, PIPE_MTE2>(4);", "CrossCoreWaitFlag(4);") if answers else ("", "")
    body = f"""
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1024);
        LocalTensor<int32_t> a = buffer.Get<int32_t>();
        if ASCEND_IS_AIV {{
            DataCopy(a, w, 8);
            {tell}
            CrossCoreWaitFlag(5);
            Adds(a[64], a, 1, 8);  // here
        }}
        if ASCEND_IS_AIC {{
            {hear}
            CrossCoreSetFlag<2, PIPE_FIX>(5);
        }}
    """
    chosen = Twin(TwinExecutor(TwinArgs(checker=checker)))
    done = chosen.run(HEAD + body, {}, CELLS, block=None)
    chosen.executor.close()
    known = [found for found in done.found if found[0] != "uninitialized_read"]
    assert known == ([] if answers else [("missing_sync", done.marked)]), done.diagnostics


def test_no_flag_at_all_is_a_race(full: Twin) -> None:
    assert len(handed(full, "", "")) == 1


def test_a_producer_may_be_fifteen_sets_ahead(twin: Twin) -> None:
    body = """
    if ASCEND_IS_AIC {
        for (int i = 0; i < {n}; ++i) CrossCoreSetFlag<2, PIPE_FIX>(3);  // here
        CrossCoreSetFlag<2, PIPE_FIX>(4);
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(4);
        for (int i = 0; i < {n}; ++i) CrossCoreWaitFlag(3);
    }
    """
    assert twin.run(HEAD + body.replace("{n}", "15"), {}, CELLS, block=None).found == []
    done = twin.run(HEAD + body.replace("{n}", "16"), {}, CELLS, block=None)
    assert (done.outcome, done.found) == (Outcome.RULE_VIOLATION, [("limit_exceeded", done.marked)])


def test_a_producer_that_is_held_back_goes_on_for_ever(full: Twin) -> None:
    body = f"""
    for (int i = 0; i < 100; ++i) {{
        if ASCEND_IS_AIC {{
            if (i >= 2) CrossCoreWaitFlag(7);
            {put("w", "16 * me + i % 2", "i")}
            CrossCoreSetFlag<2, PIPE_FIX>(6);
        }}
        if ASCEND_IS_AIV {{
            CrossCoreWaitFlag(6);
            if ({fresh("w", "16 * block + i % 2")} == i) g.SetValue(16 * me, i);
            if (i < 98) CrossCoreSetFlag<2, PIPE_MTE2>(7);
        }}
    }}
    """
    done = full.run(HEAD + body, {}, CELLS, block=None)
    assert np.asarray(done.output())[: 48 * 16 : 16].tolist() == [99] * 48
    assert done.found == []


def test_waiting_in_vain_names_the_cores_and_the_reason(twin: Twin) -> None:
    missing = HAND_OVER.replace("CrossCoreSetFlag<2, PIPE_MTE3>(4);", "")
    done = twin.run(missing, {}, CELLS, block=None)
    [error] = done.errors
    assert error.rule == "deadlock"
    assert "CrossCoreWaitFlag(4): cube cores 0, 1, 2, 3, 4, 5 and 18 more wait here for ever" in error.message
    assert "the flag was raised 0 times and this is wait 1; 48 of 72 cores have ended" in error.message
    assert error.details["core"] == "cube"
    half = HAND_OVER.replace("CrossCoreSetFlag<2, PIPE_MTE3>(4);", "if (me % 2) CrossCoreSetFlag<2, PIPE_MTE3>(4);")
    [error] = twin.run(half, {}, CELLS, block=None).errors
    assert "only 1 of the cores that raise it together have set it" in error.message


def test_both_sides_of_a_deadlock_are_told(twin: Twin) -> None:
    body = "if ASCEND_IS_AIC { CrossCoreWaitFlag(3); }\nif ASCEND_IS_AIV { CrossCoreWaitFlag(4); }"
    errors = twin.run(HEAD + body, {}, CELLS, block=None).errors
    assert [error.rule for error in errors] == ["deadlock", "deadlock"]
    assert "a vector core waits in CrossCoreWaitFlag(4)" in errors[0].message
    assert "a cube core waits in CrossCoreWaitFlag(3)" in errors[1].message
    assert "(the other one is at kernel.cpp:" in errors[0].message


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("if ASCEND_IS_AIC {\nCrossCoreSetFlag<1, PIPE_FIX>(3);  // here\n}", Severity.ERROR),
        ("if ASCEND_IS_AIC {\nSyncAll();  // here\n}\nif ASCEND_IS_AIV {\nSyncAll();\n}", Severity.WARNING),
    ],
    ids=["siblings of a cube core", "a barrier of vector cores"],
)
def test_wrong_modes(twin: Twin, body: str, severity: Severity) -> None:
    done = twin.run(HEAD + body, {}, CELLS, block=None)
    assert [(diagnostic.rule, diagnostic.line, diagnostic.severity) for diagnostic in done.diagnostics] == [
        ("bad_sync_mode", done.marked, severity)
    ]


def test_a_flag_that_half_of_the_block_sets_is_left_over(twin: Twin) -> None:
    body = "if ASCEND_IS_AIV {\nif (GetSubBlockIdx() == 0) CrossCoreSetFlag<2, PIPE_MTE3>(4);  // here\n}"
    done = twin.run(HEAD + body, {}, CELLS, block=None)
    assert (done.outcome, done.found) == (Outcome.RULE_VIOLATION, [("unpaired_flag", done.marked)])
    assert done.diagnostics[0].count == 24


def test_events_are_those_of_the_core(twin: Twin) -> None:
    wrong = "if ASCEND_IS_AIC {\nSetFlag<HardEvent::V_MTE3>(EVENT_ID0);  // here\n}"
    done = twin.run(HEAD + wrong, {}, CELLS, block=None)
    assert done.found == [("bad_event_pair", done.marked)]
    right = "if ASCEND_IS_AIC {\nSetFlag<HardEvent::M_FIX>(EVENT_ID0);\nWaitFlag<HardEvent::M_FIX>(EVENT_ID0);\n}"
    assert twin.run(HEAD + right, {}, CELLS, block=None).found == []


def test_code_of_both_kinds_tells_its_lines(twin: Twin) -> None:
    body = "int32_t* nowhere = nullptr;\nif (g_coreType == {kind} && me == 1) {{\n*nowhere = 1;  // here\n}}"
    for kind in ("AIC", "AIV"):
        done = twin.run(HEAD + body.format(kind=kind), {}, CELLS, block=None)
        assert (done.outcome, done.found) == (Outcome.CRASH, [("crash", done.marked)])
