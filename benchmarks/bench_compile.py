"""What a kernel costs to compile: each golden, specialised for its smoke case, against an empty file, same flags.

The flags name the precompiled API header, so the empty file pays for loading it too; the bare compiler (no API at
all) is printed for comparison. Compilation only, without linking, whole processes.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from timing import median_of_call, report

from npukb_twin.compile import build, driver, toolchain
from npukernelbench.config import default_cache_dir
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import load_registry


def golden(task: Task, case: Case) -> str:
    """The task's golden kernel, specialised for ``case``."""
    [source] = golden_kernel(task, case, Track.STATIC).values()
    return source


def compile_seconds(command: Sequence[str], kernel: str = "", unit: driver.Unit | None = None) -> float:
    """Median seconds to compile ``unit``, whose source is ``kernel``, with ``command``; an empty file without one."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        text = ""
        if unit is not None:
            translated = driver.write_sources({driver.KERNEL_FILE: kernel}, unit.entry, work)
            text, _ = driver.unit_text(unit, translated.entry)
        (work / "kernel.unit.cc").write_text(text, encoding="utf-8")
        environment = toolchain.clean_environment(work)

        def once() -> None:
            subprocess.run(command, cwd=work, env=environment, check=True)

        return median_of_call(once)


def main() -> None:
    chosen = toolchain.find()
    runtime = build.ensure(chosen, default_cache_dir())
    command = driver.compile_command(chosen, runtime, driver.Unit(driver.KERNEL_FILE, "kernel", ()))
    bare_command = (*chosen.compile, *build.kernel_flags(chosen), "-c", "kernel.unit.cc", "-o", "kernel.o")
    bare = compile_seconds(bare_command)
    empty = compile_seconds(command)
    print(f"empty file, no API: {bare * 1e3:.1f} ms; empty file, same flags as a kernel: {empty * 1e3:.1f} ms")
    tasks = load_registry(Plugins.load())
    seconds = []
    for selected in tasks.select(["smoke"]):
        task, case = selected.task, selected.cases[0]
        if not any(g.track is Track.STATIC for g in task.goldens):
            continue
        unit = driver.Unit(driver.KERNEL_FILE, task.kernel, task.arguments)
        seconds.append(compile_seconds(command, golden(task, case), unit))
        print(f"  {task.name}: {seconds[-1] * 1e3:.1f} ms, {seconds[-1] / empty:.2f} x")
    report("golden kernel, median", statistics.median(seconds), "empty file, same flags", empty, target=2.5)


if __name__ == "__main__":
    main()
