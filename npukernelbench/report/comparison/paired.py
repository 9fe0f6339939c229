"""Runs of the same tasks, paired problem by problem: how success rates differ, and which problems changed sides.

The first run is the baseline of every other. What is hard for all cancels out, so that far smaller differences show
than between two intervals. Runs that were judged by other rules are refused: their rates are no rates of one thing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum

from npukernelbench.errors import UsageError
from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.report.comparison.rates import COMPILED, Measure, fast_measure, pass_measure
from npukernelbench.report.comparison.records import (
    Problem,
    RunRecord,
    named_differences,
    rule_differences,
    settings_of,
    timing_of,
)
from npukernelbench.report.estimates import FAST_PS, MAIN_KS
from npukernelbench.stats import Cluster, detectable_difference, holm, mean_difference, sign_flip_test

__all__ = [
    "Changed",
    "Difference",
    "Pair",
    "compare_runs",
    "on_shared_tasks",
    "refuse_other_rules",
    "shares",
]

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """One rate of two runs over the ``problems`` that both can say something about. ``value`` is second minus first.

    ``p`` is that of this test alone; ``holm_p`` is raised for the number of runs that stand beside the baseline.
    ``detectable`` is the true difference that would be found in four of five such comparisons, None when unknown.
    """

    measure: str
    first: float
    second: float
    value: float
    low: float
    high: float
    p: float
    exact: bool
    holm_p: float
    detectable: float | None
    problems: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A problem that one run solved at least once and the other never: right samples, samples, how the rest ended."""

    problem: Problem
    first: tuple[int, int]
    second: tuple[int, int]
    outcomes: str

    @property
    def gained(self) -> bool:
        """Whether the second run is the one that solved it."""
        return self.second[0] > 0


@dataclass(frozen=True, slots=True)
class Pair:
    """A run beside the baseline. ``left_out`` are problems that one of them cannot say anything about."""

    first: RunRecord
    second: RunRecord
    differences: tuple[Difference, ...]
    changed: tuple[Changed, ...]
    left_out: tuple[Problem, ...]
    settings: tuple[str, ...]
    notes: tuple[str, ...] = ()


def compare_runs(records: Sequence[RunRecord]) -> tuple[Pair, ...]:
    """Every later run beside the first. UsageError where rules, tiers or tasks differ."""
    first, *others = records
    for other in others:
        refuse_other_rules(first, other)
        _refuse_other_tasks(first, other)
    # Corrected over all pairs at once: every further run beside the baseline is one more chance of a false find.
    return _with_holm([_pair(first, other) for other in others])


