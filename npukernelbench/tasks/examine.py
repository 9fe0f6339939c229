"""Examining many tasks, on several processes when there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from npukernelbench.nouns import Task
    from npukernelbench.plugins.registry import Registry
    from npukernelbench.prompts import PromptStyle
    from npukernelbench.tasks.validate import Examination

__all__ = ["Tools", "examine_tasks"]

#: Fewer tasks than this are done before another process has started.
_WORTH_A_POOL = 16
#: How many portions of the work a process gets, so that slow tasks spread.
_PORTIONS = 8


class Tools(NamedTuple):
    """What an examination needs beside the task: numeric policies, and the prompts to render."""

    checkers: Registry
    styles: tuple[PromptStyle, ...]


def examine_tasks(
    tasks: Sequence[Task], tools: Callable[[], Tools], *, seed: int = 0, jobs: int = 1
) -> Iterator[Examination]:
    """The examinations of ``tasks``, in their order. ``tools`` is called in every process and must be picklable."""
    jobs = min(jobs, len(tasks))
    if jobs < 2 or len(tasks) < _WORTH_A_POOL:
        yield from _portion(tasks, tools, seed)
        return
    size = max(1, len(tasks) // (jobs * _PORTIONS))
    portions = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    # Not fork: the caller may have threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        # A list: a generator would submit a portion only when the one before is done.
        for done in [pool.submit(_all_of, portion, tools, seed) for portion in portions]:
            yield from done.result()


def _all_of(tasks: Sequence[Task], tools: Callable[[], Tools], seed: int) -> list[Examination]:
    return list(_portion(tasks, tools, seed))


def _portion(tasks: Sequence[Task], tools: Callable[[], Tools], seed: int) -> Iterator[Examination]:
    from npukernelbench.tasks.validate import examine_task

    checkers, styles = tools()
    for task in tasks:
        yield examine_task(task, checkers, styles, seed=seed)
