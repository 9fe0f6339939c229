"""Predicted times: what makes a kernel faster does so, parts add up, and what is published comes out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.calibration.compared import compare
from benchmarks.calibration.harness import Bench
from npukb_npu.rows import table
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.timing.machine import load
from npukernelbench.nouns import DType, Profile
from tests.twin.openings import on_global, on_queues
from tests.twin.running import Twin

N = 48 * 16384
X = np.zeros(N, np.float16)
OUTPUTS = {"y": ((N,), DType.FLOAT16)}

#: Copies through UB with one instruction in between, in tiles.
COPY = """
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, BUFFERS, TILE * 2 + 64);
    pipe.InitBuffer(out, BUFFERS, TILE * 2);
    GlobalTensor<half> xs, ys;
    xs.SetGlobalBuffer((__gm__ half*)x, 48 * 16384);
    ys.SetGlobalBuffer((__gm__ half*)y, 48 * 16384);
    for (int32_t i = 0; i + TILE <= 16384 - 16; i += TILE) {
        const int32_t at = GetBlockIdx() * 16384 + i + SHIFT;
        LocalTensor<half> a = in.AllocTensor<half>();
        DataCopy(a, xs[at], TILE);
        in.EnQue(a);
        a = in.DeQue<half>();
        LocalTensor<half> b = out.AllocTensor<half>();
        WORK;
        out.EnQue(b);
        in.FreeTensor(a);
        b = out.DeQue<half>();
        DataCopy(ys[at], b, TILE);
        out.FreeTensor(b);
    }
"""


@pytest.fixture(scope="module")
def full() -> Iterator[Twin]:
    """A twin that reports everything."""
    executor = TwinExecutor(TwinArgs(profile="full"))
    yield Twin(executor)
    executor.close()


def profile(
    twin: Twin, *, tile: int = 2048, buffers: int = 1, shift: int = 0, work: str = "Sqrt(b, a, TILE)"
) -> Profile:
    macros = {"TILE": tile, "BUFFERS": buffers, "SHIFT": shift, "WORK": work}
    before = "\n".join(f"#define {name} {value}" for name, value in macros.items())
    done = twin.run(COPY, {"x": X}, OUTPUTS, before=before, block=None)
    assert done.seen is not None, done.compiled
    assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
    return done.seen.profile


def parts(measured: Profile) -> dict[str, float]:
    names = [name for name in measured.counters if name.startswith("path_")]
    return {name.removeprefix("path_").removesuffix("_time"): measured.counters[name] for name in names}


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        ({}, {"buffers": 2}),
        ({"tile": 256}, {"tile": 2048}),
        ({"tile": 2048, "buffers": 2}, {"tile": 8192, "buffers": 2}),
        ({"shift": 16}, {"shift": 0}),
        ({"work": "PipeBarrier<PIPE_ALL>(); Sqrt(b, a, TILE); PipeBarrier<PIPE_ALL>()"}, {}),
        ({"tile": 512, "work": "for (int k = 0; k < TILE; ++k) b.SetValue(k, a.GetValue(k))"}, {"tile": 512}),
        ({"work": "Exp(b, a, TILE); Ln(b, b, TILE)"}, {"work": "Exp(b, a, TILE)"}),
    ],
    ids=["double buffer", "larger tiles", "larger tiles, two buffers", "aligned", "no barriers", "vector", "less work"],
)
def test_what_helps_on_the_device_helps_here(full: Twin, slow: dict[str, object], fast: dict[str, object]) -> None:
    assert profile(full, **fast).time_us < profile(full, **slow).time_us  # type: ignore[arg-type]


def test_parts_of_the_path_add_up_to_the_time(full: Twin) -> None:
    for options in ({}, {"buffers": 2}, {"tile": 256}, {"shift": 16}):
        measured = profile(full, **options)
        total = sum(parts(measured).values()) + measured.counters["launch_time"]
        assert total == pytest.approx(measured.time_us, rel=1e-6)
        assert measured.low_us is not None
        assert measured.high_us is not None
        assert 0 < measured.low_us < measured.time_us < measured.high_us
        assert measured.bottleneck


def test_a_suggestion_is_worth_what_it_says(full: Twin) -> None:
    slow = profile(full, tile=2048, buffers=1)
    assert slow.analysis is not None
    [promised] = [suggestion for suggestion in slow.analysis.suggestions if "InitBuffer with 2" in suggestion.change]
    assert promised.time_us == pytest.approx(profile(full, tile=2048, buffers=2).time_us, rel=0.02)


def test_lines_cores_and_spans(full: Twin) -> None:
    measured = profile(full)
    assert measured.analysis is not None
    assert sum(core.alike for core in measured.analysis.cores) == 48
    assert {line.pipe for line in measured.analysis.lines} >= {"V", "MTE2", "MTE3"}
    assert all(line.file == "kernel.cpp" and line.line > 0 for line in measured.analysis.lines if line.busy_us > 0)
    copies = [line for line in measured.analysis.lines if line.pipe == "MTE2"]
    assert sum(line.times for line in copies) == measured.counters["aiv_mte2_instructions"]
    assert sum(line.nbytes for line in copies) == measured.counters["GM_to_UB_datas_kb"] * 1024
    for pipe in ("V", "MTE2", "MTE3"):
        mine = [
            span
            for span in measured.analysis.spans
            if span.pipe == pipe and span.core == measured.analysis.spans[0].core
        ]
        assert all(a.end_us <= b.start_us + 1e-3 for a, b in pairwise(mine))


#: Blocks of which every third does the same from another line of the source, so that it cannot be taken for the others.
APART = """
#define COPY_ALL(pipe_, in_, out_) \\
    for (int32_t i = 0; i < 8; ++i) { \\
        const int32_t at = GetBlockIdx() * 16384 + i * 2048; \\
        LocalTensor<half> a = in_.AllocTensor<half>(); \\
        DataCopy(a, xs[at], 2048); in_.EnQue(a); a = in_.DeQue<half>(); \\
        LocalTensor<half> b = out_.AllocTensor<half>(); \\
        Sqrt(b, a, 2048); out_.EnQue(b); in_.FreeTensor(a); b = out_.DeQue<half>(); \\
        DataCopy(ys[at], b, 2048); out_.FreeTensor(b); \\
    }
