"""Writes the table of slow starts: what makes the kernel slow that a task of optimisation begins with.

    python -m benchmarks.slow_starts [--missing | --renew] [TASKS...]

For each task one case: of those whose golden kernel has a known time, the one that takes longest or, where even that is
over at once, the largest of moderate size. De-optimisations are
tried one after the other, each on top of those before that stayed. One stays where the judge finds the kernel right and
its predicted time at least a twentieth longer. What does not stay is listed with its reason, and so is a task where
none does. The start is then judged on the dynamic track, too. ``--missing`` leaves alone what the table knows;
``--renew`` judges the starts that the table knows again, and looks for another where one is right and slower no more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.golden_times import FOLDER, rows
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.errors import TaskError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Outcome, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import GoldenKernels
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.sizes import input_bytes, output_bytes
from npukernelbench.tasks.slow import DEOPTIMISATIONS
from npukernelbench.tasks.starts import FILE, Start, start_of

__all__ = ["find_start", "longest_case", "renewed"]

#: A kernel that is slower by less is not worth the name.
_SLOWER = 1.05
#: A start must be judged once in every run: one that takes longer than this to run is none.
_TIMEOUT_S = 30.0
#: What takes less is mostly the start of a launch, which no kernel can change.
_LONG_US = 5.0
_MOST_BYTES = 16 << 20


def longest_case(task: Task, times: Mapping[str, float | None]) -> Case:
    """The case on which there is most to lose."""
    longest = max(task.cases, key=lambda case: times.get(case.id) or 0.0)
    if (times.get(longest.id) or 0.0) >= _LONG_US:
        return longest
    moderate = [case for case in task.cases if input_bytes(case) + output_bytes(case) <= _MOST_BYTES]
    return max(moderate or [longest], key=lambda case: input_bytes(case) + output_bytes(case))


def find_start(task: Task, case: Case, judge: Judge, kernels: GoldenKernels) -> Start:
    """What makes the golden kernel slow on that case, and keeps it right."""

    def time_us(files: Mapping[str, str]) -> float | str:
        return _time_us(judge, task, case, Track.STATIC, files)

    try:
        golden = time_us(kernels.kernel(task, case, Track.STATIC))
    except TaskError as error:
        return Start(case=case.id, why=error.message)
    if isinstance(golden, str):
        return Start(case=case.id, why=f"the golden kernel: {golden}")
    kept: tuple[str, ...] = ()
    slowest, refused = golden, {}
    for name in DEOPTIMISATIONS:
        try:
            slower = time_us(kernels.slow_kernel(task, case, Track.STATIC, (*kept, name)))
        except TaskError as error:
            slower = error.message
        if isinstance(slower, str):
            refused[name] = slower
        elif slower < slowest * _SLOWER:
            refused[name] = f"not slower ({slower / slowest:.2f} times the time)"
        else:
            kept, slowest = (*kept, name), slower
    why = "" if kept else "; ".join(f"{name}: {reason}" for name, reason in refused.items())
    found = Start(case.id, kept, round(golden, 3), round(slowest, 3), refused=refused, why=why)
    return _with_dynamic(found, task, case, judge, kernels) if kept else found


def renewed(known: Start, task: Task, judge: Judge, kernels: GoldenKernels) -> Start | None:
    """A start with the times that the judge finds now; None where it is not right, or not slower."""
    case = task.case(known.case)
    golden, slow = (
        _time_us(judge, task, case, Track.STATIC, files)
        for files in (
            kernels.kernel(task, case, Track.STATIC),
            kernels.slow_kernel(task, case, Track.STATIC, known.names),
        )
    )
    if isinstance(golden, str) or isinstance(slow, str) or slow < golden * _SLOWER:
        return None
    found = replace(known, golden_us=round(golden, 3), start_us=round(slow, 3))
    return _with_dynamic(found, task, case, judge, kernels)


def _with_dynamic(start: Start, task: Task, case: Case, judge: Judge, kernels: GoldenKernels) -> Start:
    """The same start as an answer of the dynamic track. TaskError where it is not right there."""
    taken = _time_us(judge, task, case, Track.DYNAMIC, kernels.slow_kernel(task, case, Track.DYNAMIC, start.names))
    if isinstance(taken, str):
        raise TaskError(f"the start of {task.name} is right on the static track and not on the dynamic one: {taken}")
    return replace(start, dynamic_us=round(taken, 3))


def _time_us(judge: Judge, task: Task, case: Case, track: Track, files: Mapping[str, str]) -> float | str:
    """The predicted time of a right kernel, else what became of it."""
    verdict = judge.judge(task, (case,), track, candidate_of(files))
    if verdict.outcome is not Outcome.OK:
        return verdict.outcome.value
    return verdict.metrics.get("predicted_time_us", "no time is predicted")


def main(arguments: Sequence[str]) -> int:
    """Look for starts, and keep each as it is found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_starts", description=__doc__)
    parser.add_argument("--missing", action="store_true", help="only tasks that the table does not know")
    parser.add_argument("--renew", action="store_true", help="judge the starts of the table again")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only every N-th task, for processes side by side")
    parser.add_argument("--out", type=Path, default=FOLDER / FILE, help="another file")
    parser.add_argument("tasks", nargs="*", default=["all"], help="as in --tasks of npukb run")
    asked = parser.parse_args(arguments)
    plugins = Plugins.load()
    executor = TwinExecutor(TwinArgs())
    facts = executor.describe()
    baseline = json.loads((FOLDER / f"{facts['machine']}.json").read_text(encoding="utf-8"))["tasks"]
    document = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.is_file() else {"tasks": {}}
    document |= {"machine": facts["machine"], "model": facts["time_model"]}
    judge = Judge.of(executor, plugins, JudgeSettings(run_timeout_s=_TIMEOUT_S))
    first, of = map(int, asked.part.split("/"))
    chosen = [selected.task for selected in load_registry(plugins).select(asked.tasks)][first - 1 :: of]
    with GoldenKernels() as kernels:
        for task in chosen:
            if asked.missing and task.name in document["tasks"]:
                continue
            known = start_of(task)
            try:
                start = renewed(known, task, judge, kernels) if asked.renew and known.names else None
                if start is None:
                    case = longest_case(task, baseline.get(task.name, {}).get("static", {}))
                    start = find_start(task, case, judge, kernels)
            except TaskError as error:
                start = Start(case=known.case, why=error.message)
            document["tasks"][task.name] = {name: value for name, value in asdict(start).items() if value}
            asked.out.write_text(rows(document, 2) + "\n", encoding="utf-8")
            factor = start.start_us / start.golden_us if start.names else 0.0
            print(f"{task.name} {start.case}: {factor:.1f} {'+'.join(start.names) or start.why}", file=sys.stderr)
    executor.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
