"""The worked example that the style ``category-shot`` shows: another operator's golden kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from npukernelbench.nouns import Case, Task, Track
from npukernelbench.prompts.golden import golden_kernel
from npukernelbench.tasks.goldens import golden_of
from npukernelbench.tasks.select import fold

__all__ = ["Example", "category_example", "is_same_operator", "nearest"]


class Example(NamedTuple):
    """An answer that is right: files by name. ``case`` is what it was specialised for, None for one to all cases."""

    task: Task
    case: Case | None
    files: Mapping[str, str]


def category_example(task: Task, tasks: Mapping[str, Task], track: Track) -> Example | None:
    """The golden kernel of the task that is closest to ``task`` in its category, None when there is none.

    The same operator under another name is left out: its kernel would be the answer. Close is a task of the same
    suite, then one that shares more tags, then one of the same level; the name decides the rest.
    """
    # The golden kernel of the track itself, so that the answer looks like what is asked for.
    other = nearest(task, (other for other in tasks.values() if golden_of(other, track)))
    if other is None:
        return None
    # On the static track an answer is for one case: the one that is meant where none is named.
    case = other.usual_case if track is Track.STATIC else None
    return Example(other, case, golden_kernel(other, case, track))


def nearest(task: Task, others: Iterable[Task]) -> Task | None:
    """Which of ``others`` is closest to ``task`` in its category, the same operator left out; None if there is none."""
    # Suites spell the same category with other capitals and dashes.
    candidates = [
        other for other in others if fold(other.category) == fold(task.category) and not is_same_operator(task, other)
    ]
    return min(candidates, key=lambda other: _distance(task, other), default=None)


def _distance(task: Task, other: Task) -> tuple[bool, int, bool, str]:
    # The name last, so that the choice does not depend on the order of files.
    return (other.suite != task.suite, -len(task.tags & other.tags), other.level != task.level, other.name)


def is_same_operator(task: Task, other: Task) -> bool:
    """Whether a kernel for one would do for the other, as far as names, references and formulas tell."""
    mine, theirs = fold(task.operator), fold(other.operator)
    return (
        # Suites repeat operators with a prefix or without: Gelu and CraftGelu are the same.
        mine.endswith(theirs)
        or theirs.endswith(mine)
        or task.reference == other.reference
        or bool(task.formula and task.formula == other.formula)
    )