"""
APART_BODY = f"""{on_queues(depth=1, buffers=2, size_bytes=4096)}
    {on_global("half", xs="x, 48 * 16384", ys="y, 48 * 16384")}
    switch (GetBlockIdx() % 3 * DIFFERENT) {{
        case 1:
            COPY_ALL(pipe, in, out);
            break;
        case 2:
            COPY_ALL(pipe, in, out);
            break;
        default:
            COPY_ALL(pipe, in, out);
    }}
"""


def test_cores_that_are_alike_are_computed_once_and_the_result_does_not_depend_on_it(full: Twin) -> None:
    profiles = {}
    for different in (0, 1):
        before = f"{APART}\n#define DIFFERENT {different}"
        done = full.run(APART_BODY, {"x": X}, OUTPUTS, before=before, block=None)
        assert done.seen is not None, done.compiled
        assert done.seen.profile is not None
        profiles[different] = done.seen.profile
    groups = [[core.alike for core in each.analysis.cores] for each in profiles.values() if each.analysis]
    assert groups == [[48], [16, 16, 16]]
    assert profiles[1].time_us == pytest.approx(profiles[0].time_us, abs=4 / 1.8e3)  # but for where the switch leads
    for name in ("aiv_mte2_time", "aiv_vec_time", "aiv_mte3_time", "main_memory_datas_kb", "l2_datas_kb"):
        assert profiles[1].counters[name] == pytest.approx(profiles[0].counters[name], rel=1e-3)


@pytest.mark.parametrize(("start", "launch_us"), [("warm", 0.42 + 48 * 0.004), ("cold", 0.42 + 48 * 0.408)])
def test_a_cold_launch_takes_longer_and_nothing_else_changes(full: Twin, start: str, launch_us: float) -> None:
    executor = TwinExecutor(TwinArgs(launch=start))
    measured, warm = profile(Twin(executor)), profile(full)
    assert executor.describe()["launch"] == start
    executor.close()
    assert measured.counters["launch_time"] == pytest.approx(launch_us)
    assert measured.time_us - launch_us == pytest.approx(warm.time_us - warm.counters["launch_time"])
    assert parts(measured) == parts(warm)


#: All cores read the same tile after tile, or each from its own part on.
SAME = """
    __gm__ int32_t* p = (__gm__ int32_t*)parameters;
    const uint32_t apart = p[0];
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    pipe.InitBuffer(in, 2, 16384);
    GlobalTensor<half> xs;
    xs.SetGlobalBuffer((__gm__ half*)x, 48 * 16384);
    for (int32_t i = 0; i < 96; ++i) {
        LocalTensor<half> a = in.AllocTensor<half>();
        DataCopy(a, xs[(i + GetBlockIdx() / apart) % 96 * 8192], 8192);
        in.EnQue(a);
        a = in.DeQue<half>();
        in.FreeTensor(a);
    }
