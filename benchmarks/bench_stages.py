"""Where the processor time of compiling goes: milliseconds per stage of golden kernels, for their smoke cases.

    python benchmarks/bench_stages.py [TASK...]

User and system time of whole processes, the least of several runs: other work on the machine makes a run dearer, never
cheaper. The stages are differences of compilations that end earlier: ``start`` is the compiler that only says its
version, ``header`` an empty file behind the precompiled header, ``parse`` up to the syntax tree, ``lower`` up to LLVM's
code, ``checks`` its passes (inlining, the checker's calls), ``code`` machine code; ``link`` is the linker's process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from npukb_twin.compile import build, driver, toolchain, units
from npukb_twin.compile.borrowed_names import borrowed
from npukernelbench.config import default_cache_dir
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import load_registry

TASKS = ("AddCustom", "Sqrt", "AbsMath", "Gelu", "MseLoss", "RmsNorm", "CrossEntropyLoss", "BasicMatmul")
RUNS = 7
#: What ends a compilation early, by the last stage that is still done.
ENDS = {
    "parse": ("-fsyntax-only",),
    "lower": ("-Xclang", "-disable-llvm-passes", "-Xclang", "-emit-llvm-only"),
    "checks": ("-Xclang", "-emit-llvm-only"),
    "code": (),
}


def processor_ms(command: Sequence[str], work: Path) -> float:
    """The least processor milliseconds of ``command``, which has to succeed."""
    environment = toolchain.clean_environment(work)

    def once() -> float:
        child = subprocess.Popen(command, cwd=work, env=environment, stdout=subprocess.DEVNULL)
        # `wait4` tells the time of this child; `getrusage` would add up all children.
        _, status, used = os.wait4(child.pid, 0)
        # Popen did not wait itself, and would warn that the child is still running.
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        return (used.ru_utime + used.ru_stime) * 1e3

    return min(once() for _ in range(RUNS))


def write_unit(task: Task, case: Case, work: Path) -> None:
    """The translation unit of the task's golden kernel."""
    unit = driver.Unit(driver.KERNEL_FILE, task.kernel, task.arguments)
    files = {driver.KERNEL_FILE: next(iter(golden_kernel(task, case, Track.STATIC).values()))}
    translated = driver.write_sources(files, unit.entry, work)
    text, _ = driver.unit_text(unit, translated.entry, names=borrowed(files))
    units.write_unit(work, "kernel", text)


def main(names: Sequence[str]) -> None:
    chosen = toolchain.find()
    runtime = build.ensure(chosen, default_cache_dir())
    command = driver.compile_command(chosen, runtime, driver.Unit(driver.KERNEL_FILE, "kernel", ()))
    link = (*chosen.link_kernel, "kernel.o", "-o", "kernel.so")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "kernel.unit.cc").touch()
        start = processor_ms((*chosen.compile, "--version"), work)
        header = processor_ms((*command, *ENDS["parse"]), work)
        empty = processor_ms(command, work)
    print(f"start {start:.1f} ms, header {header - start:.1f} ms, empty file {empty:.1f} ms")
    print(f"{'task':20}" + "".join(f"{stage:>8}" for stage in (*ENDS, "link")) + "   all but link / empty file")
    for selected in load_registry(Plugins.load()).select([f"{name}:smoke" for name in names]):
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            write_unit(selected.task, selected.cases[0], work)
            reached = [processor_ms((*command, *end), work) for end in ENDS.values()]
            # Each stage without those before it.
            spent = [now - before for before, now in zip((header, *reached), reached, strict=False)]
            shown = "".join(f"{ms:8.1f}" for ms in (*spent, processor_ms(link, work)))
            print(f"{selected.task.name:20}{shown}   {reached[-1]:.1f} ms, {reached[-1] / empty:.2f} x", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or TASKS)
