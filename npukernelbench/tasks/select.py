"""What ``--tasks`` means.

An expression is a comma-separated list of selectors. A selector names

- a task (``Sqrt``, ``add_custom``) or several by a glob (``foreach*``),
- ``all``, a level (``level2``), a category (``Math``), a tag (``elementwise``) or a suite,
- a case profile (``smoke``, ``cpu``, ``full``): every task, its cases of that profile only.

``:`` narrows the cases: ``Sqrt:0``, ``level1:smoke``, ``Muls:int*``. Without it a task's cases of profile ``full``
are taken: the source suite's own; a task that has none gives all it has. Case, ``_`` and ``-`` make no difference.
Selectors add up; order and repetition do not matter.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Task

__all__ = ["DEFAULT_PROFILE", "Selected", "fold", "select"]

#: The profile taken when nothing narrows the cases.
DEFAULT_PROFILE = "full"


@dataclass(frozen=True, slots=True)
class Selected:
    """One task and those of its cases that were asked for, in the task's order."""

    task: Task
    cases: tuple[Case, ...]


def fold(name: str) -> str:
    """A name as it is compared: without case, ``_`` and ``-``."""
    return name.lower().replace("_", "").replace("-", "")


def select(tasks: Sequence[Task], expressions: Sequence[str]) -> tuple[Selected, ...]:
    """The tasks and cases named by ``expressions``, in the order of ``tasks``. UsageError, with suggestions, for
    unknown names."""
    chosen: dict[str, set[str]] = {}
    tokens = [token.strip() for expression in expressions for token in expression.split(",") if token.strip()]
    if not tokens:
        raise UsageError("no task is named", field="--tasks", remedy="try --tasks smoke, or npukb ls tasks")
    for token in tokens:
        for task, cases in _resolve(tasks, token):
            chosen.setdefault(task.name, set()).update(case.id for case in cases)
    return tuple(
        Selected(task, tuple(case for case in task.cases if case.id in chosen[task.name]))
        for task in tasks
        if task.name in chosen
    )


def _resolve(tasks: Sequence[Task], token: str) -> list[tuple[Task, tuple[Case, ...]]]:
    name, _, narrow = token.partition(":")
    wanted = fold(name)
    if wanted in _profiles(tasks) and not narrow:
        return [(task, cases) for task in tasks if (cases := _of_profile(task, wanted))]
    matching = _matching(tasks, wanted)
    if not matching:
        raise _unknown(tasks, name)
    if not narrow:
        return [(task, _of_profile(task, DEFAULT_PROFILE) or task.cases) for task in matching]
    pairs = [(task, _narrowed(task, narrow)) for task in matching]
    pairs = [(task, cases) for task, cases in pairs if cases]
    if not pairs:
        raise _unknown_case(matching, token, narrow)
    return pairs


def _matching(tasks: Sequence[Task], wanted: str) -> list[Task]:
    """Tasks by name first, then by group, then by glob."""
    by_name = [task for task in tasks if fold(task.name) == wanted]
    if by_name:
        return by_name
    by_group = [task for task in tasks if wanted in _groups(task)]
    if by_group or not any(sign in wanted for sign in "*?["):
        return by_group
    return [task for task in tasks if fnmatch.fnmatchcase(fold(task.name), wanted)]


def _groups(task: Task) -> set[str]:
    names = ("all", f"level{task.level}", task.category, task.suite, *task.tags)
    return {fold(name) for name in names}


def _profiles(tasks: Iterable[Task]) -> set[str]:
    return {fold(profile) for task in tasks for case in task.cases for profile in case.profiles}


def _of_profile(task: Task, profile: str) -> tuple[Case, ...]:
    return tuple(case for case in task.cases if fold(profile) in {fold(item) for item in case.profiles})


def _narrowed(task: Task, narrow: str) -> tuple[Case, ...]:
    """Cases by id, then by profile, then by a glob over ids; ``all`` is every case."""
    wanted = fold(narrow)
    if wanted == "all":
        return task.cases
    by_id = tuple(case for case in task.cases if fold(case.id) == wanted)
    return by_id or _of_profile(task, narrow) or tuple(c for c in task.cases if fnmatch.fnmatchcase(fold(c.id), wanted))


def _unknown(tasks: Sequence[Task], name: str) -> UsageError:
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for task in tasks:
        names = (task.name, task.category, task.suite, f"level{task.level}", "all", *task.tags)
        known.update((fold(item), item) for item in names)
        known.update((fold(profile), profile) for case in task.cases for profile in case.profiles)
    close = [known[item] for item in get_close_matches(fold(name), known, n=3, cutoff=0.5)]
    remedy = f"did you mean {' or '.join(close)}?" if close else "see npukb ls tasks"
    return UsageError(f"there is no task or group {name!r}", field="--tasks", remedy=remedy)


def _unknown_case(tasks: Sequence[Task], token: str, narrow: str) -> UsageError:
    from difflib import get_close_matches

    known = {fold(item): item for task in tasks for case in task.cases for item in (case.id, *case.profiles)}
    close = [known[item] for item in get_close_matches(fold(narrow), known, n=3, cutoff=0.5)]
    listing = ", ".join(case.id for case in tasks[0].cases) if len(tasks) == 1 else "smoke, cpu, full"
    remedy = f"did you mean {' or '.join(close)}?" if close else f"there are {listing}"
    return UsageError(f"no case matches {narrow!r} in {token!r}", field="--tasks", remedy=remedy)
