"""Which tasks there are: every ``task.yaml`` below the suite folders that are registered or given on the command
line."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.errors import PluginError, SourceLocation, TaskError, UsageError
from npukernelbench.nouns import Task
from npukernelbench.plugins.registry import BUILTIN
from npukernelbench.tasks.cache import TaskCache
from npukernelbench.tasks.select import Hidden, Selected, fold, select
from npukernelbench.tasks.starts import PREFIX, optimisation, start_of

if TYPE_CHECKING:
    from npukernelbench.plugins import Plugins, Registration

__all__ = ["TaskRegistry", "load_registry"]

_log = logging.getLogger(__name__)


class TaskRegistry(Mapping[str, Task]):
    """All tasks by name, in the order level, category, name. Lookup takes ``AddCustom``, ``add_custom`` and
    ``add-custom`` alike. ``optimise/AddCustom`` is the task of optimising it, which is not among those that are listed.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        ordered = sorted(tasks, key=lambda task: (task.level, task.category, task.name))
        self._tasks = {task.name: task for task in ordered}
        self._folded = {fold(task.name): task for task in ordered}

    def __getitem__(self, name: str) -> Task:
        if name.lower().startswith(PREFIX):
            task = self._folded[fold(name[len(PREFIX) :])]
            if not start_of(task).names:
                raise KeyError(name)
            return optimisation(task)
        return self._folded[fold(name)]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name.lower().startswith(PREFIX):
            task = self._folded.get(fold(name[len(PREFIX) :]))
            return task is not None and bool(start_of(task).names)
        return fold(name) in self._folded

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def select(self, expressions: Sequence[str], hidden: Hidden | None = None) -> tuple[Selected, ...]:
        """The tasks and cases that the expressions name (see :mod:`npukernelbench.tasks.select`)."""
        return select(tuple(self.values()), expressions, hidden)


class _Source(NamedTuple):
    """A folder of tasks. Where names collide the higher rank wins; equal ranks are an error."""

    folder: Path
    rank: int
    label: str


def load_registry(
    plugins: Plugins, include_paths: Sequence[Path] = (), *, cache_dir: Path | None = None
) -> TaskRegistry:
    """Load every task of the installed suites and of ``include_paths``.

    Names of plugins win over ours, those of ``include_paths`` over both, with a warning that names both files. Parsed
    tasks are kept in ``cache_dir / "tasks"`` if given. TaskError for the first broken file, with its place;
    UsageError for a missing folder.
    """
    tasks: dict[str, tuple[Task, _Source]] = {}
    with _no_collection():
        for source in _sources(plugins, include_paths):
            for task in _load_folder(source, cache_dir / "tasks" if cache_dir else None):
                key = fold(task.name)
                if key in tasks:
                    _check_override(task, source, *tasks[key])
                tasks[key] = (task, source)
    return TaskRegistry([task for task, _ in tasks.values()])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: everything made here stays, and looking for garbage would take as long as loading."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _sources(plugins: Plugins, include_paths: Sequence[Path]) -> Iterator[_Source]:
    # In ascending rank: what comes later replaces what came before.
    for registration in sorted(plugins.tasks.values(), key=_rank):
        yield _Source(_registered_folder(registration), _rank(registration), registration.origin)
    for path in include_paths:
        if not path.is_dir():
            raise UsageError(f"there is no folder {path}", field="--include_path")
        yield _Source(path, 2, f"--include_path {path}")


def _rank(registration: Registration) -> int:
    return 0 if registration.plugin == BUILTIN else 1


def _registered_folder(registration: Registration) -> Path:
    """The folder behind a registration: a path, or a callable that returns one."""
    target = registration.load()
    folder = target() if callable(target) else target
    if not isinstance(folder, Path) or not folder.is_dir():
        raise PluginError(
            f"the task suite {registration.name!r} of {registration.origin} is not a folder: {folder!r}",
            remedy="register a pathlib.Path, or a function that returns one",
        )
    return folder


def _load_folder(source: _Source, cache_dir: Path | None) -> list[Task]:
    cache = TaskCache(cache_dir, source.folder)
    tasks = [_load_file(path, cache) for path in _task_files(source.folder)]
    cache.save()
    return tasks


def _load_file(path: Path, cache: TaskCache) -> Task:
    task = cache.get(path)
    if task is None:
        # Brings YAML and pydantic, which a suite that is all in the cache does without.
        from npukernelbench.tasks.load import load_task

        task, files = load_task(path)
        cache.put(path, task, files)
    return task


def _task_files(folder: Path) -> Iterator[Path]:
    """Every ``task.yaml`` below ``folder``, in path order; hidden folders and what lies below a task are left out."""
    for current, folders, files in os.walk(folder, onerror=_raise):
        # `os.walk` descends into what is left in this very list.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if "task.yaml" in files:
            folders.clear()
            yield Path(current) / "task.yaml"


def _raise(error: OSError) -> None:
    raise TaskError(f"cannot list the folder {error.filename}: {error.strerror}") from error


def _check_override(task: Task, source: _Source, old: Task, old_source: _Source) -> None:
    if source.rank == old_source.rank:
        raise TaskError(
            f"the task {task.name!r} is defined twice: here and in {old.path}",
            field="name",
            location=SourceLocation(task.path, 1),
            remedy="rename one of them",
        )
    _log.warning("task %s: %s (%s) replaces %s (%s)", task.name, task.path, source.label, old.path, old_source.label)
