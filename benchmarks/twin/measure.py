"""Processor time and memory of kernels. Processor time says more than the clock on a busy machine; times are the best
of several runs.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from npukb_twin.executor import TwinExecutor
from npukernelbench.nouns import DType, Outcome, RunRequest
from tests.twin.running import Twin, task_for

__all__ = ["Launch", "of_children", "of_self", "spent"]

RUNS = 5


class Launch:
    """A compiled kernel with its inputs, to be run again and again."""

    def __init__(
        self, executor: TwinExecutor, source: str, inputs: Mapping[str, NDArray[Any]], output: NDArray[Any]
    ) -> None:
        dtype = next(dtype for dtype in DType if dtype.numpy() == output.dtype)
        task = task_for(dict(inputs), {"z": (output.shape, dtype)})
        compiled = Twin(executor).compile(source, task)
        if compiled.artifact is None:
            raise SystemExit(
                f"a kernel does not compile: {[str(diagnostic) for diagnostic in compiled.diagnostics]}\n{source}"
            )
        self._executor = executor
        self._request = RunRequest(task, task.cases[0], compiled.artifact, dict(inputs), 1, 60.0)

    def __call__(self) -> float:
        """Run it; seconds of the process by the clock."""
        seen = self._executor.run(self._request)
        if seen.outcome is not Outcome.OK:
            raise SystemExit(f"a kernel fails: {[str(diagnostic) for diagnostic in seen.diagnostics]}")
        return seen.seconds

    def processor_s(self) -> float:
        """Processor seconds of its process."""
        return min(spent(of_children, self) for _ in range(RUNS))

    def peak_bytes(self) -> int:
        """The most memory that its process held, shared buffers included."""
        peak, over = 0, threading.Event()

        def watch() -> None:
            nonlocal peak
            # Sampled, as the high-water mark is gone once the process has ended.
            while not over.wait(0.001):
                # The 0 is for moments without children: `max` of a single number is an error.
                peak = max(peak, *(_peak_of(pid) for pid in _children()), 0)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(RUNS):
            self()
        over.set()
        watcher.join()
        return peak

    def clock_s(self) -> float:
        """Seconds of its process by the clock."""
        return min(self() for _ in range(RUNS))


def _children() -> list[int]:
    """Children of this process that run the twin's host program."""
    # Linux lists children by the thread that started them.
    listed = (task.read_text() for task in Path("/proc/self/task").glob("*/children"))
    return [int(pid) for text in listed for pid in text.split()]


def _peak_of(pid: int) -> int:
    """High-water mark of a process's memory in bytes; 0 when it has ended or has not begun its program yet."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    # Before its program begins, a forked child still has this process's memory.
    begun = fields["Name"].strip().startswith("npukb-twin")
    return int(fields["VmHWM"].split()[0]) * 1024 if begun and "VmHWM" in fields else 0


def of_children() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def of_self() -> float:
    """Processor seconds of this process."""
    return time.process_time()


def spent(clock: Callable[[], float], call: Callable[[], object]) -> float:
    """How far ``clock`` advances during ``call``."""
    before = clock()
    call()
    return clock() - before
