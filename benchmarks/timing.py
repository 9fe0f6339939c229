"""Timing for benchmarks: whole processes or calls, several runs, median; every figure is printed as a ratio to a
floor.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["median_of_call", "median_of_command", "report", "script"]


def median_of_call(call: Callable[[], object], runs: int = 7) -> float:
    """Median wall seconds of ``call``, after one warm-up."""
    call()
    # The median: a busy machine makes single runs slow, never fast.
    return statistics.median(_timed(call) for _ in range(runs))


def median_of_command(command: Sequence[str], runs: int = 7) -> float:
    """Median wall seconds of a process, after one warm-up. Its output is thrown away; a failure is an error."""

    def once() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    return median_of_call(once, runs)


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def script(name: str) -> str:
    """A console script of the environment this benchmark runs in."""
    return str(Path(sys.executable).parent / name)


def report(what: str, seconds: float, floor: str, floor_seconds: float, target: float) -> None:
    """One line: the figure, its floor, the ratio and the ratio that was promised."""
    ratio = seconds / floor_seconds
    verdict = "met" if ratio <= target else "MISSED"
    print(
        f"{what}: {seconds * 1e3:.1f} ms; {floor}: {floor_seconds * 1e3:.1f} ms; "
        f"ratio {ratio:.2f} (target <= {target:g}: {verdict})"
    )
