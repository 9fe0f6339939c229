"""Listings: tasks, groups of tasks, and what plugins registered, as rows for people and objects for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from npukernelbench.nouns.codec import to_json
from npukernelbench.report.table import as_columns
from npukernelbench.tasks.core import CORE
from npukernelbench.tasks.select import fold, level_name

if TYPE_CHECKING:
    from npukernelbench.nouns import Task
    from npukernelbench.plugins import Plugins, Registry

__all__ = ["KINDS", "Listing", "TaskFilter", "listing"]


class Source(Protocol):
    """Where listings come from: plugins, and tasks that are loaded on first use."""

    @property
    def plugins(self) -> Plugins:
        """What is installed."""
        ...

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task by name."""
        ...


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks to list; None and the empty tuple stand for all. Upper and lower case, ``_`` and ``-`` are alike."""

    suite: str | None = None
    level: int | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()

    def admits(self, task: Task) -> bool:
        """Whether the task is to be listed."""
        return (
            (self.suite is None or fold(self.suite) == fold(task.suite))
            and (self.level is None or self.level == task.level)
            and (self.category is None or fold(self.category) == fold(task.category))
            # Every tag that is asked for must be there: more tags list fewer tasks.
            and {fold(tag) for tag in self.tags} <= {fold(tag) for tag in task.tags}
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """``rows`` below ``header`` for people, ``objects`` for machines, in one order; ``empty`` says there is nothing;
    ``note`` explains a column, for people alone. Objects are made when they are asked for: what they say of tasks takes
    longer than all the rest of a listing."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    made: Callable[[], Iterable[Mapping[str, object]]]
    empty: str = "nothing to list"
    note: str = ""

    @property
    def objects(self) -> tuple[Mapping[str, object], ...]:
        """One per row."""
        return tuple(self.made())

    def lines(self, width: int | None = None) -> Sequence[str]:
        """Aligned columns under a header line. In a terminal of ``width`` columns the widest ones between the first and
        the last are left out until the rest fits, and the last, which is prose, is broken between words.
        """
        if not self.rows:
            return [self.empty]
        table = [self.header, *self.rows]
        if width is None:
            return as_columns(table)
        left_out: list[str] = []
        # The widest column goes first, since it makes most room; the first says what a row is, and stays.
        while len(table[0]) > 2 and _wide(table) > width - _PROSE:
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            drop = max(range(1, len(widths) - 1), key=widths.__getitem__)
            left_out.append(table[0][drop])
            table = [(*row[:drop], *row[drop + 1 :]) for row in table]
        note = [f"left out in this width, and in --json: {', '.join(left_out)}"] if left_out else []
        return [*_broken(table, width), *note]


#: Columns that prose needs.
_PROSE = 32
_GAP = 2


def _wide(table: Sequence[Sequence[str]]) -> int:
    """What all columns but the last take."""
    return sum(max(map(len, column)) + _GAP for column in [*zip(*table, strict=True)][:-1])


