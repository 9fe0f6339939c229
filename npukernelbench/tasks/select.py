"""What ``--tasks`` means.

An expression is a comma-separated list of selectors. A selector names

- a task (``Sqrt``, ``add_custom``) or several by a glob (``foreach*``),
- ``all``, ``core`` (40 tasks that span the suites), a category (``Math``), a tag (``elementwise``) or a suite,
- a level (``level2``): the tasks that NPUKernelBench has there; those of another suite are ``SUITE/level2``,
- a case profile (``smoke``, ``cpu``, ``full``): every task, its cases of that profile only.

``:`` narrows the cases: ``Sqrt:0``, ``level1:smoke``, ``Muls:int*``. Without it a task's cases of profile ``full``
are taken: the source suite's own; a task that has none gives all it has. Case, ``_`` and ``-`` make no difference.
Selectors add up; order and repetition do not matter.

``optimise/`` before a selector asks for the tasks of optimising what it names (:mod:`npukernelbench.tasks.starts`):
``optimise/Sqrt``, ``optimise/level1``. Unless cases are named, each has one case, on which its start is known to be
slow. Tasks of a group that have no start are left out, with a warning that names them.

With a secret there are hidden cases beside a task's own, of profile ``hidden``: ``Sqrt:hidden``, ``Sqrt:hidden-003``.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Task
from npukernelbench.tasks.core import CORE
from npukernelbench.tasks.starts import PREFIX, optimisation, start_of

__all__ = ["BENCHMARK", "DEFAULT_PROFILE", "Hidden", "Selected", "fold", "level_name", "select"]

_log = logging.getLogger(__name__)

#: The suite whose levels need no name before them.
BENCHMARK = "npukernelbench"

#: The profile taken when nothing narrows the cases.
DEFAULT_PROFILE = "full"
#: How many names a message offers, and how many letters a part of a name has at least.
_GUESSES = 3
_LEAST_PART = 3
#: The profile, and the beginning of the ids, of hidden cases.
_HIDDEN = "hidden"

#: The hidden cases of a task; see :class:`npukernelbench.tasks.hidden.HiddenCases`.
Hidden: TypeAlias = Callable[[Task], tuple[Case, ...]]


@dataclass(frozen=True, slots=True)
class Selected:
    """One task and those of its cases that were asked for, in the task's order, hidden ones last."""

    task: Task
    cases: tuple[Case, ...]


def fold(name: str) -> str:
    """A name as it is compared: without case, ``_`` and ``-``."""
    return name.lower().replace("_", "").replace("-", "")


def level_name(task: Task) -> str:
    """What ``--tasks`` calls the level of a task."""
    return f"level{task.level}" if task.suite == BENCHMARK else f"{task.suite}/level{task.level}"


def select(tasks: Sequence[Task], expressions: Sequence[str], hidden: Hidden | None = None) -> tuple[Selected, ...]:
    """The tasks and cases named by ``expressions``, in the order of ``tasks``. UsageError, with suggestions, for
    unknown names. ``hidden`` yields cases that stand beside a task's own."""
    chosen: dict[str, dict[str, Case]] = {}
    tokens = [token.strip() for expression in expressions for token in expression.split(",") if token.strip()]
    if not tokens:
        raise UsageError("no task is named", field="--tasks", remedy="try --tasks smoke, or npukb ls tasks")
    pool = _Pool(tasks, hidden)
    named: dict[str, Task] = {}
    for token in tokens:
        prefixed = token.lower().startswith(PREFIX)
        for task, cases in pool.resolve(token[len(PREFIX) :] if prefixed else token, started=prefixed):
            named[task.name] = task
            chosen.setdefault(task.name, {}).update((case.id, case) for case in cases)
    return tuple(
        Selected(named[name], tuple(case for case in pool.cases(original) if case.id in chosen[name]))
        for original in tasks
        for name in (original.name, f"{PREFIX}{original.name}")
        if name in chosen
    )


class _Pool:
    """All tasks with their cases, hidden ones included; those are drawn for the tasks that are looked at only."""

    def __init__(self, tasks: Sequence[Task], hidden: Hidden | None) -> None:
        self._tasks = tasks
        self._hidden = hidden
        self._drawn: dict[str, tuple[Case, ...]] = {}

    def cases(self, task: Task) -> tuple[Case, ...]:
        """A task's own cases and then the hidden ones."""
        if self._hidden is None:
            return tuple(task.cases)
        if task.name not in self._drawn:
            self._drawn[task.name] = (*task.cases, *self._hidden(task))
        return self._drawn[task.name]

    def _usual(self, task: Task, *, started: bool) -> tuple[Case, ...]:
        """What is taken of a task when nothing narrows its cases."""
        if started and (start := start_of(task)).names:
            return (task.case(start.case),)
        # Own and hidden cases apart: hidden ones of profile `full` must not hide that a task has no own ones of it.
        own = _of_profile(task.cases, DEFAULT_PROFILE) or task.cases
        return (*own, *_of_profile(self.cases(task)[len(task.cases) :], DEFAULT_PROFILE))

    def resolve(self, token: str, *, started: bool) -> list[tuple[Task, tuple[Case, ...]]]:
        """What one selector names: tasks, or with ``started`` those of optimising them, as far as there are any."""
        pairs = self._named(token, started=started)
        return _started(token, pairs) if started else pairs

    def _named(self, token: str, *, started: bool) -> list[tuple[Task, tuple[Case, ...]]]:
        tasks = self._tasks
        name, _, narrow = token.partition(":")
        wanted = fold(name)
        secret = wanted == _HIDDEN and self._hidden is not None
        if (wanted in _profiles(tasks) or secret) and not narrow:
            return [(task, cases) for task in tasks if (cases := _of_profile(self.cases(task), wanted))]
        matching = _matching(tasks, wanted)
        if not matching:
            raise _unknown(tasks, name)
        if not narrow:
            return [(task, self._usual(task, started=started)) for task in matching]
        pairs = [(task, _narrowed(self.cases(task), narrow)) for task in matching]
        pairs = [(task, cases) for task, cases in pairs if cases]
        if not pairs:
            raise _unknown_case([replace(task, cases=self.cases(task)) for task in matching], token, narrow)
        return pairs


