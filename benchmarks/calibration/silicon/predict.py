"""Predicts the measured rows that our golden kernels compute, and keeps the predictions beside them.

    python -m benchmarks.calibration.silicon.predict [--most_mb 260] [--operators NAME,...]

``predicted_910b2.csv`` holds what the model in the tree says of every row up to that size; the page and the intervals
are made of it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.calibration.silicon.rows import Problem, problems
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.timing.intervals import regime_of
from npukb_twin.timing.machine import load
from npukernelbench.errors import NpukbError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.roofline import bound_us
from npukernelbench.nouns import Artifact, CompileRequest, Outcome, Profile, RunRequest, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts.golden import GoldenKernels
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.making import Makers

SOC = "ascend910b2"
PREDICTED = Path(__file__).parent / "predicted_910b2.csv"
FIELDS = ("row", "operator", "class", "regime", "megabytes", "measured_us", "predicted_us", "bound_us")
_SECONDS = 600.0


def predictions(chosen: Sequence[Problem], kernels: GoldenKernels) -> Iterator[tuple[Problem, Profile]]:
    """The profile of every problem, kernel by kernel."""
    executor = TwinExecutor(TwinArgs(soc=SOC))
    compiled: dict[str, Artifact] = {}
    try:
        for problem in chosen:
            task, case = problem.task, problem.case
            # One kernel of the dynamic track serves all rows of its operator.
            if task.name not in compiled:
                candidate = candidate_of(kernels.kernel(task, None, Track.DYNAMIC))
                built = executor.compile(CompileRequest(task, case, Track.DYNAMIC, candidate, _SECONDS))
                if built.artifact is None:
                    raise SystemExit(f"{task.name}: " + "\n".join(map(str, built.diagnostics)))
                compiled[task.name] = built.artifact
            inputs = generate_inputs(task, case, 0)
            seen = executor.run(RunRequest(task, case, compiled[task.name], inputs, 0, _SECONDS))
            if seen.outcome is not Outcome.OK or seen.profile is None:
                raise SystemExit(f"{task.name} {problem.row.shapes}: " + "\n".join(map(str, seen.diagnostics)))
            yield problem, seen.profile
    finally:
        executor.close()


def _line(problem: Problem, profile: Profile) -> dict[str, object]:
    return {
        "row": problem.row.number,
        "operator": problem.row.operator,
        "class": problem.kind,
        "regime": regime_of(profile.counters, profile.time_us),
        "megabytes": f"{problem.nbytes / 1e6:.3f}",
        "measured_us": problem.row.measured_us,
        "predicted_us": f"{profile.time_us:.3f}",
        "bound_us": f"{bound_us(problem.task, problem.case, load(SOC).roof):.3f}",
    }


def main(arguments: Sequence[str]) -> int:
    """Predict and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration.silicon.predict", description=__doc__)
    parser.add_argument("--most_mb", type=float, default=260.0, help="leave out cases with more megabytes of tensors")
    parser.add_argument("--operators", default="", help="only these operators; others keep what is written")
    asked = parser.parse_args(arguments)
    only = frozenset(filter(None, asked.operators.split(",")))
    plugins = Plugins.load()
    try:
        every = list(problems(load_registry(plugins)))
    except NpukbError as error:
        raise SystemExit(str(error)) from error
    chosen = [p for p in every if p.nbytes <= asked.most_mb * 1e6 and (not only or p.row.operator in only)]
    kept = {int(line["row"]): line for line in read() if only and line["operator"] not in only}
    lines: dict[int, Mapping[str, object]] = dict(kept)
    with GoldenKernels(Makers(plugins.goldens)) as kernels:
        for problem, profile in predictions(chosen, kernels):
            lines[problem.row.number] = line = _line(problem, profile)
            print(*line.values(), file=sys.stderr)
    with PREDICTED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines[number] for number in sorted(lines))
    return 0


def read() -> list[dict[str, str]]:
    """The lines of ``predicted_910b2.csv``; none when there is no such file."""
    if not PREDICTED.is_file():
        return []
    with PREDICTED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