def on_shared_tasks(records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """The runs, cut down to the tasks that all of them had in the same version with the same cases."""
    first, *others = records
    shared = [name for name, facts in first.tasks.items() if all(other.tasks.get(name) == facts for other in others)]
    if not shared:
        raise UsageError("these runs share no task of the same version with the same cases", remedy=_RUN_AGAIN)
    return tuple(record.only(shared) for record in records)


def refuse_other_rules(first: RunRecord, other: RunRecord) -> None:
    """UsageError naming the rules in which two runs differ."""
    if first.tier != other.tier:
        raise UsageError(
            f"{first.folder} is of tier {first.tier} and {other.folder} of tier {other.tier}: "
            "success rates of different tiers are not compared",
            remedy=_REJUDGE,
        )
    differing = list(rule_differences(first, other))
    if differing:
        more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        raise UsageError(
            f"{first.folder} and {other.folder} were judged by different rules: {'; '.join(differing[:_SHOWN])}{more}",
            remedy=_REJUDGE,
        )


_REJUDGE = "judge the answers of one run by the rules of the other: npukb rejudge FOLDER"
_RUN_AGAIN = "compare runs of the same tasks and cases"


def _refuse_other_tasks(first: RunRecord, other: RunRecord) -> None:
    different = sorted(name for name in {*first.tasks, *other.tasks} if first.tasks.get(name) != other.tasks.get(name))
    if different:
        more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
        raise UsageError(
            f"{first.folder} and {other.folder} differ in {len(different)} tasks, their versions or their cases: "
            f"{', '.join(different[:_SHOWN])}{more}",
            remedy="add --shared_tasks to compare only what is the same in all runs",
        )


def _pair(first: RunRecord, second: RunRecord) -> Pair:
    timing = list(named_differences(timing_of(first), timing_of(second)))
    notes = [f"No fast_p: the runs were timed in different ways ({'; '.join(timing)})."] if timing else []
    problems = sorted({*first.problems, *second.problems})
    # Missing, or only with samples that say nothing about the model: either way there is nothing to pair.
    left_out = tuple(
        problem for problem in problems if not first.problems.get(problem) or not second.problems.get(problem)
    )
    measured = (_difference(measure, first, second) for measure in _measures(first, second, timed=not timing))
    return Pair(
        first,
        second,
        tuple(difference for difference in measured if difference is not None),
        _changed(first, second),
        left_out,
        tuple(named_differences(settings_of(first), settings_of(second))),
        tuple(notes),
    )


def _measures(first: RunRecord, second: RunRecord, *, timed: bool) -> list[Measure]:
    attempts = [*first.attempts, *second.attempts]
    # Rates at k need k samples of every problem, in both runs.
    least = min((len(tries) for record in (first, second) for tries in record.problems.values() if tries), default=0)
    ks = [k for k in MAIN_KS if k <= least]
    measures = [Measure(f"compile@{k}", COMPILED.hit, k) for k in ks] + [pass_measure(k) for k in ks]
    # fast_p is a rate of single samples.
    if timed and 1 in ks:
        baselines = [name for name in SPEEDUPS if any(name in attempt.speedups for attempt in attempts)]
        measures += [fast_measure(name, p) for name in baselines for p in FAST_PS]
    return measures


def shares(measure: Measure, first: RunRecord, second: RunRecord) -> dict[Problem, tuple[float, float]]:
    """The rate on every problem that both runs can say something about."""
    result: dict[Problem, tuple[float, float]] = {}
    for problem, attempts in first.problems.items():
        # A missing problem is one without attempts, whose share is None.
        first_rate, second_rate = measure.share(attempts), measure.share(second.problems.get(problem, ()))
        if first_rate is not None and second_rate is not None:
            result[problem] = (first_rate, second_rate)
    return result


def clusters(rates: dict[Problem, tuple[float, float]]) -> list[Cluster]:
    """Second minus first, per task: what a task's problems differ by, added up, and their number."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for problem, (first, second) in rates.items():
        by_task[problem.task].append(second - first)
    # `fsum` and a fixed order: the same samples give the same digits, whatever order they were judged in.
    return [Cluster(fsum(by_task[task]), float(len(by_task[task]))) for task in sorted(by_task)]


def _difference(measure: Measure, first: RunRecord, second: RunRecord) -> Difference | None:
    rates = shares(measure, first, second)
    if not rates:
        return None
    drawn = clusters(rates)
    value, (low, high) = mean_difference(drawn)
    # One number per task: problems of a task are not independent of each other.
    p, exact = sign_flip_test([cluster.part for cluster in drawn])
    before, after = (fsum(pair[side] for pair in rates.values()) / len(rates) for side in (0, 1))
    detectable = detectable_difference(drawn)
    return Difference(measure.name, before, after, value, low, high, p, exact, p, detectable, len(rates), len(drawn))


def _changed(first: RunRecord, second: RunRecord) -> tuple[Changed, ...]:
    listed = []
    for problem in first.problems:
        attempts, other = first.problems[problem], second.problems.get(problem, ())
        hits = sum(attempt.correct for attempt in attempts), sum(attempt.correct for attempt in other)
        if attempts and other and (hits[0] > 0) != (hits[1] > 0):
            failed = Counter(attempt.outcome.value for attempt in (attempts if hits[1] else other))
            outcomes = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in failed.most_common())
            listed.append(Changed(problem, (hits[0], len(attempts)), (hits[1], len(other)), outcomes))
    # Lost ones first: False sorts before True.
    return tuple(sorted(listed, key=lambda changed: (changed.gained, changed.problem)))


def _with_holm(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The pairs with p values raised for how many runs are tested on one measure."""
    of_measure: defaultdict[str, list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        for difference in pair.differences:
            of_measure[difference.measure].append(index)
    raised: dict[tuple[int, str], float] = {}
    for name, indexes in of_measure.items():
        ps = [
            # A measure occurs at most once in a pair; which measures there are differs from pair to pair.
            next(difference.p for difference in pairs[index].differences if difference.measure == name)
            for index in indexes
        ]
        raised |= {(index, name): p for index, p in zip(indexes, holm(ps), strict=True)}
    return tuple(
        replace(
            pair,
            differences=tuple(
                replace(difference, holm_p=raised[index, difference.measure]) for difference in pair.differences
            ),
        )
        for index, pair in enumerate(pairs)
    )
