"""A benchmark's score of a run under its rules: shares of passed cases per task, means of levels, weighted sum; or the
shares of samples that compile, pass and are fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns import Owner
from npukernelbench.nouns.results import Results, SampleRow
from npukernelbench.report.words import count

__all__ = ["Rates", "Score", "rates_of", "score_of", "score_sentence"]


@dataclass(frozen=True, slots=True)
class Score:
    """Points of 100 by level, and the total, which there is when every level that counts was run."""

    levels: Mapping[int, float]
    total: float | None


@dataclass(frozen=True, slots=True)
class Rates:
    """Percent of samples that compile, that pass, and that pass and are so many times as fast, by how many."""

    samples: int
    compiled: float
    passed: float
    fast: Mapping[float, float]


def score_of(rows: Iterable[SampleRow], level_of: Mapping[str, int], weights: Mapping[int, float]) -> Score:
    """The score of samples. A task's is 100 times its share of passed cases, over all of its samples that count."""
    passed: defaultdict[str, list[float]] = defaultdict(list)
    for row in filter(_counts, rows):
        # Without a case it is a sample of all cases of its task, and the share of passed ones counts.
        total = row.metrics.get("cases_total", 0.0) if row.case == "" else 1.0
        # Without a count of cases nothing was run, and the kernel is not right either.
        right = row.metrics.get("cases_passed", 0.0) / total if row.case == "" and total else float(row.correct)
        passed[row.task].append(right)
    by_level: defaultdict[int, list[float]] = defaultdict(list)
    for task, shares in passed.items():
        # Means of tasks and then of levels: a level with many tasks weighs no more than its weight.
        by_level[level_of[task]].append(100.0 * fmean(shares))
    levels = {level: fmean(points) for level, points in sorted(by_level.items())}
    # A level that was not run would count as 0, or raise the others' weight: either would be another score.
    whole = bool(levels) and weights.keys() <= levels.keys()
    return Score(levels, sum(weight * levels[level] for level, weight in weights.items()) if whole else None)


def score_sentence(results: Results) -> str:
    """The score in words; empty for a run under our own rules."""
    rules, tasks = results.identity.get("rules"), results.identity.get("tasks")
    if not isinstance(rules, Mapping) or not isinstance(tasks, Mapping):
        return ""
    if "thresholds" in rules:
        return _rates_sentence(results, rules)
    # Keys of JSON objects are texts.
    weights = {int(level): float(weight) for level, weight in rules["weights"].items()}
    rows = _last(results)
    named = f"the rules of {rules['name']} ({rules['source']})"
    if not any(map(_counts, rows)):
        return f"No score by {named}: no sample says anything about the model yet."
    score = score_of(rows, {name: int(facts["level"]) for name, facts in tasks.items()}, weights)
    told = ", ".join(f"level {level}: {points:.1f}" for level, points in score.levels.items())
    total = "no total, levels are missing" if score.total is None else f"total {score.total:.1f} of 100"
    lost = len(rows) - sum(map(_counts, rows))
    less = f" {lost} of {count(len(rows), 'sample')} left out, which say nothing about the model." if lost else ""
    return f"Score by {named}: {told}; {total}.{less}"


def _last(results: Results) -> list[SampleRow]:
    return list({(row.task, row.case, row.index): row for row in results.samples}.values())


def _counts(row: SampleRow) -> bool:
    """Whether it says something about the model: a fault of ours is no zero of its score."""
    return row.owner in (Owner.MODEL, Owner.NONE)


def rates_of(rows: Iterable[SampleRow], metric: str, thresholds: Sequence[float]) -> Rates:
    """What share of samples compile, pass, and are right and so many times as fast; no times where none is known."""
    counted = list(filter(_counts, rows))
    known = any(metric in row.metrics for row in counted)
    # Without any time of the baseline a share would be 0, which is not what is known.
    fast = {p: [row.correct and row.metrics.get(metric, 0.0) >= p for row in counted] for p in thresholds if known}
    return Rates(
        len(counted),
        _percent([row.compiled for row in counted]),
        _percent([row.correct for row in counted]),
        {p: _percent(hits) for p, hits in fast.items()},
    )


def _percent(hits: Sequence[bool]) -> float:
    return 100.0 * sum(hits) / len(hits) if hits else 0.0


def _rates_sentence(results: Results, rules: Mapping[str, Any]) -> str:
    rates = rates_of(_last(results), SPEEDUPS[rules["baseline"]], rules["thresholds"])
    named = f"the rules of {rules['name']} ({rules['source']})"
    if not rates.samples:
        return f"No rates by {named}: no sample says anything about the model yet."
    fast = [f"Fast{p:.1f} {share:.1f}" for p, share in rates.fast.items()]
    unknown = [] if fast else [f"Fast is unknown, there are no times of the baseline {rules['baseline']!r} here"]
    told = [f"Comp@1 {rates.compiled:.1f}", f"Pass@1 {rates.passed:.1f}", *fast, *unknown]
    return f"By {named}, in percent of {rates.samples}: {', '.join(told)}."
