"""A curriculum by measured difficulty: which tasks a model learns from, and in which order.

A group of answers that are all right or all wrong teaches nothing. So the share of right answers is measured per task;
tasks that are always right or never are left out, the others come easiest first, and it is measured again before every
further round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from kernelgen_lm.corpus.questions import is_held_out
from npukernelbench.errors import UsageError
from npukernelbench.report.estimates import Judged
from npukernelbench.store.run import read_run

__all__ = ["choose", "rates_of", "read_rates", "refuse_held_out"]


def rates_of(judged: Iterable[Judged]) -> Mapping[str, float]:
    """By task, the share of right answers among those that could be judged."""
    hits: defaultdict[str, list[bool]] = defaultdict(list)
    for one in judged:
        if one.valid:
            hits[one.key.task].append(one.correct)
    return {task: sum(found) / len(found) for task, found in hits.items()}


def read_rates(folders: Sequence[Path]) -> Mapping[str, float]:
    """The same of every run in these folders (of ``npukb run`` or ``kernelgen-lm eval``). UsageError without any."""
    judged: list[Judged] = []
    for folder in folders:
        runs = sorted(path.parent for path in folder.rglob("manifest.json"))
        if not runs:
            raise UsageError(f"{folder} holds no run", field="measured", remedy="name the folder of kernelgen-lm eval")
        for run in runs:
            samples = read_run(run).samples.items()
            judged += [Judged(key, one.verdict) for key, one in samples if one.verdict is not None]
    return rates_of(judged)


def choose(tasks: Sequence[str], rates: Mapping[str, float], *, above: float = 0.0, below: float = 1.0) -> list[str]:
    """Tasks whose rate lies strictly between the two, easiest first; those that were not measured are left out."""
    known = [task for task in tasks if task in rates and above < rates[task] < below]
    return sorted(known, key=lambda task: (-rates[task], task))


def refuse_held_out(tasks: Sequence[str], share: float, benchmark: Collection[str]) -> None:
    """UsageError when training would see an operator that is kept for evaluation, or a task of the benchmarks."""
    held = sorted(task for task in tasks if is_held_out(task, share))
    if held:
        raise UsageError(
            f"{len(held)} of the tasks are of operators that are held out of training: {', '.join(held[:5])}",
            field="tasks",
            remedy="write others: kernelgen-lm corpus tasks --trained",
        )
    known = sorted(set(tasks) & set(benchmark))
    if known:
        raise UsageError(
            f"tasks of the benchmark are no training tasks: {', '.join(known[:5])}",
            field="tasks",
            remedy="take them out of the folder",
        )
