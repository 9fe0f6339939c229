"""How fast kernels became that had a slow start: the score of tasks of optimisation, and its distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from npukernelbench.judge.speed import GOLDEN, SPEEDUPS, START
from npukernelbench.nouns.results import Optimised
from npukernelbench.report.estimates import Judged
from npukernelbench.tasks.starts import PREFIX

__all__ = ["optimised"]

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def optimised(judged: Sequence[Judged]) -> Optimised | None:
    """The measures of a run's tasks of optimisation; None where none was judged."""
    counted = [sample for sample in judged if sample.key.task.startswith(PREFIX) and sample.valid]
    if not counted:
        return None
    # A wrong or slower kernel is thrown away, and the start remains.
    numbers = sorted(max(1.0, _speedup(sample, START)) for sample in counted)
    return Optimised(
        counted=len(counted),
        right=sum(sample.correct for sample in counted),
        faster=sum(number > 1 for number in numbers),
        as_golden=sum(sample.fast(GOLDEN, 1.0) for sample in counted),
        score=math.exp(math.fsum(map(math.log, numbers)) / len(numbers)),
        # The nearest of the sorted numbers, so that a quantile is a number that some kernel has.
        speedups={f"{share:.2f}": numbers[round(share * (len(numbers) - 1))] for share in _SHARES},
    )


def _speedup(judged: Judged, baseline: str) -> float:
    return judged.verdict.metrics.get(SPEEDUPS[baseline], 0.0) if judged.correct else 0.0
