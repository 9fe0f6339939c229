"""How fast right kernels are, for several runs side by side: curves of ``fast_p``, and the best time of each problem.

Only runs that were judged by the same rules, with the same time model, on the same tasks may stand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.report.comparison.rates import fast_curve, fast_steps
from npukernelbench.report.comparison.records import Attempt, Problem, RunRecord
from npukernelbench.report.links import PAGE_NAME, sample_link

__all__ = ["Entry", "Speeds"]


class Entry(NamedTuple):
    """A run under the name by which readers tell it from the others. ``folder`` is None for several runs in one."""

    name: str
    record: RunRecord
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Speeds:
    """Entries that may be compared by time. A page draws them."""

    title: str
    entries: tuple[Entry, ...]

    @property
    def baselines(self) -> list[str]:
        """What kernels' times are set beside; empty where nothing right was timed."""
        attempts = self._attempts()
        return [name for name in SPEEDUPS if any(attempt.correct and name in attempt.speedups for attempt in attempts)]

    def as_json(self) -> dict[str, JSON]:
        """Keys: ``title``, ``names``, ``counted``, ``curves`` by baseline, ``problems`` with a cell per entry."""
        return {
            "title": self.title,
            "names": [entry.name for entry in self.entries],
            "counted": [entry.record.counted for entry in self.entries],
            "curves": {baseline: self._curve(baseline) for baseline in self.baselines},
            "problems": [self._row(problem) for problem in sorted({attempt.problem for attempt in self._attempts()})],
        }

    def _attempts(self) -> list[Attempt]:
        return [attempt for entry in self.entries for attempt in entry.record.attempts]

    def _curve(self, baseline: str) -> JSON:
        """The steps of p, and for each entry value, low and high at each step."""
        steps = fast_steps((baseline,), self._attempts())
        curves = [fast_curve(baseline, steps, entry.record.problems) for entry in self.entries]
        return to_json({"ps": steps, "rates": [[list(rate) if rate else None for rate in curve] for curve in curves]})

    def _row(self, problem: Problem) -> JSON:
        cells = [_cell(entry, problem) for entry in self.entries]
        return to_json({"name": str(problem).removesuffix("/*"), "cells": cells})


def _cell(entry: Entry, problem: Problem) -> dict[str, object]:
    """Right samples of counted ones, the best speed by baseline, and the page of the sample that has it."""
    attempts = entry.record.problems.get(problem, ())
    right = [attempt for attempt in attempts if attempt.correct]
    timed = [(name, [attempt for attempt in right if name in attempt.speedups]) for name in SPEEDUPS]
    best = {name: max(ones, key=lambda attempt: attempt.speedups[name]) for name, ones in timed if ones}
    # The fastest sample is worth opening; without one a right sample, and else any.
    shown = next(iter([*best.values(), *right, *attempts]), None)
    return {
        "right": len(right),
        "counted": len(attempts),
        "best": {name: attempt.speedups[name] for name, attempt in best.items()},
        "link": _link(entry, shown) if shown else "",
    }


def _link(entry: Entry, attempt: Attempt) -> str:
    """The sample in the page of its run, where that is written."""
    if entry.folder is None or not (entry.folder / PAGE_NAME).exists():
        return ""
    return sample_link(entry.folder, *attempt.problem, entry.record.track, attempt.index)
