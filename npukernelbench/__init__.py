"""Evaluation harness for Ascend C kernels written by language models.

The public names live here and load lazily; importing this package loads no plugin, no NumPy, no torch. What is
promised about them is in docs/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.lazy import lazily, names_of

if TYPE_CHECKING:
    from npukernelbench.api.asynchronous import evaluate_async as evaluate_async
    from npukernelbench.api.asynchronous import iter_samples_async as iter_samples_async
    from npukernelbench.api.asynchronous import judge_kernel_async as judge_kernel_async
    from npukernelbench.api.evaluation import evaluate as evaluate
    from npukernelbench.api.evaluation import iter_samples as iter_samples
    from npukernelbench.api.evaluation import read_results as read_results
    from npukernelbench.api.judging import find_tasks as find_tasks
    from npukernelbench.api.judging import judge_kernel as judge_kernel
    from npukernelbench.hookspecs import hookimpl as hookimpl
    from npukernelbench.nouns import Sample as Sample
    from npukernelbench.nouns import Task as Task
    from npukernelbench.nouns import Verdict as Verdict
    from npukernelbench.nouns.results import Results as Results

__version__ = "0.1.0"

_MODULES = {
    "api.asynchronous": ("evaluate_async", "iter_samples_async", "judge_kernel_async"),
    "api.evaluation": ("evaluate", "iter_samples", "read_results"),
    "api.judging": ("find_tasks", "judge_kernel"),
    "hookspecs": ("hookimpl",),
    "nouns": ("Sample", "Task", "Verdict"),
    "nouns.results": ("Results",),
}
__all__ = ["__version__", *names_of(_MODULES)]
__getattr__ = lazily(__name__, _MODULES)
