"""Success rates: the chance that one of k samples hits, as a mean over problems with an interval over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from npukernelbench.report.comparison.records import Attempt, Problem
from npukernelbench.stats import Cluster, cluster_ratio, pass_at_k

__all__ = [
    "COMPILED",
    "CORRECT",
    "Measure",
    "Rate",
    "fast_curve",
    "fast_measure",
    "fast_steps",
    "pass_measure",
    "rate_of",
]


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
        hits = sum(map(self.hit, attempts))
        # One sample of n: what `pass_at_k` would give, too, without its binomials.
        return hits / len(attempts) if self.k == 1 else pass_at_k(len(attempts), hits, self.k)


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
    return _rate((problem, measure.share(attempts)) for problem, attempts in problems.items() if attempts)


def fast_curve(baseline: str, ps: Sequence[float], problems: Mapping[Problem, Sequence[Attempt]]) -> list[Rate | None]:
    """The rates of :func:`fast_measure` for many p: every attempt is looked at once."""
    speeds = {
        problem: [attempt.speed(baseline) for attempt in attempts] for problem, attempts in problems.items() if attempts
    }
    # `p.__le__(speed)` is p <= speed, without a call of Python code for every attempt and every p.
    return [_rate((problem, sum(map(p.__le__, tried)) / len(tried)) for problem, tried in speeds.items()) for p in ps]


def fast_steps(baselines: Iterable[str], attempts: Iterable[Attempt]) -> list[float]:
    """The p of a curve of fast_p, at most 41 from 0 to beyond the fastest right attempt, at least to 1 and at most to
    10.
    """
    names = tuple(baselines)
    # Wrong attempts have the speed -1, so that they never widen the curve.
    most = max((attempt.speed(name) for attempt in attempts for name in names), default=0.0)
    last = next((last for last in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0) if most < last), 10.0)
    step = 0.05 if last <= 2 else 0.1 if last <= 4 else 0.25
    # Rounded: 3 * 0.05 is not 0.15 in binary, and the numbers are shown.
    return [round(step * number, 2) for number in range(round(last / step) + 1)]


def _rate(shares: Iterable[tuple[Problem, float | None]]) -> Rate | None:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for problem, share in shares:
        if share is None:
            return None
        by_task[problem.task].append(share)
    if not by_task:
        return None
    # In a fixed order, so that equal samples give equal digits.
    clusters = [Cluster(fsum(by_task[task]), float(len(by_task[task]))) for task in sorted(by_task)]
    low, high = cluster_ratio(clusters)
    return Rate(fsum(cluster.part for cluster in clusters) / fsum(cluster.whole for cluster in clusters), low, high)
