"""The Python interface of the harness: what ``npukb run`` and ``npukb judge`` do, as functions.

The names are those of :mod:`npukernelbench` itself; docs/python.md says what is promised about them.
"""

from __future__ import annotations

from npukernelbench.api.asynchronous import evaluate_async, iter_samples_async, judge_kernel_async
from npukernelbench.api.evaluation import evaluate, iter_samples, read_results
from npukernelbench.api.judging import find_tasks, judge_kernel

__all__ = [
    "evaluate",
    "evaluate_async",
    "find_tasks",
    "iter_samples",
    "iter_samples_async",
    "judge_kernel",
    "judge_kernel_async",
    "read_results",
]
