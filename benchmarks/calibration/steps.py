"""The published optimisation of one kernel, and what can be read off its steps: transfers under load, alignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.harness import Bench
from benchmarks.calibration.prediction import Prediction
from npukernelbench.nouns import Profile

__all__ = ["Step", "steps"]

SOC = "ascend910b1"
TOTAL = 8192 * 8192
SCALAR_PART = 64  # the scalar loop runs on that part of the tensors: its time is proportional to their size


@dataclass(frozen=True, slots=True)
class Step(Prediction):
    """A published time or rate and the prediction."""

    section: str
    what: str
    unit: str


def steps(bench: Bench) -> tuple[list[Step], list[Step]]:
    """Whole kernels, and parts of them."""
    scalar = _add(bench, 4096, cores=1, scalar=1, part=SCALAR_PART)
    one_core = _add(bench, 4096, cores=1)
    small = _add(bench, 4096, serial=1)
    large = _add(bench, 16384, serial=1)
    double = _add(bench, 16384, buffers=2)
    bypass = _add(bench, 16384, buffers=2, bypass=1)
    apart = _add(bench, 16256, buffers=2, bypass=1, skew=128)
    table = (
        ("scalar loop, one core", 1239689.1, scalar.time_us * SCALAR_PART),
        ("1: vector Add of 8 KB tiles, one core", 6909.6, one_core.time_us),
        ("2: 48 cores", 306.58, small.time_us),
        ("3: tiles of 32 KB", 268.5, large.time_us),
        ("4: double buffering", 264.02, double.time_us),
        ("5: inputs past the L2 cache", 187.68, bypass.time_us),
        ("6: x and y in different bank groups", 184.52, apart.time_us),
    )
    kernels = [Step(published, predicted, "ADD2 ADD3", "6.2", what, "µs") for what, published, predicted in table]
    parts = [
        _per_copy("1.4", "GM→UB of 8 KB, one core", 184, one_core, "mte2", 48),
        _per_copy("1.4", "UB→GM of 8 KB, one core", 159, one_core, "mte3", 48),
        _per_copy("1.4", "GM→UB of 8 KB, 48 cores", 316, small, "mte2", 48),
        _per_copy("1.4", "GM→UB of 32 KB, 48 cores that write at the same time", 1468, double, "mte2", 48),
        _per_copy("1.4", "GM→UB of 32 KB, 48 cores, past L2", 1031, bypass, "mte2", 48),
    ]
    aligned, odd = _stream(bench, 0), _stream(bench, 32)
    parts.append(Step(0.7, aligned / odd, "OPT", "1.5", "rate of transfers at 32 B against 512 B, all cores", "ratio"))
    return kernels, parts


def _add(
    bench: Bench,
    tile: int,
    *,
    buffers: int = 1,
    cores: int = 48,
    bypass: int = 0,
    skew: int = 0,
    scalar: int = 0,
    serial: int = 0,
    part: int = 1,
) -> Profile:
    total = TOTAL // part
    macros = {
        "TILE": tile,
        "BUFFERS": buffers,
        "CORES": cores,
        "TOTAL": total,
        "BYPASS": bypass,
        "SKEW": skew,
        "SCALAR": scalar,
        "SERIAL": serial,
        "INSIDE": 0,
    }
    x = np.zeros(total, np.float16)
    return bench.time(SOC, "add", macros, {"x": x, "y": x}, 2 * total)


def _per_copy(section: str, what: str, published: float, profile: Profile, pipe: str, cores: int) -> Step:
    # Busy times are means over all cores of the machine, idle ones included.
    busy_us = profile.counters[f"aiv_{pipe}_time"] * cores
    predicted = busy_us * 1e3 / profile.counters[f"aiv_{pipe}_instructions"]
    return Step(published, predicted, "ADD2 ADD3", section, what, "ns")


def _stream(bench: Bench, offset: int) -> float:
    """Time of all cores reading 1 MiB each, in transfers of 32 KB."""
    macros = {"PIECE": 32768, "BYTES": 1 << 20, "OFFSET": offset, "STEP": (1 << 20) + 512}
    profile = bench.time(SOC, "stream", macros, {"x": np.zeros(50 << 20, np.uint8)}, 32)
    return profile.time_us - profile.counters["launch_time"]
