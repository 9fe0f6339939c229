"""Tables of the vendor's profilers, read into the profile object and the counter names that the twin uses, too.

``msprof op`` writes a folder with one table per subject and one row per core; ``msprof`` one table for all operators.
Columns are found by name, units by what stands in brackets: versions of the tool differ in columns and spell some
differently. A column that is not there gives no counter, a cell without a number (``N/A``) does not take part. Not yet
run on hardware.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from npukb_npu.builds import environment_for
from npukb_npu.device import Bench
from npukb_npu.discovery import Site
from npukb_npu.jobs import Job
from npukb_npu.process import run
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Profile

__all__ = ["COLUMNS", "PAGES", "Basic", "Column", "Join", "profile_case", "read_basic", "read_folder", "read_summary"]

_PAGE = "hiascend.com devaids/optool/atlasopdev_16"
#: Where each table is documented.
PAGES: Mapping[str, str] = {
    "OpBasicInfo.csv": f"{_PAGE}_0098",
    "PipeUtilization.csv": f"{_PAGE}_0099",
    "ResourceConflictRatio.csv": f"{_PAGE}_0100",
    "Memory.csv": f"{_PAGE}_0095",
    "op_summary_*.csv": "hiascend.com devaids/Profiling/atlasprofiling_16_0067",
}
_PROFILE_S = 300.0
_HELP_S = 30.0
_WARM_UPS = 10
#: How long a unit works, as a share of its core's time; waits and conflicts have other names.
_SHARE = re.compile(r"ai[vc]_(?:vec|cube|scalar|mte[123]|fixpipe)_ratio")
# to the units of counters: us, KB, a share. Rates stay as they are printed: the profiler's GB are GiB
_UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "kb": 1.0, "mb": 1024.0, "b": 1 / 1024, "%": 0.01, "gb/s": 1.0, "": 1.0}
# a second bracket, which some tables put behind the unit, is no part of either
_HEADER = re.compile(r"^\s*(?P<name>[^()]+?)\s*(?:\((?P<unit>[^)]*)\))?\s*(?:\([^)]*\))?\s*$")


class Join(Enum):
    """How the rows of several cores become one number."""

    MEAN = "mean"
    SUM = "sum"


class Column(NamedTuple):
    """A documented column: its table, its name without unit, the counter it becomes, and how rows are joined."""

    table: str
    name: str
    counter: str
    join: Join


def _pipes() -> Iterator[Column]:
    """Time, share, instructions and waiting of every unit, under the names that both sides share."""
    units = {"aiv": ("vec", "scalar", "mte2", "mte3"), "aic": ("cube", "scalar", "mte1", "mte2", "mte3", "fixpipe")}
    for core, names in units.items():
        yield Column("PipeUtilization.csv", f"{core}_time", f"{core}_time", Join.MEAN)
        yield Column("PipeUtilization.csv", f"{core}_total_cycles", f"{core}_total_cycles", Join.MEAN)
        yield Column("PipeUtilization.csv", f"{core}_icache_miss_rate", f"{core}_icache_miss_rate", Join.MEAN)
        for name in names:
            yield Column("PipeUtilization.csv", f"{core}_{name}_time", f"{core}_{name}_time", Join.MEAN)
            yield Column("PipeUtilization.csv", f"{core}_{name}_ratio", f"{core}_{name}_ratio", Join.MEAN)
            yield Column(
                "ResourceConflictRatio.csv", f"{core}_{name}_wait_ratio", f"{core}_{name}_wait_ratio", Join.MEAN
            )
            if name.startswith("mte"):
                yield Column("Memory.csv", f"{core}_{name}_instructions", f"{core}_{name}_instructions", Join.SUM)


#: Every column that is used. ``docs/npu.md`` prints them with their pages.
COLUMNS: tuple[Column, ...] = (
    *_pipes(),
    Column("ResourceConflictRatio.csv", "aiv_vec_total_cflt_ratio", "aiv_vec_total_cflt_ratio", Join.MEAN),
    Column("ResourceConflictRatio.csv", "aiv_vec_bankgroup_cflt_ratio", "aiv_vec_bankgroup_cflt_ratio", Join.MEAN),
    Column("ResourceConflictRatio.csv", "aiv_vec_bank_cflt_ratio", "aiv_vec_bank_cflt_ratio", Join.MEAN),
    Column("Memory.csv", "aiv_gm_to_ub_bw", "aiv_gm_to_ub_bw_gbs", Join.MEAN),
    Column("Memory.csv", "aiv_ub_to_gm_bw", "aiv_ub_to_gm_bw_gbs", Join.MEAN),
    Column("Memory.csv", "GM_to_UB_datas", "GM_to_UB_datas_kb", Join.SUM),
    Column("Memory.csv", "UB_to_GM_datas", "UB_to_GM_datas_kb", Join.SUM),
    Column("Memory.csv", "read_main_memory_datas", "read_main_memory_datas_kb", Join.SUM),
    Column("Memory.csv", "write_main_memory_datas", "write_main_memory_datas_kb", Join.SUM),
)

#: What the twin counts together.
_MAIN_MEMORY = ("read_main_memory_datas_kb", "write_main_memory_datas_kb")


class Basic(NamedTuple):
    """The row of ``OpBasicInfo.csv``; 0 for what it does not have."""

    name: str
    time_us: float
    blocks: int
    clock_mhz: float


def read_folder(folder: Path) -> dict[str, float]:
    """Counters of every table in an ``OPPROF_*`` folder."""
    counters: dict[str, float] = {}
    for table in dict.fromkeys(column.table for column in COLUMNS):
        path = folder / table
        if not path.is_file():
            continue
        values = _columns(path)
        for column in (known for known in COLUMNS if known.table == table):
            numbers = values.get(column.name.lower(), [])
            if numbers:
                total = sum(numbers)
                counters[column.counter] = total if column.join is Join.SUM else total / len(numbers)
    # reads alone would look like little traffic
    both = [counters[name] for name in _MAIN_MEMORY if name in counters]
    return counters | ({"main_memory_datas_kb": sum(both)} if len(both) == len(_MAIN_MEMORY) else {})


def read_basic(folder: Path) -> Basic | None:
    """What ``OpBasicInfo.csv`` says about the whole launch; None without the table."""
    path = folder / "OpBasicInfo.csv"
    rows = _rows(path) if path.is_file() else []
    return _basic(rows[0]) if rows else None


def read_summary(path: Path) -> list[Basic]:
    """Rows of ``op_summary_*.csv``: one per launch, in the order of the file."""
    return [_basic(row) for row in _rows(path)]


#: A column's names in newer and older versions.
_BLOCKS = ("block num", "block dim")


def _basic(row: Mapping[str, tuple[str, float]]) -> Basic:
    def number(name: str) -> float:
        text, factor = row.get(name, ("", 1.0))
        value = _number(text)
        return 0.0 if value is None else value * factor

    # a table has one of the two; the other counts as 0
    blocks = max(number(name) for name in _BLOCKS)
    name = row.get("op name", row.get("name", ("", 1.0)))[0]
    return Basic(name, number("task duration") or number("duration"), int(blocks), number("current freq"))


def _rows(path: Path) -> list[dict[str, tuple[str, float]]]:
    """Rows as name in lower case to text and the factor of its unit."""
    # a byte order mark would become part of the first column's name
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        reader = csv.reader(stream)
        header = [_name_and_factor(cell, path) for cell in next(reader, [])]
        return [
            # not strict: a row may be shorter than the header
            {name: (text.strip(), factor) for (name, factor), text in zip(header, row, strict=False)}
            for row in reader
            if any(cell.strip() for cell in row)
        ]


def _name_and_factor(cell: str, path: Path) -> tuple[str, float]:
    header = _HEADER.match(cell)
    if header is None:
        return cell.strip().lower(), 1.0
    unit = (header["unit"] or "").strip().lower()
    # refused: taken as it is, the number would be wrong by an unknown factor
    if unit not in _UNITS:
        raise ExecutorError(
            f"{path.name}: column {cell!r} has a unit that is not known", remedy="report it with the file"
        )
    return header["name"].strip().lower(), _UNITS[unit]


def _columns(path: Path) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {}
    for row in _rows(path):
        for name, (text, factor) in row.items():
            value = _number(text)
            if value is not None:
                columns.setdefault(name, []).append(value * factor)
    return columns


def _number(text: str) -> float | None:
    """A cell's number; None for ``N/A``, ``NA``, nothing, and what is no finite number."""
    try:
        # digits may be grouped by commas, and a cell may repeat the unit
        value = float(text.rstrip("%").replace(",", ""))
    except ValueError:
        return None
    # only NaN differs from itself
    return value if value == value and abs(value) != float("inf") else None


