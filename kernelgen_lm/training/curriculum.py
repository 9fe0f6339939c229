"""A curriculum by measured difficulty: which tasks a model learns from, and in which order.

A group of answers that are all right or all wrong teaches nothing. So the share of right answers is measured per task;
tasks that are always right or never are left out, the others come easiest first, and it is measured again before every
further round.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path

from kernelgen_lm.corpus.questions import is_held_out
from kernelgen_lm.corpus.reference import function_of
from kernelgen_lm.formulas.posing import function_of_formula
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Task
from npukernelbench.report.estimates import Judged
from npukernelbench.store.run import read_run

__all__ = ["MEASURED", "choose", "rates_of", "read_measured", "read_rates", "refuse_held_out", "shares"]

#: Where a round keeps what it measured: a line for each answer, with ``task`` and ``correct`` (null: not judged).
MEASURED = "measured.jsonl"


def shares(hits: Iterable[tuple[str, bool]]) -> Mapping[str, float]:
    """By task, the share of its answers that are right; ``hits`` says of each whether it is."""
    by_task: defaultdict[str, list[bool]] = defaultdict(list)
    for task, right in hits:
        by_task[task].append(right)
    return {task: sum(hits) / len(hits) for task, hits in by_task.items()}


def rates_of(judged: Iterable[Judged]) -> Mapping[str, float]:
    """By task, the share of right answers among those that could be judged."""
    return shares(_hits(judged))


def read_rates(folders: Sequence[Path]) -> Mapping[str, float]:
    """The same of everything in these folders: runs of ``npukb run`` or ``kernelgen-lm eval``, rounds of a training.

    UsageError for a folder without any, and for a line of a round that is no measurement.
    """
    hits: list[tuple[str, bool]] = []
    for folder in folders:
        runs = sorted(path.parent for path in folder.rglob("manifest.json"))
        rounds = sorted(folder.rglob(MEASURED))
        if not runs and not rounds:
            raise UsageError(
                f"{folder} holds neither a run nor a measured round",
                field="measured",
                remedy="name the folder of kernelgen-lm eval, or a round's of kernelgen-lm grpo",
            )
        for run in runs:
            samples = read_run(run).samples.items()
            hits += _hits(Judged(key, sample.verdict) for key, sample in samples if sample.verdict is not None)
        for path in rounds:
            hits += read_measured(path)
    return shares(hits)


def read_measured(path: Path) -> list[tuple[str, bool]]:
    """Tasks and whether their answers are right, of a round's measurement; without those that could not be judged."""
    hits: list[tuple[str, bool]] = []
    for number, line in enumerate(StringIO(path.read_text(encoding="utf-8")), 1):
        try:
            # A line may hold any JSON, also none that has fields.
            row = json.loads(line)
            task, right = row["task"], row["correct"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path}:{number}: is not a line of a measurement",
                field="measured",
                remedy="delete the file to measure anew",
            ) from error
        if right is not None:
            hits.append((str(task), bool(right)))
    return hits


def _hits(judged: Iterable[Judged]) -> list[tuple[str, bool]]:
    return [(answer.key.task, answer.correct) for answer in judged if answer.valid]


def choose(tasks: Sequence[str], rates: Mapping[str, float], *, above: float = 0.0, below: float = 1.0) -> list[str]:
    """Tasks whose rate lies strictly between the two, easiest first; those that were not measured are left out."""
    known = [task for task in tasks if task in rates and above < rates[task] < below]
    # The name decides ties, so that equal measurements give the same order.
    return sorted(known, key=lambda task: (-rates[task], task))


def refuse_held_out(tasks: Sequence[Task], share: float, benchmark: Collection[str]) -> None:
    """UsageError when training would see an operator that is kept for evaluation, or a task of the benchmarks."""
    # A formula's task says its function itself; of other generated tasks it is read from the reference.
    held = sorted(task.name for task in tasks if is_held_out(function_of_formula(task) or function_of(task), share))
    if held:
        raise UsageError(
            f"{len(held)} of the tasks are of operators that are held out of training: {', '.join(held[:5])}",
            field="tasks",
            remedy="write others: kernelgen-lm corpus tasks --trained",
        )
    known = sorted({task.name for task in tasks} & set(benchmark))
    if known:
        raise UsageError(
            f"tasks of the benchmark are no training tasks: {', '.join(known[:5])}",
            field="tasks",
            remedy="take them out of the folder",
        )
