"""Instructions against NumPy: processor time of one pass of a kernel over its arrays, on one thread, over NumPy's
processor time for the same operation on the same arrays.

A pass loads, computes and stores every tile. It is what a process with several passes costs more than one with a single
pass: starting a process and mapping its buffers belong to the launch (launches.py). Arguments name the instructions
wanted.
"""

from __future__ import annotations

import statistics
import sys

import numpy as np

from benchmarks.twin.kernels import KERNELS, Kernel
from benchmarks.twin.measure import RUNS, Launch, of_self, spent
from npukb_twin.executor import TwinArgs, TwinExecutor

ELEMENTS = 1 << 22
TARGET = 4.0
PASSES = 5


def main(wanted: list[str]) -> int:
    executor = TwinExecutor(TwinArgs(threads=1))
    ratios = []
    for kernel in KERNELS:
        if wanted and kernel.name not in wanted:
            continue
        own, floor = costs(executor, kernel)
        ratios.append(own / floor)
        missed = "" if ratios[-1] <= TARGET else "   MISSED"
        times = f"{own * 1e3:7.2f} ms  NumPy {floor * 1e3:7.2f} ms"
        print(f"{kernel.title:32} {times}  ratio {ratios[-1]:5.2f}{missed}", flush=True)
    executor.close()
    over = sum(ratio > TARGET for ratio in ratios)
    print(f"{len(ratios)} kernels, median ratio {statistics.median(ratios):.2f}, {over} above {TARGET:g}")
    return int(over > 0)


def costs(executor: TwinExecutor, kernel: Kernel) -> tuple[float, float]:
    """Processor seconds of one pass of the kernel and of NumPy."""
    z, *sources = kernel.arrays(ELEMENTS)
    inputs = dict(zip("ab", sources, strict=False))
    single, several = (
        Launch(executor, kernel.source(ELEMENTS, passes), inputs, z).processor_s() for passes in (1, PASSES)
    )
    with np.errstate(all="ignore"):
        floor = min(spent(of_self, lambda: kernel.floor(z, *sources)) for _ in range(RUNS))
    return (several - single) / (PASSES - 1), floor


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
