"""From the runtime's report to a profile: the vendor's column names, how sure the time is, where it goes, what would
help.

A launch's time is the path to the end of its slowest core. The runtime says what that path consists of; how far off
the sum may be follows from measured kernels that spend their time alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Protocol

from npukb_twin.compile.lines import Place
from npukb_twin.timing.intervals import interval_of
from npukb_twin.timing.machine import PRODUCTS, VECTOR_BYTES, Machine
from npukernelbench.judge.work import CUBE_PRODUCTS, VECTOR_RESULTS
from npukernelbench.nouns import Analysis, CoreCost, LineCost, Profile, Span, Suggestion

__all__ = ["profile_of"]

#: The profiler's names: of the kinds of cores, and of the pipes of each.
_PROFILED = {
    "vector": ("aiv", {"V": "vec", "S": "scalar", "MTE2": "mte2", "MTE3": "mte3"}),
    "cube": ("aic", {"M": "cube", "S": "scalar", "MTE1": "mte1", "MTE2": "mte2", "MTE3": "mte3", "FIX": "fixpipe"}),
}
#: What moves between global memory and a core, and what the profiler calls it.
_WAYS = (
    ("vector", "MTE2", "GM_to_UB"),
    ("vector", "MTE3", "UB_to_GM"),
    ("cube", "MTE2", "GM_to_L1"),
    ("cube", "FIX", "L0C_to_GM"),
)
# by the numbers that the runtime's trace has for them
_PIPE_NAMES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")

_BOTTLENECKS = {
    "launch": "starting the kernel; it does too little to fill the cores",
    "scalar": "the scalar unit: element access and control flow keep the other units waiting",
    "issue": "fixed costs of vector instructions: each does little",
    "vector": "vector arithmetic",
    "banks": "bank conflicts of vector operands",
    "cube": "the cube unit",
    "latency": "fixed costs of transfers: each moves little",
    "move": "the pace of one core's transfers",
    "memory": "memory bandwidth, which the cores share",
    "l2": "bandwidth of the L2 cache, which the cores share",
    "flag": "pipes that wait for one another",
    "barrier": "barriers inside the core",
    "sync": "cores that wait for one another",
    "rest": "a stream of instructions too irregular to be followed to its end",
}

_CHANGES = {
    "double_buffer": "give every queue one more buffer (InitBuffer with 2), so that transfers overlap with computing",
    "larger_transfers": "process about {merge:.2g} times as much per iteration, towards transfers of 16 KiB and more",
    "aligned": "let transfers begin at multiples of 512 bytes in global memory",
    "no_conflicts": "move operands to different bank groups: buffers 256 bytes apart, block strides of 1",
    "bypass": "read inputs that are used once past the L2 cache: SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE)",
    "no_barriers": "order the pipes by queues or flags instead of PipeBarrier",
    "staggered": "let cores begin at different places of shared inputs, not all with the same data at once",
    "no_scalar_access": "replace GetValue and SetValue by vector instructions or transfers",
}


class Places(Protocol):
    """Knows where in the source an instruction came from."""

    def place(self, pc: int) -> Place: ...


def profile_of(report: Mapping[str, Any], machine: Machine, table: Places, tiling_key: int | None) -> Profile:
    """The profile that a finished launch's ``report`` holds."""
    time_us = float(report["time_us"])
    parts = {"launch": float(report["launch_us"]), **{name: float(value) for name, value in report["parts"].items()}}
    counters = dict(_counters(report, machine))
    interval = interval_of(counters, time_us, machine.residuals, calibrated=machine.calibrated)
    bottleneck = _bottleneck(parts, time_us)
    outside = "outside what was calibrated" if machine.calibrated else "uncalibrated"
    return Profile(
        time_us=time_us,
        predicted=True,
        machine=machine.label,
        blocks=int(report["blocks"]),
        counters=counters,
        tiling_key=tiling_key,
        low_us=interval.low_us,
        high_us=interval.high_us,
        bottleneck=f"{bottleneck}; {outside}: {interval.note}" if interval.note else bottleneck,
        analysis=_analysis(report, machine, table, time_us) if "choices" in report else None,
    )


def _bottleneck(parts: Mapping[str, float], time_us: float) -> str:
    # the name decides between equal parts, so that reports agree
    name = max(parts, key=lambda part: (parts[part], part))
    return f"{parts[name] / time_us:.0%} of the time is {_BOTTLENECKS[name]}" if time_us else ""


def _counters(report: Mapping[str, Any], machine: Machine) -> Iterator[tuple[str, float]]:
    """Counters under the names of the vendor's profiler; times in us, ratios against the cores' mean active time."""
    for kind, totals in report["kinds"].items():
        prefix, pipes = _PROFILED[kind]
        core_us = float(totals["time_us"])
        yield f"{prefix}_time", core_us
        yield f"{prefix}_total_cycles", core_us * 1e-6 * machine.numbers["clock_hz"]
        for pipe, name in pipes.items():
            numbers = totals["pipes"][pipe]
            yield f"{prefix}_{name}_time", float(numbers["busy_us"])
            yield f"{prefix}_{name}_ratio", float(numbers["busy_us"]) / core_us if core_us else 0.0
            yield f"{prefix}_{name}_wait_ratio", float(numbers["wait_us"]) / core_us if core_us else 0.0
            yield f"{prefix}_{name}_instructions", float(numbers["instructions"])
    if vector := report["kinds"].get("vector"):
        yield from _rates(vector, machine)
    # what is not followed to its end has shorter busy times, which bound nothing from above
    if not report["truncated"]:
        yield from _work(report["kinds"], machine)
    for kind, pipe, name in _WAYS:
        if totals := report["kinds"].get(kind):
            yield f"{name}_datas_kb", totals["pipes"][pipe]["bytes"] / 1024
    yield "main_memory_datas_kb", report["hbm_bytes"] / 1024
    yield "l2_datas_kb", report["l2_bytes"] / 1024
    if report.get("ub_used"):
        yield "ub_used_kb", report["ub_used"] / 1024
    yield "launch_time", float(report["launch_us"])
    for part, value in report["parts"].items():
        yield f"path_{part}_time", float(value)