def _options(site: Site, environment: Mapping[str, str], work: Path, kernel: str) -> Iterator[str]:
    """Which kernel, how many launches before it, as far as this version of the tool says that it knows the options.

    Unnamed, it takes the first kernel of the process; cold, it measures the first launch, which loads the kernel.
    """
    known = run((*site.profiler, "--help"), work=work, environment=environment, wall_s=_HELP_S).output
    for option, value in (("--kernel-name", kernel), ("--warm-up", str(_WARM_UPS)), ("--launch-count", "1")):
        if option in known:
            yield f"{option}={value}"


def profile_case(
    site: Site, bench: Bench, job: Job, profile: Profile, work: Path, read: tuple[Path, ...], *, kernel: str
) -> Profile:
    """``profile`` with the counters of one launch of ``kernel`` (the beginning of its name) under the profiler of
    single launches. ExecutorError when the tool gives none.
    """
    if not site.profiler:
        raise ExecutorError(
            "there is neither msprof nor msopprof on the path", remedy="source the toolkit's set_env.sh"
        )
    folder = work / "msprof"
    folder.mkdir()
    path = work / "profile.json"
    # orderly: the profiler writes its tables when a process ends in order
    profiled = replace(job, report=str(work / "profiled.json"), orderly=True)
    path.write_text(profiled.dumps(), encoding="utf-8")
    worker = bench.confined((sys.executable, "-m", "npukb_npu.worker", str(path)), work, _PROFILE_S, read)
    libraries = [str(library) for library in (*site.library_folders, *read)]
    environment = environment_for(site, work / "private", Path(job.package) if job.package else None, libraries)
    command = (*site.profiler, f"--output={folder}", *_options(site, environment, work, kernel), *worker)
    # the profiler starts the worker, not `Bench`, which would set this
    environment["PYTHONPATH"] = ":".join((str(Path(__file__).parents[1]), *sys.path))
    finished = run(command, work=work, environment=environment, wall_s=_PROFILE_S)
    tables = sorted(folder.glob("**/OpBasicInfo.csv"))
    if not tables:
        tail = finished.output.strip()[-500:]
        raise ExecutorError(
            f"{' '.join(site.profiler)} wrote no tables for kernel {kernel}: {tail}",
            remedy="try --executor_args profile=time",
        )
    # the folders' names hold the time: the last is the latest
    basic = read_basic(tables[-1].parent)
    counters = {**profile.counters, **read_folder(tables[-1].parent)}
    if basic is not None:
        counters["msprof_task_duration_us"] = basic.time_us
        counters["msprof_clock_mhz"] = basic.clock_mhz
    told = "; ".join(filter(None, (_busiest(counters), profile.bottleneck)))
    return replace(profile, counters=counters, bottleneck=told)


def _busiest(counters: Mapping[str, float]) -> str:
    """The unit that works the longest of its cores' time, in the words of a profile; empty where no share was read."""
    shares = {name: value for name, value in counters.items() if _SHARE.fullmatch(name)}
    if not shares:
        return ""
    # by name as well: which of equal shares is told must not depend on the order of columns
    most = max(shares, key=lambda name: (shares[name], name))
    return f"{shares[most]:.0%} of the cores' time {most.removesuffix('_ratio')} works, more than any other unit"
