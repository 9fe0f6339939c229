"""Numbers of a device for the twin: micro-kernels are run on it, what decides their times is fitted, a file is written.

A micro-kernel does the same thing again and again, and what its time grows by from few rounds to many is what that
costs; :mod:`npukb_npu.rows` has them, :mod:`npukb_npu.fitting` solves for the numbers. The file names the machine file
that it extends; numbers that are measured here are graded B, everything else stays as it is there. Not yet run on
hardware: it has been tried with the twin in the place of the device, which gives back the twin's own numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from npukb_npu.fitting import Fit, Taken, fit
from npukb_npu.rows import Row, Table, table
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.evidence import Profile
from npukernelbench.nouns.execution import Artifact, CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.probe import probe_task
from npukernelbench.nouns.task import Task, TensorCase, TensorShape, ValueSpec

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument

__all__ = ["Stopwatch", "base_of", "command", "overlay", "summary"]

_ROUNDS = (2000, 6000)
_TIMEOUT_S = 120.0
_SAMPLING_S, _WARMUP_S = 1.0, 0.2
_REMEDY = "npukb doctor --npu tries the device out; if it finds nothing, report this line"
_FAR_OFF = 0.1  # a row that its numbers miss by more is named


class Runner(Protocol):
    """What is needed of an executor."""

    def compile(self, request: CompileRequest) -> CompileResult: ...

    def run(self, request: RunRequest) -> Observation: ...


class Stopwatch:
    """What a round of a row takes on ``executor``: the difference between many rounds and few."""

    def __init__(self, executor: Runner, rounds: tuple[int, int] = _ROUNDS) -> None:
        self._executor, self._rounds = executor, rounds
        self._built: dict[str, Artifact] = {}

    def prepare(self, rows: Sequence[Row], threads: int) -> None:
        """Compile rows ahead, several at a time; the first alone, which tells at once of a toolkit that takes none."""
        for some in (rows[:1], rows[1:]):
            with ThreadPoolExecutor(max(threads, 1)) as pool:
                for row, artifact in zip(some, pool.map(self._compile, some), strict=True):
                    self._built[row.source_text()] = artifact

    def __call__(self, row: Row, count: int) -> Taken:
        # such a row is about the launch itself, which a difference would take away
        if row.whole:
            profile = self._run(row, 0, count)
            return Taken(profile.time_us * 1e-6, profile.blocks)
        few, many = row.rounds or self._rounds
        # what happens once in a launch is in both times and cancels out
        least, most = (self._run(row, rounds, count) for rounds in (few, many))
        return Taken((most.time_us - least.time_us) * 1e-6 / (many - few), most.blocks)

    def _compile(self, row: Row) -> Artifact:
        task = _task(row)
        candidate = candidate_of({"kernel.cpp": row.source_text()})
        built = self._executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, candidate, _TIMEOUT_S))
        if built.artifact is None:
            words = "; ".join(map(str, built.diagnostics))
            raise ExecutorError(f"{row.what}: does not compile: {words}", remedy=_REMEDY)
        return built.artifact

    def _run(self, row: Row, rounds: int, count: int) -> Profile:
        import numpy as np

        source = row.source_text()
        if source not in self._built:
            self._built[source] = self._compile(row)
        task = _task(row)
        inputs: dict[str, Argument] = {
            "data": np.zeros(row.tensor_bytes[0], np.uint8),
            # inputs and not macros: one build serves all rounds and counts
            "parameters": np.array([rounds, count], np.int32),
        }
        seen = self._executor.run(RunRequest(task, task.cases[0], self._built[source], inputs, 0, _TIMEOUT_S))
        if seen.outcome is not Outcome.OK or seen.profile is None:
            words = "; ".join(map(str, seen.diagnostics))
            raise ExecutorError(f"{row.what}: does not run: {words}", remedy=_REMEDY)
        return seen.profile


def overlay(name: str, description: str, base: str, fitted: Fit, source: str) -> str:
    """A machine file that extends ``base`` by measured numbers."""
    lines = [
        "# Measured numbers of one device, for the twin: --executor_args soc=THIS_FILE. Grade B: measured on silicon.",
        f"name: {name}",
        f"description: {description}",
        f"extends: {base}",
    ]
    for section, numbers in (("numbers", fitted.numbers), ("rates", fitted.rates)):
        lines += [f"{section}:"] if numbers else []
        for key, measured in sorted(numbers.items()):
            lines.append(f"  # from {measured.how}")
            lines.append(f"  {key}: {{value: {measured.value:.6g}, unit: {measured.unit}, source: {source}, grade: B}}")
    return "\n".join(lines) + "\n"


def summary(fitted: Fit, known: Table) -> Iterator[str]:
    """Lines for the user: what was fitted, what was not and why, and rows that do not fit their numbers."""
    yield f"measured ({len(fitted.numbers)} numbers, {len(fitted.rates)} throughputs):"
    for key, measured in sorted({**fitted.numbers, **fitted.rates}.items()):
        yield f"  {key:<32}{measured.value:>14.6g} {measured.unit:<16}{measured.how}"
    reasons = {**known.unmeasured, **fitted.unfitted}
    yield f"not measured, value and grade stay as they are ({len(reasons)}):"
    for key, why in sorted(reasons.items()):
        yield f"  {key:<32}{why}"
    far = {row: error for row, error in fitted.misfits.items() if abs(error) > _FAR_OFF}
    yield f"rows that the numbers miss by more than {_FAR_OFF:.0%} ({len(far)}):"
    for row, error in sorted(far.items(), key=lambda item: -abs(item[1])):
        yield f"  {error:+7.0%}  {row}"


def base_of(chip: str) -> str:
    """The packaged machine file of a chip. UsageError for one that has none."""
    known = re.fullmatch(r"(?i)(?:ascend)?(910b[1-4](?:-1)?|910_93\d\d)", chip)
    if known is None:
        raise UsageError(
            f"there is no machine file for chip {chip!r}", field="base", remedy="name the one to extend with --base"
        )
    return "ascend" + known[1].lower().replace("-", "_")


def command(out: str, base: str, device: int) -> Iterator[str]:
    """``npukb calibrate``: lines for the user."""
    from npukb_npu.executor import Detail, NpuArgs, NpuExecutor

    known = table()
    args = NpuArgs(devices=str(device), profile=Detail.TIME, sampling_s=_SAMPLING_S, warmup_s=_WARMUP_S)
    executor = NpuExecutor(args)
    said: list[str] = []
    try:
        # a callback cannot yield: what it is told comes out behind it
        executor.prepare(said.append, Track.STATIC)
        yield from said
        facts = executor.describe()
        base = base or base_of(facts["chip"])
        stopwatch = Stopwatch(executor)
        yield f"building {len(known.measured)} micro-kernels"
        stopwatch.prepare(known.measured, os.cpu_count() or 1)
        fitted = fit(known, known.measured, stopwatch, executor.clock_hz())
    finally:
        executor.close()
    yield from summary(fitted, known)
    name = Path(out).stem.lower().replace("-", "_")
    # the text stands in a YAML mapping of one line, where a comma would end it
    source = f"npukb calibrate CANN {facts['cann']} driver {facts['driver']}".replace(",", " ")
    text = overlay(name, f"{facts['chip']}, measured with npukb calibrate", base, fitted, source)
    Path(out).write_text(text, encoding="utf-8")
    yield f"wrote {out}: use it with --executor_args soc={out}"


def _task(row: Row) -> Task:
    size, out_size = row.tensor_bytes
    data, parameters = TensorShape((size,), DType.UINT8), TensorShape((2,), DType.INT32)
    inputs = {"data": TensorCase(data, ValueSpec()), "parameters": TensorCase(parameters, ValueSpec())}
    out = {"out": TensorShape((out_size,), DType.UINT8)}
    return probe_task("Calibration", inputs, outputs=out, core=row.runs_on)
