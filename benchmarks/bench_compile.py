"""What a kernel costs to compile: each golden, specialised for its smoke case, against an empty file, same flags.

The flags name the precompiled API header, so the empty file pays for loading it too; the bare compiler (no API at
all) is printed for comparison. Compilation only, without linking: empty files by whole processes, kernels as the judge
compiles them, confined, by copies of a compiler that has been started (launcher/forkserver.h) and by whole processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from timing import median_of_call, report

from npukb_twin.compile import build, driver, toolchain, units
from npukb_twin.compile.borrowed_names import borrowed
from npukb_twin.launch.process import Limits, run
from npukb_twin.launch.sandbox import Mode, Sandbox, open_sandbox
from npukernelbench.config import default_cache_dir
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import load_registry


def golden(task: Task, case: Case) -> str:
    """The task's golden kernel, specialised for ``case``."""
    [source] = golden_kernel(task, case, Track.STATIC).values()
    return source


def bare_seconds(command: Sequence[str]) -> float:
    """Median seconds of ``command`` as a process, with an empty ``kernel.unit.cc`` where it works."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "kernel.unit.cc").touch()
        environment = toolchain.clean_environment(work)

        def once() -> None:
            subprocess.run(command, cwd=work, env=environment, check=True)

        return median_of_call(once)


def compile_seconds(command: Sequence[str], kernel: str, unit: driver.Unit, how: Sandbox) -> float:
    """Median seconds to compile ``unit``, whose source is ``kernel``, as the judge does: by ``how``'s servers if it has
    some, confined.
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        files = {driver.KERNEL_FILE: kernel}
        translated = driver.write_sources(files, unit.entry, work)
        text, _ = driver.unit_text(unit, translated.entry, names=borrowed(files))
        units.write_unit(work, "kernel", text)
        environment, limits = toolchain.clean_environment(work), Limits(60.0, 4 << 30, 1 << 28)

        def once() -> None:
            stop = units.unit_stop("kernel", command)
            done = run(command, work=work, environment=environment, limits=limits, sandbox=how, stop=stop)
            if done.returncode != 0:
                raise SystemExit(done.output)

        return median_of_call(once)


def main(names: Sequence[str]) -> None:
    chosen = toolchain.find()
    runtime = build.ensure(chosen, default_cache_dir())
    command = driver.compile_command(chosen, runtime, driver.Unit(driver.KERNEL_FILE, "kernel", ()))
    bare_command = (*chosen.compile, *build.kernel_flags(chosen), "-c", "kernel.unit.cc", "-o", "kernel.o")
    bare, empty = bare_seconds(bare_command), bare_seconds(command)
    print(f"empty file, no API: {bare * 1e3:.1f} ms; empty file, same flags as a kernel: {empty * 1e3:.1f} ms")
    tasks = load_registry(Plugins.load())
    sandbox = open_sandbox(Mode.AUTO, runtime.host.parent)
    sandbox = sandbox.reaching(build.source_root(), runtime.host.parent, runtime.prelude, run=chosen.folders)
    seconds, started = [], []
    for selected in tasks.select([f"{name}:smoke" for name in names] or ["smoke"]):
        task, case = selected.task, selected.cases[0]
        if not any(g.track is Track.STATIC for g in task.goldens):
            continue
        unit = driver.Unit(driver.KERNEL_FILE, task.kernel, task.arguments)
        source = golden(task, case)
        seconds.append(compile_seconds(command, source, unit, sandbox))
        # Without servers each compiler is a process that starts anew.
        started.append(compile_seconds(command, source, unit, replace(sandbox, servers=None)))
        print(
            f"  {task.name}: {seconds[-1] * 1e3:.1f} ms, {seconds[-1] / empty:.2f} x; "
            f"by a compiler that is started for it {started[-1] * 1e3:.1f} ms",
            flush=True,
        )
    sandbox.close()
    for what, spent in (("golden kernel, median", seconds), ("the same, compilers started anew", started)):
        report(what, statistics.median(spent), "empty file, same flags", empty, target=2.2)


if __name__ == "__main__":
    main(sys.argv[1:])
