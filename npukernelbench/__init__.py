"""Evaluation harness for Ascend C kernels written by language models.

The public names live here and load lazily; importing this package loads no plugin, no NumPy, no torch. What is
promised about them is in docs/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.api import evaluate as evaluate
    from npukernelbench.api import evaluate_async as evaluate_async
    from npukernelbench.api import find_tasks as find_tasks
    from npukernelbench.api import iter_samples as iter_samples
    from npukernelbench.api import iter_samples_async as iter_samples_async
    from npukernelbench.api import judge_kernel as judge_kernel
    from npukernelbench.api import judge_kernel_async as judge_kernel_async
    from npukernelbench.api import read_results as read_results
    from npukernelbench.hookspecs import hookimpl as hookimpl
    from npukernelbench.nouns import Sample as Sample
    from npukernelbench.nouns import Task as Task
    from npukernelbench.nouns import Verdict as Verdict
    from npukernelbench.nouns.results import Results as Results

__version__ = "0.1.0"

#: Where each public name comes from.
_HOMES = {
    "Results": "npukernelbench.nouns.results",
    "Sample": "npukernelbench.nouns",
    "Task": "npukernelbench.nouns",
    "Verdict": "npukernelbench.nouns",
    "evaluate": "npukernelbench.api",
    "evaluate_async": "npukernelbench.api",
    "find_tasks": "npukernelbench.api",
    "hookimpl": "npukernelbench.hookspecs",
    "iter_samples": "npukernelbench.api",
    "iter_samples_async": "npukernelbench.api",
    "judge_kernel": "npukernelbench.api",
    "judge_kernel_async": "npukernelbench.api",
    "read_results": "npukernelbench.api",
}
__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
