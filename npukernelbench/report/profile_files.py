"""A profile as files: a trace for Perfetto, and tables with the names and columns of the vendor's profiler."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from npukernelbench.nouns import Analysis, Profile, Span

__all__ = ["write_profile"]

#: The profiler's names of the units of a kind of core, and the pipe of each.
_UNITS = {
    "vector": ("aiv", {"vec": "V", "scalar": "S", "mte2": "MTE2", "mte3": "MTE3"}),
    "cube": (
        "aic",
        {"cube": "M", "scalar": "S", "mte1": "MTE1", "mte2": "MTE2", "mte3": "MTE3", "fixpipe": "FIX"},
    ),
}


def write_profile(profile: Profile, name: str, folder: Path) -> list[Path]:
    """Write everything that ``profile`` holds into ``folder``, which is made; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    # Without an analysis tables have their headers alone, so that tools find every file.
    analysis = profile.analysis or Analysis()
    trace = folder / "trace.json"
    # Events are in µs whatever this says: it is how fine viewers show times, ms unless given.
    events = {"traceEvents": list(_events(analysis.spans)), "displayTimeUnit": "ns"}
    trace.write_text(json.dumps(events), encoding="utf-8")
    tables = {
        "OpBasicInfo.csv": _basic(profile, name),
        "PipeUtilization.csv": _pipes(profile, analysis),
        "ResourceConflictRatio.csv": _waits(analysis),
        "Memory.csv": _memory(profile),
        "code_exe.csv": _code(analysis),
    }
    for file, rows in tables.items():
        # csv ends lines itself.
        with (folder / file).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)
    return [trace, *(folder / file for file in tables)]


def _events(spans: Sequence[Span]) -> Iterator[dict[str, object]]:
    """Complete events of the Chrome trace format: a process per core, a thread per pipe."""
    for core in sorted({span.core for span in spans}):
        # Names of cores; without these events viewers show bare numbers.
        yield {"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"core {core}"}}
    for span in spans:
        yield {
            "ph": "X",
            "name": f"{span.file}:{span.line}",
            "cat": span.pipe,
            "pid": span.core,
            "tid": span.pipe,
            "ts": span.start_us,
            "dur": span.end_us - span.start_us,
            "args": {"bytes": span.nbytes} if span.nbytes else {},
        }


def _basic(profile: Profile, name: str) -> Iterator[Sequence[object]]:
    yield "Op Name", "Op Type", "Task Duration(us)", "Block Dim", "Predicted", "Machine"
    kinds = [kind for kind, (prefix, _) in _UNITS.items() if f"{prefix}_time" in profile.counters]
    # The profiler's word for kernels that use both kinds of core.
    kind = "mix" if len(kinds) > 1 else "".join(kinds)
    yield name, kind, f"{profile.time_us:.3f}", profile.blocks, profile.predicted, profile.machine


def _kinds(analysis: Analysis) -> list[str]:
    """Kinds of cores that took part, vector cores first."""
    return [kind for kind in _UNITS if any(core.kind == kind for core in analysis.cores)]


def _pipes(profile: Profile, analysis: Analysis) -> Iterator[Sequence[object]]:
    """A row per core; cores that did the same have rows that are the same. Columns of the other kind stay empty."""
    kinds = _kinds(analysis)
    columns = [column for kind in kinds for column in _pipe_columns(kind)]
    yield "block_id", "sub_block_id", "alike", *columns
    for core in analysis.cores:
        values: dict[str, object] = {}
        prefix, units = _UNITS[core.kind]
        clock = _clock(profile, prefix)
        values[f"{prefix}_time(us)"] = f"{core.time_us:.3f}"
        values[f"{prefix}_total_cycles"] = round(core.time_us * clock)
        for unit, pipe in units.items():
            values[f"{prefix}_{unit}_time(us)"] = f"{core.busy_us[pipe]:.3f}"
            values[f"{prefix}_{unit}_ratio"] = _share(core.busy_us[pipe], core.time_us)
        yield core.core, core.kind, core.alike, *(values.get(column, "") for column in columns)


def _pipe_columns(kind: str) -> Iterator[str]:
    prefix, units = _UNITS[kind]
    yield from (f"{prefix}_time(us)", f"{prefix}_total_cycles")
    for unit in units:
        yield from (f"{prefix}_{unit}_time(us)", f"{prefix}_{unit}_ratio")


def _clock(profile: Profile, prefix: str) -> float:
    """Cycles per us."""
    time_us = profile.counters.get(f"{prefix}_time", 0.0)
    return profile.counters.get(f"{prefix}_total_cycles", 0.0) / time_us if time_us else 0.0


def _waits(analysis: Analysis) -> Iterator[Sequence[object]]:
    """How long units were held up by flags, queues and barriers, as a share of the core's time."""
    columns = [f"{_UNITS[kind][0]}_{unit}_wait_ratio" for kind in _kinds(analysis) for unit in _UNITS[kind][1]]
    yield "block_id", "sub_block_id", "alike", *columns
    for core in analysis.cores:
        prefix, units = _UNITS[core.kind]
        values = {
            f"{prefix}_{unit}_wait_ratio": _share(core.wait_us[pipe], core.time_us) for unit, pipe in units.items()
        }
        yield core.core, core.kind, core.alike, *(values.get(column, "") for column in columns)


def _share(part: float, whole: float) -> str:
    return f"{part / whole if whole else 0.0:.3f}"


def _memory(profile: Profile) -> Iterator[Sequence[object]]:
    """What was moved, over all cores, and the rates per vector core."""
    names = {
        "aiv_gm_to_ub_bw(GB/s)": "aiv_gm_to_ub_bw_gbs",
        "aiv_ub_to_gm_bw(GB/s)": "aiv_ub_to_gm_bw_gbs",
        "GM_to_UB_datas(KB)": "GM_to_UB_datas_kb",
        "UB_to_GM_datas(KB)": "UB_to_GM_datas_kb",
        "GM_to_L1_datas(KB)": "GM_to_L1_datas_kb",
        "L0C_to_GM_datas(KB)": "L0C_to_GM_datas_kb",
        "main_memory_datas(KB)": "main_memory_datas_kb",
        "l2_datas(KB)": "l2_datas_kb",
    }
    shares = {
        "GM_to_UB_bw_usage_rate(%)": "aiv_gm_to_ub_bw_usage_rate",
        "UB_to_GM_bw_usage_rate(%)": "aiv_ub_to_gm_bw_usage_rate",
    }
    there = {column: name for column, name in names.items() if name in profile.counters}
    parts = {column: name for column, name in shares.items() if name in profile.counters}
    yield *there, *parts
    yield (
        *(f"{profile.counters[name]:.3f}" for name in there.values()),
        # Our counters are shares, the profiler's column is in percent.
        *(f"{profile.counters[name] * 100:.3f}" for name in parts.values()),
    )


def _code(analysis: Analysis) -> Iterable[Sequence[object]]:
    yield "code", "pipe", "call_count", "running_time(us)", "wait_time(us)", "bytes"
    for line in analysis.lines:
        times = (f"{line.busy_us:.3f}", f"{line.wait_us:.3f}")
        yield f"{line.file}:{line.line}", line.pipe, line.times, *times, line.nbytes
