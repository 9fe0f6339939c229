"""Tasks of optimisation: a task and a right but slow kernel of ours, which is to be made faster.

``optimise/Sqrt`` is the task ``Sqrt`` with a start. What makes the start slow, and for which case the judge has seen
that it is right and slower than the golden kernel, stands in ``baselines/starts.json`` beside the suite's
``suite.yaml``, or that of a suite around it (``python -m benchmarks.slow_starts``). A run judges the start of every
case anew, for its time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.nouns import Task
from npukernelbench.tasks.slow import DEOPTIMISATIONS

__all__ = ["FILE", "PREFIX", "Start", "optimisation", "start_of"]

#: Begins the names of tasks of optimisation.
PREFIX = "optimise/"
FILE = "starts.json"


@dataclass(frozen=True, slots=True)
class Start:
    """What is known of a task's start. ``names`` make it slow, together, and are empty where there is none, for the
    reason ``why``. ``golden_us`` and ``start_us`` are predicted times of ``case`` on the static track, ``dynamic_us``
    is that of the start on the dynamic one: the judge found it right there, too. ``refused`` says of the other
    de-optimisations why they take no part.
    """

    case: str = ""
    names: tuple[str, ...] = ()
    golden_us: float = 0.0
    start_us: float = 0.0
    dynamic_us: float = 0.0
    refused: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


def start_of(task: Task) -> Start:
    """What its suite's table says of a task."""
    places = (folder / "baselines" / FILE for folder in task.path.parents)
    file = next((place for place in places if place.is_file()), None)
    entry = _table(file).get(task.operator) if file is not None else None
    if file is None or entry is None:
        return Start(why="no start of it is known; python -m benchmarks.slow_starts looks for one")
    try:
        return Start(**{**entry, "names": tuple(entry.get("names", ()))})
    except TypeError as error:
        raise TaskError(
            f"the start of {task.name} cannot be read: {error}",
            location=SourceLocation(file),
            remedy="python -m benchmarks.slow_starts writes the file",
        ) from error


def optimisation(task: Task) -> Task:
    """The task of optimising that operator. UsageError, with the reason, where it has no start."""
    start = start_of(task)
    if not start.names:
        raise UsageError(f"{PREFIX}{task.name} has no slow start: {start.why}", field="--tasks")
    unknown = [name for name in start.names if name not in DEOPTIMISATIONS]
    if unknown:
        raise TaskError(f"the start of {task.name} names {unknown[0]!r}, which is no de-optimisation")
    return replace(
        task,
        name=f"{PREFIX}{task.name}",
        suite=f"{PREFIX}{task.suite}",
        # A hash of its own, so that no result of the plain task is taken for one of its optimisation.
        content_hash=f"{task.content_hash}+{PREFIX}{'+'.join(start.names)}",
        start=start.names,
        start_case=start.case,
    )


# A selection asks for the start of every task, and all tasks of a suite have one table.
@lru_cache(maxsize=8)
def _table(file: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        tasks: dict[str, dict[str, Any]] = document["tasks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(
            f"the table of starts cannot be read: {error}",
            location=SourceLocation(file),
            remedy="python -m benchmarks.slow_starts writes it",
        ) from error
    return tasks