def _broken(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """Aligned columns; the last one's lines stand below each other."""
    # At least half of what prose needs, also in a terminal that is narrower than the other columns.
    room = max(width - _wide(table), _PROSE // 2)
    rows: list[Sequence[str]] = []
    for row in table:
        # `wrap` gives no line at all for an empty text.
        first, *rest = wrap(row[-1], room) or [""]
        rows += [(*row[:-1], first), *((*[""] * (len(row) - 1), more) for more in rest)]
    return as_columns(rows)


def listing(kind: str, source: Source, only: TaskFilter = TaskFilter()) -> Listing:
    """The listing of one of :data:`KINDS`. ``only`` narrows tasks and the groups made of them."""
    return KINDS[kind](source, only)


def _tasks(source: Source, only: TaskFilter) -> Listing:
    tasks = _admitted(source, only)
    return Listing(
        ("TASK", "LEVEL", "CATEGORY", "CASES", "TAGS", "SUMMARY"),
        tuple(
            (t.name, str(t.level), t.category, str(len(t.cases)), ",".join(sorted(t.tags)), t.summary) for t in tasks
        ),
        lambda: map(_task_object, tasks),
        "no task matches",
        _CASES,
    )


#: What the column CASES counts, and what a run asks.
_CASES = (
    "CASES counts all cases, the smoke case and those for a CPU among them. --tasks NAME takes those of profile full: "
    "the static track asks one question per case, the dynamic track one per task."
)
#: Of a task, as it is.
_SHOWN = ("name", "suite", "level", "category", "version", "created", "kernel", "summary")


def _task_object(task: Task) -> Mapping[str, object]:
    from npukernelbench.tasks.difficulty import as_json

    return {
        **{name: getattr(task, name) for name in _SHOWN},
        "tags": sorted(task.tags),
        "cases": [{"id": case.id, "profiles": sorted(case.profiles)} for case in task.cases],
        "core": task.name in CORE,
        "difficulty": as_json(task),
        "goldens": sorted({golden.track.value for golden in task.goldens}),
        "content_hash": task.content_hash,
        "path": str(task.path),
    }


def _groups(source: Source, only: TaskFilter) -> Listing:
    """Everything ``--tasks`` takes that is no task, category or tag: ``all``, case profiles, levels, suites."""
    tasks = _admitted(source, only)
    counts = {"all": len(tasks), "core": sum(task.name in CORE for task in tasks)}
    # A set, so that a task counts once, however many of its cases have the profile.
    counts.update(sorted(Counter(p for t in tasks for p in {p for c in t.cases for p in c.profiles}).items()))
    counts.update(sorted(Counter(level_name(t) for t in tasks).items()))
    counts.update(sorted(Counter(t.suite for t in tasks).items()))
    return _counted("GROUP", counts)


def _starts(source: Source, only: TaskFilter) -> Listing:
    """What makes the kernels slow that tasks of optimisation begin with, or why there is none."""
    from npukernelbench.tasks.starts import PREFIX, start_of

    rows, objects = [], []
    for task in _admitted(source, only):
        start = start_of(task)
        # Tasks without a start have no times that could be divided.
        slower = start.start_us / start.golden_us if start.names else None
        refused = "; ".join(f"{name}: {why}" for name, why in start.refused.items()) if start.names else start.why
        shown = "" if slower is None else f"{slower:.1f}"
        rows.append((f"{PREFIX}{task.name}", start.case, shown, ", ".join(start.names) or "none", refused))
        objects.append(
            {
                "name": f"{PREFIX}{task.name}",
                "case": start.case,
                "deoptimisations": list(start.names),
                "golden_us": start.golden_us,
                "start_us": start.start_us,
                "refused": dict(start.refused),
                "why": start.why,
            }
        )
    header = ("TASK", "CASE", "SLOWER", "DE-OPTIMISATIONS", "WHAT TAKES NO PART")
    return Listing(header, tuple(rows), lambda: objects, "no task matches", _SLOWER)


#: What the column SLOWER says.
_SLOWER = "SLOWER is how many times as long as our golden kernel the start takes on CASE, as predicted for the table."


def _kinds_of_task(title: str, name: Callable[[Task], str]) -> Callable[[Source, TaskFilter], Listing]:
    """A listing of what tasks are sorted into, with what there is of each: tasks, cases, golden kernels."""

    def build(source: Source, only: TaskFilter) -> Listing:
        by_kind: dict[str, list[Task]] = {}
        for task in _admitted(source, only):
            by_kind.setdefault(name(task), []).append(task)
        objects = tuple(
            {
                "name": kind,
                "tasks": len(tasks),
                "cases": sum(len(task.cases) for task in tasks),
                "goldens": sum(bool(task.goldens) for task in tasks),
            }
            for kind, tasks in sorted(by_kind.items())
        )
        rows = tuple(tuple(str(value) for value in item.values()) for item in objects)
        return Listing((title, "TASKS", "CASES", "GOLDENS"), rows, lambda: objects, "no task matches", _CASES)

    return build


def _tags(source: Source, only: TaskFilter) -> Listing:
    return _counted("TAG", Counter(tag for t in _admitted(source, only) for tag in t.tags))


def _counted(title: str, counts: Mapping[str, int]) -> Listing:
    # Groups come in an order of their own: all, core, profiles, levels, suites.
    items = list(counts.items()) if title == "GROUP" else sorted(counts.items())
    return Listing(
        (title, "TASKS"),
        tuple((name, str(count)) for name, count in items),
        lambda: [{"name": name, "tasks": count} for name, count in items],
    )


def _admitted(source: Source, only: TaskFilter) -> list[Task]:
    return [task for task in source.tasks.values() if only.admits(task)]


def _registered(choose: Callable[[Plugins], Registry]) -> Callable[[Source, TaskFilter], Listing]:
    def build(source: Source, _: TaskFilter) -> Listing:
        registrations = list(choose(source.plugins).values())
        return Listing(
            ("NAME", "ALIASES", "FROM", "DESCRIPTION"),
            tuple((r.name, ",".join(r.aliases), r.plugin, r.description) for r in registrations),
            lambda: [
                {
                    "name": r.name,
                    "aliases": to_json(r.aliases),
                    "plugin": r.plugin,
                    "distribution": r.distribution,
                    "version": r.version,
                    "description": r.description,
                }
                for r in registrations
            ],
            "no plugin offers any",
        )

    return build


KINDS: Mapping[str, Callable[[Source, TaskFilter], Listing]] = MappingProxyType(
    {
        "tasks": _tasks,
        "groups": _groups,
        "suites": _kinds_of_task("SUITE", lambda task: task.suite),
        "levels": _kinds_of_task("LEVEL", level_name),
        "categories": _kinds_of_task("CATEGORY", lambda task: task.category),
        "tags": _tags,
        "starts": _starts,
        "importers": _registered(lambda plugins: plugins.importers),
        "backends": _registered(lambda plugins: plugins.backends),
        "executors": _registered(lambda plugins: plugins.executors),
        "prompts": _registered(lambda plugins: plugins.prompts),
        "checkers": _registered(lambda plugins: plugins.checkers),
        "parsers": _registered(lambda plugins: plugins.parsers),
        "strategies": _registered(lambda plugins: plugins.strategies),
        "rules": _registered(lambda plugins: plugins.rules),
        "metrics": _registered(lambda plugins: plugins.metrics),
        "reporters": _registered(lambda plugins: plugins.reporters),
    }
)
