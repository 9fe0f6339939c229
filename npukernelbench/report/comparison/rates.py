"""Success rates: the chance that one of k samples hits, as a mean over problems with an interval over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from npukernelbench.report.comparison.records import Attempt, Problem
from npukernelbench.stats import Cluster, cluster_ratio, pass_at_k

__all__ = ["COMPILED", "CORRECT", "Measure", "Rate", "fast_measure", "pass_measure", "rate_of"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A success rate: the chance that one of ``k`` samples hits."""

    name: str
    hit: Callable[[Attempt], bool]
    k: int = 1

    def share(self, attempts: Sequence[Attempt]) -> float | None:
        """The unbiased estimate on one problem; None with fewer than k samples that say something about the model."""
        if len(attempts) < self.k:
            return None
        return pass_at_k(len(attempts), sum(map(self.hit, attempts)), self.k)


COMPILED = Measure("compile@1", lambda attempt: attempt.compiled)
CORRECT = Measure("correct@1", lambda attempt: attempt.correct)


def pass_measure(k: int) -> Measure:
    """The chance that one of k samples is right."""
    return CORRECT if k == 1 else Measure(f"pass@{k}", CORRECT.hit, k)


def fast_measure(baseline: str, p: float) -> Measure:
    """The chance that a sample is right and at least p times as fast as a baseline."""
    return Measure(f"fast_{p:g} {baseline}", lambda attempt: attempt.fast(baseline, p))


class Rate(NamedTuple):
    """A success rate and its interval over tasks."""

    value: float
    low: float
    high: float


def rate_of(measure: Measure, problems: Mapping[Problem, Sequence[Attempt]]) -> Rate | None:
    """The mean over problems; None where nothing was judged, or a problem that was has fewer than k samples."""
    judged = {problem: attempts for problem, attempts in problems.items() if attempts}
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for problem, attempts in judged.items():
        share = measure.share(attempts)
        if share is None:
            return None
        by_task[problem.task].append(share)
    if not by_task:
        return None
    low, high = cluster_ratio([Cluster(fsum(by_task[task]), float(len(by_task[task]))) for task in sorted(by_task)])
    return Rate(fsum(fsum(one) for one in by_task.values()) / len(judged), low, high)
