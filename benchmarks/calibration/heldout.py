"""Kernels whose published times the model had not seen when it first predicted them, written after a description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.harness import Bench
from benchmarks.calibration.prediction import Prediction

__all__ = ["HeldOut", "held_out"]

SOC = "ascend910b1"
SIDE = 12288


@dataclass(frozen=True, slots=True)
class HeldOut(Prediction):
    """A published time in us, what the model predicted before it was known, and what it predicts now.

    ``fitted`` is the number of the machine file that was fitted to it since, if any.
    """

    what: str
    first: Prediction
    fitted: str


#: What is read; times in us: published, and as first predicted; what was fitted to it; how the reading differs from one
#: matrix of 12288 × 12288, once.
#: Every core reads the whole of a small matrix.
_BY_ALL = {"M": 6144, "N": 512, "TILE_N": 64, "ALL": 1}
_INTO_UB: tuple[tuple[str, float, float, str, Mapping[str, int]], ...] = (
    ("pieces of 128 B", 564.84, 5056.1, "copy_issue_cycles", {"TILE_M": 1, "TILE_N": 64}),
    ("64 pieces of 128 B", 233.54, 339.0, "", {"TILE_M": 64, "TILE_N": 64}),
    ("64 pieces of 2 KiB", 215.82, 200.4, "hbm_read_bytes_per_s", {}),
    ("64 pieces of 2 KiB, rows of 24,574 B", 275.3, 194.9, "", {"N": SIDE - 1}),
    ("all four times", 828.06, 794.5, "", {"REPEATS": 4}),
    ("a quarter at a time, four times", 365.74, 329.9, "l2_bytes_per_s", {"REPEATS": 4, "SPLITS": 4}),
    ("6 MiB by every core, in the same order", 539.42, 175.0, "same_granule_s", {**_BY_ALL, "TILE_M": 128}),
    ("6 MiB by every core, each from its own part on", 328.88, 178.3, "", {**_BY_ALL, "TILE_M": 128, "ORDER": 1}),
)
_INTO_L1: tuple[tuple[str, float, float, str, Mapping[str, int]], ...] = (
    ("tiles of 64 × 64", 300.7, 397.7, "piece_cycles", {"TILE_N": 64}),
    ("tiles of 64 × 256", 230.24, 208.9, "", {}),
    ("tiles of 64 × 256, rows of 24,574 B", 438.76, 140.7, "", {"N": SIDE - 1}),
    ("all four times, tiles of 64 × 1024", 899.34, 793.7, "", {"REPEATS": 4, "TILE_N": 1024}),
    ("a quarter at a time, four times", 414.96, 451.2, "", {"REPEATS": 4, "SPLITS": 4, "TILE_N": 1024}),
    ("6 MiB by every core, in the same order", 278.56, 88.0, "", {**_BY_ALL, "TILE_M": 256}),
    ("6 MiB by every core, each from its own part on", 221.34, 91.2, "", {**_BY_ALL, "TILE_M": 256, "ORDER": 1}),
)


def held_out(bench: Bench) -> Iterator[HeldOut]:
    """Every held-out kernel with its published and its predicted time."""
    for what, published, first, fitted, change in _INTO_UB:
        time_us = _copy(bench, 48, {"INTO_L1": 0, "TILE_N": 1024, **change})
        yield HeldOut(published, time_us, "COPY", f"GM→UB, {what}", Prediction(published, first, "COPY"), fitted)
    for what, published, first, fitted, change in _INTO_L1:
        time_us = _copy(bench, 24, {"INTO_L1": 1, "TILE_N": 256, **change})
        yield HeldOut(published, time_us, "COPY", f"GM→L1, {what}", Prediction(published, first, "COPY"), fitted)
    x = np.zeros(8192 * 8192, np.float16)
    for stride, published, first in ((144, 151.42, 151.0), (145, 144.0, 146.5)):
        profile = bench.time(SOC, "nd2nz", {"STRIDE": stride}, {"x": x}, x.nbytes)
        what = f"into the order of fractals, block columns {stride} apart"
        yield HeldOut(published, profile.time_us, "NZ", what, Prediction(published, first, "NZ"), "ub_contention")


def _copy(bench: Bench, cores: int, change: Mapping[str, int]) -> float:
    macros = {"M": SIDE, "N": SIDE, "TILE_M": 64, "REPEATS": 1, "SPLITS": 1, "ALL": 0, "ORDER": 0, **change}
    macros["ROWS"] = macros["M"] // cores
    x = np.zeros(macros["M"] * macros["N"], np.float16)
    return bench.time(SOC, "copy", macros, {"x": x}, 32).time_us
