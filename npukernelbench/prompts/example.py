"""The worked example that the style ``category-shot`` shows: another operator's golden kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import Case, Golden, Task, Track
from npukernelbench.prompts.specialise import specialise

__all__ = ["Example", "category_example"]


class Example(NamedTuple):
    """A kernel that is right. ``case`` is what it was specialised for, None for an answer to all cases."""

    task: Task
    case: Case | None
    source: str


def category_example(task: Task, tasks: Mapping[str, Task], track: Track) -> Example | None:
    """The golden kernel of the task that is closest to ``task`` in its category, None when there is none.

    The same operator under another name is left out: its kernel would be the answer. Close is a task of the same
    suite, then one that shares more tags, then one of the same level; the name decides the rest.
    """
    candidates = [
        other
        for other in tasks.values()
        if _fold(other.category) == _fold(task.category)
        and not _is_same_operator(task, other)
        and _golden(other, track)
    ]
    if not candidates:
        return None
    other = min(candidates, key=lambda other: _distance(task, other))
    golden = _golden(other, track)
    assert golden is not None
    text = _read(golden)
    if golden.track is Track.DYNAMIC:
        return Example(other, None, text)
    case = next((case for case in other.cases if "smoke" in case.profiles), other.cases[0])
    return Example(other, case, specialise(other, case, text))


def _distance(task: Task, other: Task) -> tuple[bool, int, bool, str]:
    return (other.suite != task.suite, -len(task.tags & other.tags), other.level != task.level, other.name)


def _golden(task: Task, track: Track) -> Golden | None:
    """The golden kernel to show: that of the track, else the static one."""
    by_track = {golden.track: golden for golden in task.goldens}
    return by_track.get(track) or by_track.get(Track.STATIC)


def _is_same_operator(task: Task, other: Task) -> bool:
    """Whether a kernel for one would do for the other, as far as names, references and formulas tell."""
    mine, theirs = _fold(task.name), _fold(other.name)
    return (
        mine.endswith(theirs)
        or theirs.endswith(mine)
        or task.reference == other.reference
        or bool(task.formula and task.formula == other.formula)
    )


def _read(golden: Golden) -> str:
    try:
        return golden.path.read_text(encoding="utf-8")
    except OSError as error:
        raise TaskError(
            f"cannot read the golden kernel: {error.strerror}", location=SourceLocation(golden.path)
        ) from error


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
