"""A benchmark's score of a run under its rules: shares of passed cases per task, means of levels, weighted sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from npukernelbench.nouns.results import Results, SampleRow

__all__ = ["Score", "score_of", "score_sentence"]


@dataclass(frozen=True, slots=True)
class Score:
    """Points of 100 by level, and the total, which there is when every level that counts was run."""

    levels: Mapping[int, float]
    total: float | None


def score_of(rows: Iterable[SampleRow], level_of: Mapping[str, int], weights: Mapping[int, float]) -> Score:
    """The score of samples. A task's is 100 times its share of passed cases, over all of its samples."""
    passed: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        total = row.metrics.get("cases_total", 0.0) if row.case == "" else 1.0
        right = row.metrics.get("cases_passed", 0.0) / total if row.case == "" and total else float(row.correct)
        passed[row.task].append(right)
    by_level: defaultdict[int, list[float]] = defaultdict(list)
    for task, shares in passed.items():
        by_level[level_of[task]].append(100.0 * fmean(shares))
    levels = {level: fmean(points) for level, points in sorted(by_level.items())}
    whole = weights.keys() <= levels.keys()
    return Score(levels, sum(weight * levels[level] for level, weight in weights.items()) if whole else None)


def score_sentence(results: Results) -> str:
    """The score in words; empty for a run under our own rules."""
    rules, tasks = results.identity.get("rules"), results.identity.get("tasks")
    if not isinstance(rules, Mapping) or not isinstance(tasks, Mapping):
        return ""
    weights = {int(level): float(weight) for level, weight in rules["weights"].items()}
    last = {(row.task, row.case, row.index): row for row in results.samples}
    score = score_of(last.values(), {name: int(facts["level"]) for name, facts in tasks.items()}, weights)
    told = ", ".join(f"level {level}: {points:.1f}" for level, points in score.levels.items())
    total = "no total, levels are missing" if score.total is None else f"total {score.total:.1f} of 100"
    return f"Score by the rules of {rules['name']} ({rules['source']}): {told}; {total}."
