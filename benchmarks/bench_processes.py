"""What judging one small kernel costs in processor time, by process: the compiler, the linker, the launches, Python.

    python benchmarks/bench_processes.py [TASK...]

User and system time, and page faults, which are most of the system's. The floor is what the same processes cost that
do nothing: a compiler and a linker that say their version, and as many hosts of kernels without a launch. Each golden
kernel is judged several times, as a text of its own, and the cheapest judgement counts. The promise, twelve kernels a
second and core, is five times the floor.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from timing import report

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


class Spent(NamedTuple):
    """Processor milliseconds, and pages that were not there yet."""

    ms: float = 0.0
    faults: int = 0

    def plus(self, other: Spent) -> Spent:
        return Spent(self.ms + other.ms, self.faults + other.faults)


def spent(call: Callable[[], object], who: int) -> Spent:
    """What ``call`` costs this process or its children."""
    before = resource.getrusage(who)
    call()
    after = resource.getrusage(who)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(seconds * 1e3, after.ru_minflt - before.ru_minflt)


def name_of(command: Sequence[str]) -> str:
    """What a child is for."""
    return command[1] if Path(command[0]).name == "zig" else Path(command[0]).name


def judged(judge: Callable[[], None]) -> dict[str, Spent]:
    """The cost of one judgement by process."""
    costs: dict[str, Spent] = defaultdict(Spent)

    def run(command: Sequence[str], **how: object) -> process.Finished:
        done: list[process.Finished] = []
        cost = spent(lambda: done.append(process.run(command, **how)), resource.RUSAGE_CHILDREN)  # type: ignore[arg-type]
        costs[name_of(command)] = costs[name_of(command)].plus(cost)
        return done[0]

    with patch.object(driver, "run", run), patch.object(launching, "run", run):
        began = time.process_time()
        judge()
        costs[PYTHON] = Spent((time.process_time() - began) * 1e3)
    return costs


def total(costs: dict[str, Spent]) -> float:
    """Milliseconds of all processes."""
    return sum(cost.ms for cost in costs.values())


def floor_ms(host: Path, launches: int) -> float:
    """What processes cost that start and end."""
    chosen = toolchain.find()
    commands = [
        ((*chosen.compile[:2], "--version"), 1),
        ((*chosen.link_kernel[:2], "--version"), 1),
        ((str(host),), launches),
    ]

    def once(command: Sequence[str]) -> float:
        return spent(lambda: subprocess.run(command, capture_output=True, check=False), resource.RUSAGE_CHILDREN).ms

    return sum(count * min(once(command) for _ in range(RUNS)) for command, count in commands)


def main(names: Sequence[str]) -> None:
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

        once()
        costs = min((judged(once) for _ in range(RUNS)), key=total)
        shown = "".join(f"{name} {cost.ms:.1f} ms, {cost.faults} faults; " for name, cost in costs.items())
        print(f"  {task.name:20}{total(costs):6.1f} ms: {shown}", flush=True)
        totals.append(total(costs))
        floors.append(floor_ms(host, 3))
    executor.close()
    median, floor = statistics.median(totals), min(floors)
    print(f"{1e3 / median:.1f} kernels a second and core in the median of {len(totals)}")
    report("judging, median", median / 1e3, "the same processes without work", floor / 1e3, target=5.0)


if __name__ == "__main__":
    main(sys.argv[1:])