def _rates(totals: Mapping[str, Any], machine: Machine) -> Iterator[tuple[str, float]]:
    """What a vector core moves per second, and the share of what it could."""
    seconds = totals["cores"] * totals["time_us"] * 1e-6
    for name, pipe, most in (
        ("gm_to_ub", "MTE2", machine.numbers["copy_in_bytes_per_cycle"]),
        ("ub_to_gm", "MTE3", machine.numbers["copy_out_bytes_per_cycle"]),
    ):
        rate = totals["pipes"][pipe]["bytes"] / seconds if seconds else 0.0
        yield f"aiv_{name}_bw_gbs", rate / (1 << 30)
        yield f"aiv_{name}_bw_usage_rate", rate / (most * machine.numbers["clock_hz"])


def _work(kinds: Mapping[str, Any], machine: Machine) -> Iterator[tuple[str, float]]:
    """The most that the units can have done in the time that they were busy, of all cores together."""
    for name, kind, pipe, per_cycle in (
        (VECTOR_RESULTS, "vector", "V", VECTOR_BYTES),
        (CUBE_PRODUCTS, "cube", "M", PRODUCTS),
    ):
        totals = kinds.get(kind)
        busy_s = totals["cores"] * totals["pipes"][pipe]["busy_us"] * 1e-6 if totals else 0.0
        yield name, busy_s * machine.numbers["clock_hz"] * per_cycle


def _analysis(report: Mapping[str, Any], machine: Machine, table: Places, time_us: float) -> Analysis:
    return Analysis(
        suggestions=tuple(sorted(_suggestions(report, machine, time_us), key=attrgetter("time_us", "change"))),
        lines=tuple(sorted(_lines(report, table), key=lambda line: (-line.busy_us, line.file, line.line, line.pipe))),
        cores=tuple(
            CoreCost(
                group["core"],
                int(group["alike"]),
                group["time_us"],
                {pipe: numbers["busy_us"] for pipe, numbers in group["pipes"].items()},
                {pipe: numbers["wait_us"] for pipe, numbers in group["pipes"].items()},
                group["kind"],
            )
            for group in report["groups"]
        ),
        spans=tuple(
            Span(core, _PIPE_NAMES[pipe], *table.place(pc), start, end, size)
            for core, pipe, pc, start, end, size in report["trace"]
        ),
    )


def _suggestions(report: Mapping[str, Any], machine: Machine, time_us: float) -> Iterator[Suggestion]:
    """Changes that save at least one percent."""
    worth = 0.99 * time_us
    for name, value in report["choices"].items():
        if value < worth:
            change = _CHANGES[name].format(merge=report["merge"])
            if name == "double_buffer" and report["fits"] < 2:
                change += f"; they must shrink to {report['fits'] / 2:.0%} of their size to fit into UB"
            yield Suggestion(change, float(value))
    ends = [(group["time_us"], group["alike"]) for group in report["groups"]]
    cores = sum(alike for _, alike in ends)
    if len(report["kinds"]) > 1 or "cube" in report["kinds"]:
        return  # cores of a block share its work as the kernel's author wants it
    total = sum(end * alike for end, alike in ends)
    balanced = report["launch_us"] + total / cores
    spread = report["launch_us"] + max(total / machine.vector_cores, _bandwidth_us(report, machine))
    idle = [end for end, _ in ends if end < 0.1 * max(end for end, _ in ends)]
    if idle or cores < machine.vector_cores:
        if spread < worth:
            yield Suggestion(f"spread the work over all {machine.vector_cores} cores", spread)
    elif balanced < worth:
        yield Suggestion("balance the cores: the slowest has more work than the others", balanced)


def _bandwidth_us(report: Mapping[str, Any], machine: Machine) -> float:
    """What memory needs for the launch's bytes, whatever the cores do."""
    return float(report["hbm_bytes"]) / machine.numbers["hbm_read_bytes_per_s"] * 1e6


def _lines(report: Mapping[str, Any], table: Places) -> Iterator[LineCost]:
    """Addresses of one line and pipe together."""
    sums: dict[tuple[str, int, str], list[float]] = {}
    for pc, pipe, count, busy, wait, size in report["lines"]:
        numbers = sums.setdefault((*table.place(pc), pipe), [0, 0.0, 0.0, 0])
        for i, value in enumerate((count, busy, wait, size)):
            numbers[i] += value
    for (file, line, pipe), (count, busy, wait, size) in sums.items():
        yield LineCost(file, line, pipe, int(count), busy, wait, int(size))
