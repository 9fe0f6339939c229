"""What judging one small kernel costs in processor time, by process: the compiler, the linker, the launches, Python.

    python benchmarks/bench_processes.py [TASK...]

All of it runs on one core, so that wall time is processor time where nothing else runs: copies of a compiler that has
been started (launcher/forkserver.h) are nobody's children whose time could be asked for. The floor is what processes
cost that do nothing: a compiler and a linker that say their version, and as many hosts of kernels without a launch.
Each golden kernel is judged several times, as a text of its own, and the cheapest judgement counts. The promise is
twelve kernels a second and core.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from npukb_twin.compile import build, driver, toolchain
from npukb_twin.launch import launching, process
from npukernelbench.config import default_cache_dir
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import load_registry

RUNS = 5
PYTHON = "python"


def name_of(command: Sequence[str]) -> str:
    """What a child is for."""
    # Zig's one program is several tools, which its first argument names: clang, ld.lld.
    return command[1] if Path(command[0]).name == "zig" else Path(command[0]).name


def judged(judge: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of one judgement by process."""
    costs: dict[str, float] = defaultdict(float)

    def timed(command: Sequence[str], **how: object) -> process.Finished:
        began = time.perf_counter()
        done = process.run(command, **how)  # type: ignore[arg-type]
        costs[name_of(command)] += (time.perf_counter() - began) * 1e3
        return done

    # Both modules imported `run` by name: a patch of `process` would reach neither.
    with patch.object(driver, "run", timed), patch.object(launching, "run", timed):
        began = time.perf_counter()
        judge()
        whole = (time.perf_counter() - began) * 1e3
    costs[PYTHON] = whole - sum(costs.values())
    return costs


def total(costs: dict[str, float]) -> float:
    """Milliseconds of all processes."""
    return sum(costs.values())


def floor_ms(host: Path, launches: int) -> float:
    """What processes cost that start and end."""
    chosen = toolchain.find()
    commands = [
        ((*chosen.compile[:2], "--version"), 1),
        ((*chosen.link_kernel[:2], "--version"), 1),
        ((str(host),), launches),
    ]

    def once(command: Sequence[str]) -> float:
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False)
        return (time.perf_counter() - began) * 1e3

    return sum(count * min(once(command) for _ in range(RUNS)) for command, count in commands)


def main(names: Sequence[str]) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    plugins = Plugins.load()
    executor = make_executor(plugins.executors.find("twin"), {"threads": 1})
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    totals, floors = [], []
    host = build.ensure(toolchain.find(), default_cache_dir()).host
    for selected in load_registry(plugins).select([f"{name}:smoke" for name in names] or ["smoke"]):
        task, case = selected.task, selected.cases[0]
        if not any(golden.track is Track.STATIC for golden in task.goldens):
            continue
        [source] = golden_kernel(task, case, Track.STATIC).values()
        count = 0

        def once() -> None:
            nonlocal count
            count += 1
            text = f"// text {count}\n{source}"  # noqa: B023
            verdict = judge.judge(task, [case], Track.STATIC, candidate_of({driver.KERNEL_FILE: text}))  # noqa: B023
            if verdict.outcome is not Outcome.OK:
                raise SystemExit(f"the golden kernel of {task.name} fails: {verdict}")  # noqa: B023

        # The first one fills caches, and is not counted.
        once()
        costs = min((judged(once) for _ in range(RUNS)), key=total)
        shown = "; ".join(f"{name} {ms:.1f} ms" for name, ms in costs.items())
        print(f"  {task.name:20}{total(costs):6.1f} ms: {shown}", flush=True)
        totals.append(total(costs))
        floors.append(floor_ms(host, 3))
    executor.close()
    median, floor = statistics.median(totals), min(floors)
    print(f"{1e3 / median:.1f} kernels a second and core in the median of {len(totals)} (target >= 12)")
    print(f"the same processes, started anew and without work: {floor:.1f} ms; ratio {median / floor:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