def _started(token: str, pairs: list[tuple[Task, tuple[Case, ...]]]) -> list[tuple[Task, tuple[Case, ...]]]:
    """Tasks of optimisation. UsageError where none of the tasks has a start."""
    without = [task.name for task, _ in pairs if not start_of(task).names]
    if len(without) == len(pairs):
        optimisation(pairs[0][0])  # says why there is none
    if without:
        _log.warning(
            "%s%s leaves out what has no slow start (npukb ls starts says why): %s", PREFIX, token, ", ".join(without)
        )
    return [(optimisation(task), cases) for task, cases in pairs if start_of(task).names]


def _matching(tasks: Sequence[Task], wanted: str) -> list[Task]:
    """Tasks by name first, then by group, then by glob."""
    by_name = [task for task in tasks if fold(task.name) == wanted]
    if by_name:
        return by_name
    by_group = [task for task in tasks if wanted in _groups(task)]
    if wanted.startswith("level"):
        # What a level is called must not grow with the suites that are installed.
        by_group = [task for task in by_group if task.suite == BENCHMARK] or by_group
    if by_group or not any(sign in wanted for sign in "*?["):
        return by_group
    return [task for task in tasks if fnmatch.fnmatchcase(fold(task.name), wanted)]


def _groups(task: Task) -> set[str]:
    level = f"level{task.level}"
    names = ("all", level, f"{task.suite}/{level}", task.category, task.suite, *task.tags)
    return {fold(name) for name in (*names, *(["core"] if task.name in CORE else []))}


def _profiles(tasks: Iterable[Task]) -> set[str]:
    return {fold(profile) for task in tasks for case in task.cases for profile in case.profiles}


def _of_profile(cases: Sequence[Case], profile: str) -> tuple[Case, ...]:
    return tuple(case for case in cases if fold(profile) in {fold(item) for item in case.profiles})


def _narrowed(cases: tuple[Case, ...], narrow: str) -> tuple[Case, ...]:
    """Cases by id, then by profile, then by a glob over ids; ``all`` is every case."""
    wanted = fold(narrow)
    if wanted == "all":
        return cases
    by_id = tuple(case for case in cases if fold(case.id) == wanted)
    return by_id or _of_profile(cases, narrow) or tuple(c for c in cases if fnmatch.fnmatchcase(fold(c.id), wanted))


def _unknown(tasks: Sequence[Task], name: str) -> UsageError:
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for task in tasks:
        names = (
            task.name,
            task.category,
            task.suite,
            f"level{task.level}",
            level_name(task),
            "all",
            "core",
            *task.tags,
        )
        known.update((fold(item), item) for item in names)
        known.update((fold(profile), profile) for case in task.cases for profile in case.profiles)
    # A part of a name is what people remember: Add of AddCustom.
    parts = sorted(
        (item for item in known if fold(name) in item), key=lambda item: (not item.startswith(fold(name)), item)
    )
    near = get_close_matches(fold(name), known, n=3, cutoff=0.5)
    close = [known[item] for item in dict.fromkeys([*(parts if len(name) >= _LEAST_PART else []), *near])][:_GUESSES]
    remedy = f"did you mean {' or '.join(close)}?" if close else "see npukb ls tasks"
    return UsageError(f"there is no task or group {name!r}", field="--tasks", remedy=remedy)


def _unknown_case(tasks: Sequence[Task], token: str, narrow: str) -> UsageError:
    from difflib import get_close_matches

    known = {fold(item): item for task in tasks for case in task.cases for item in (case.id, *case.profiles)}
    close = [known[item] for item in get_close_matches(fold(narrow), known, n=3, cutoff=0.5)]
    listing = ", ".join(case.id for case in tasks[0].cases) if len(tasks) == 1 else "smoke, cpu, full"
    remedy = f"did you mean {' or '.join(close)}?" if close else f"there are {listing}"
    if fold(narrow).startswith(_HIDDEN) and not any(item.startswith(_HIDDEN) for item in known):
        remedy = "hidden cases need --hidden_seed and a task that says how its shapes may vary"
    return UsageError(f"no case matches {narrow!r} in {token!r}", field="--tasks", remedy=remedy)
