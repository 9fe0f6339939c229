"""Published figures of the machine, each beside what the twin predicts for a micro-kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.harness import Bench, Inputs
from benchmarks.calibration.steps import Step
from npukb_npu.rows import Row
from npukb_twin.timing import machine

__all__ = ["Compared", "compare"]


@dataclass(frozen=True, slots=True)
class Compared(Step):
    """One published figure and the prediction for it."""

    grade: str


def compare(bench: Bench, row: Row) -> Compared:
    """Predict one row with a published figure."""
    if row.published is None:
        raise ValueError(f"nothing is published about: {row.what}")
    rounds = row.rounds or (64, 128)
    clock = machine.load(row.soc).numbers["clock_hz"]
    if row.unit == "elements/cycle" or row.per_count:
        low, high = row.counts
        cycles = (_cost(bench, row, rounds, high) - _cost(bench, row, rounds, low)) * clock
        predicted = cycles / (high - low) if row.per_count else (high - low) / cycles
    elif row.unit == "scalar cycles more":
        predicted = (_scalar(bench, row, row.body) - _scalar(bench, row, row.than)) * clock * row.times
    else:
        predicted = _cost(bench, row, rounds, 0) * (clock if row.unit == "cycles" else 1e9)
    return Compared(row.published, predicted, row.source, row.section, row.what, row.unit, row.grade)


def _cost(bench: Bench, row: Row, rounds: tuple[int, int], count: int) -> float:
    """Seconds that one round takes."""
    few, many = rounds
    # The difference of two runs, so that the launch, and what is done once, drop out.
    return (_time(bench, row, many, count) - _time(bench, row, few, count)) / (many - few)


def _scalar(bench: Bench, row: Row, body: str) -> float:
    """Seconds that the scalar unit is busy in one round."""
    few, many = 64, 128
    times = [_run(bench, row, body, rounds, 0)["aiv_scalar_time"] for rounds in (few, many)]
    cores = machine.load(row.soc).vector_cores
    return (times[1] - times[0]) * 1e-6 * cores / (many - few)


def _time(bench: Bench, row: Row, rounds: int, count: int) -> float:
    return _run(bench, row, row.body, rounds, count)["time_us"] * 1e-6


def _run(bench: Bench, row: Row, body: str, rounds: int, count: int) -> Mapping[str, float]:
    size, out_size = row.tensor_bytes
    inputs: Inputs = {"data": np.zeros(size, np.uint8), "parameters": np.array([rounds, count], np.int32)}
    profile = bench.time(row.soc, row.kernel, row.macros(body), inputs, out_size)
    return {**profile.counters, "time_us": profile.time_us}
