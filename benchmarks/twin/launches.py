"""What a launch costs around its instructions: a process, mapped buffers, memory; and what a second core gives.

Start and mapping are printed as they are; NumPy's copy of the same bytes stands beside the mapping.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from benchmarks.twin.kernels import TILE, Kernel
from benchmarks.twin.measure import RUNS, Launch, of_self, spent
from npukb_twin.executor import TwinArgs, TwinExecutor

ADD = Kernel("Add", ("float", "float"), "float", "Add(z, a, b, n);", np.add)
EXP = Kernel("Exp", ("float",), "float", "for (int i = 0; i < 64; ++i) Exp(z, a, n);", np.exp)
LARGE = 1 << 25
BLOCKS = 480
SPEEDUP = 1.8
EXTRA_MB = 300.0


def main() -> int:
    missed = 0
    executor = TwinExecutor(TwinArgs(threads=1))
    start = launch(executor, ADD, TILE).processor_s()
    print(f"one tile: {start * 1e3:.1f} ms of processor time for the whole process")
    large = launch(executor, ADD, LARGE)
    nbytes = 3 * 4 * LARGE
    copied = ADD.arrays(LARGE)[1]
    # There are three buffers of this size: two inputs and an output.
    copy = min(spent(of_self, copied.copy) for _ in range(RUNS)) * 3
    mapped = large.processor_s() - start
    print(f"{nbytes >> 20} MiB of buffers: {mapped * 1e3:.0f} ms; NumPy's copies of them {copy * 1e3:.0f} ms")
    extra = (large.peak_bytes() - nbytes) / (1 << 20)
    missed += show("memory beside inputs and outputs", extra, "MiB", extra <= EXTRA_MB, f"<= {EXTRA_MB:g}")
    executor.close()
    if (os.cpu_count() or 1) >= 2:
        gain = speedup()
        missed += show("two cores against one, independent blocks", gain, "times", gain >= SPEEDUP, f">= {SPEEDUP:g}")
    return int(missed > 0)


def speedup() -> float:
    """How much faster two threads run a kernel whose blocks do not wait for each other; starting is in both times."""
    seconds = []
    for threads in (1, 2):
        executor = TwinExecutor(TwinArgs(threads=threads))
        seconds.append(launch(executor, EXP, BLOCKS * TILE).clock_s())
        executor.close()
    return seconds[0] / seconds[1]


def launch(executor: TwinExecutor, kernel: Kernel, elements: int) -> Launch:
    output, *sources = kernel.arrays(elements)
    return Launch(executor, kernel.source(elements, 1), dict(zip("ab", sources, strict=False)), output)


def show(what: str, value: float, unit: str, met: bool, promise: str) -> int:
    """One line; 1 when the promise is missed."""
    print(f"{what}: {value:.2f} {unit} (target {promise}: {'met' if met else 'MISSED'})", flush=True)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