"""


def test_cores_that_read_the_same_at_the_same_time_wait_for_each_other(full: Twin) -> None:
    """The fewer different granules are wanted at once, the longer; the model says that and what would help."""
    profiles = {}
    for apart in (48, 24, 1):
        given = {"x": X, "parameters": np.array([apart, 0, 0, 0, 0, 0, 0, 0], np.int32)}
        done = full.run(SAME, given, {"y": ((64,), DType.FLOAT16)}, block=None)
        assert done.seen is not None, done.compiled
        assert done.seen.profile is not None
        profiles[apart] = done.seen.profile
    together, halves, all_apart = (each.time_us - each.counters["launch_time"] for each in profiles.values())
    assert together > 1.3 * halves
    assert halves > all_apart
    requests = 48 * 96 * 16384 / 512
    assert together >= requests * 0.2285e-3
    analysis = profiles[48].analysis
    assert analysis is not None
    [advice] = [suggestion for suggestion in analysis.suggestions if "different places" in suggestion.change]
    assert advice.time_us < profiles[48].time_us


def test_off_means_no_time() -> None:
    executor = TwinExecutor(TwinArgs(profile="off"))
    done = Twin(executor).run("", {"x": X}, OUTPUTS)
    executor.close()
    assert done.seen is not None
    assert done.seen.profile is None


def test_slower_memory_makes_slower_kernels() -> None:
    times = {}
    for soc in ("ascend910b2", "ascend910b4"):
        executor = TwinExecutor(TwinArgs(soc=soc))
        measured = profile(Twin(executor), tile=8192, buffers=2)
        times[soc] = measured.time_us - measured.counters["launch_time"]
        executor.close()
    assert times["ascend910b4"] > times["ascend910b2"]


SECTIONS = ("1.3", "1.6", "1.8", "1.9", "1.12")


def test_published_costs_come_out() -> None:
    rows = [row for row in table().rows if row.section in SECTIONS]
    assert len(rows) > 10
    bench = Bench()
    try:
        errors = {row.what: compare(bench, row).error for row in rows}
    finally:
        bench.close()
    assert {what: error for what, error in errors.items() if abs(error) > 0.1} == {}


def test_plain_loops_take_time(full: Twin) -> None:
    """What does nothing but count is not free, whatever it counts."""
    times = {}
    for rounds in (0, 100000, 200000):
        loop = f"volatile int s = 1; for (int k = 0; k < {rounds}; ++k) s = s * 3 + 1;"
        done = full.run(loop, {"x": X[:64]}, {"y": ((64,), DType.FLOAT16)}, block=1)
        assert done.seen is not None, done.compiled
        assert done.seen.profile is not None
        times[rounds] = done.seen.profile.counters["path_scalar_time"]
    assert times[100000] >= 3.0 * 100000 / 1.8e9 * 1e6
    assert times[200000] - times[100000] == pytest.approx(times[100000] - times[0], rel=1e-3)


#: Sums of repeats, and what reads them: after each, or after all of them. Or something else is done after each.
SUMS = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 65536);
    LocalTensor<float> from = buffer.Get<float>(), to = from[8192];
    Duplicate(from, 1.0f, 8192);
    Duplicate(to, 1.0f, 1024);
    for (int32_t i = 0; i < 32; ++i) {
        WholeReduceSum(to[i * 8], from[i * 64], 64, 1, 1, 1, 8);
        if (BARRIER) PipeBarrier<PIPE_V>();
        if (READ == 1) Adds(to[i * 8], to[i * 8], 1.0f, 8);
        if (READ == 2) Adds(to[512 + i * 8], to[512 + i * 8], 1.0f, 8);
    }
    if (READ == 3) for (int32_t i = 0; i < 32; ++i) Adds(to[i * 8], to[i * 8], 1.0f, 8);
"""


def test_only_what_reads_the_result_of_a_reduction_waits_for_it(full: Twin) -> None:
    numbers = load("ascend910b2").numbers
    cycles_us = 1e6 / numbers["clock_hz"]
    times = {}
    for barrier in (0, 1):
        for read in range(4):
            before = f"#define BARRIER {barrier}\n#define READ {read}"
            done = full.run(SUMS, {"x": X[:64]}, {"y": ((64,), DType.FLOAT16)}, before=before, block=1)
            assert done.seen is not None, done.compiled
            assert done.seen.profile is not None
            times[barrier, read] = done.seen.profile.time_us / cycles_us
    late = 6 * numbers["reduce_level_cycles"]
    for barrier in (0, 1):
        assert times[barrier, 1] - times[barrier, 2] == pytest.approx(32 * late, rel=0.15)
    assert times[0, 3] - times[0, 0] < 32 * 40  # all results are there by the time that they are read
    assert times[1, 0] - times[0, 0] == pytest.approx(32 * numbers["barrier_cycles"], rel=0.15)


def test_following_the_first_suggestion_pays(full: Twin) -> None:
    """What is said to gain most, once followed, makes the kernel about as fast as it says."""
    barriers = "PipeBarrier<PIPE_ALL>(); Sqrt(b, a, TILE); PipeBarrier<PIPE_ALL>()"
    slow: dict[str, tuple[dict[str, object], dict[str, object]]] = {
        "one more buffer": ({}, {"buffers": 2}),
        "times as much per iteration": ({"tile": 256, "buffers": 2}, {"tile": 2048, "buffers": 2}),
        "multiples of 512 bytes": ({"tile": 4096, "buffers": 2, "shift": 16}, {"tile": 4096, "buffers": 2}),
        "instead of PipeBarrier": ({"work": barriers, "buffers": 2}, {"buffers": 2}),
    }
    for change, (before, after) in slow.items():
        measured = profile(full, **before)  # type: ignore[arg-type]
        assert measured.analysis is not None
        first = measured.analysis.suggestions[0]
        assert change in first.change, (change, measured.analysis.suggestions)
        followed = profile(full, **after).time_us  # type: ignore[arg-type]
        assert followed < 0.97 * measured.time_us, change
        assert followed == pytest.approx(first.time_us, rel=0.25), change
