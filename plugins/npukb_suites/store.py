"""Suites that were added: their tasks in the cache folder, one folder per operator, and what could not be one.

An operator is made anew when its digest, or the importer, has changed. The record is written after every operator, so
an import that was interrupted is there with what it made, and the same command goes on. The folder can be lost like any
cache; ``npukb suites add`` makes it again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from npukernelbench.config import default_cache_dir
from npukernelbench.errors import StoreError, TaskError, UsageError
from npukernelbench.tasks.importing import Entry, Importer

__all__ = ["Suite", "add_suite", "remove_suite", "suites", "tasks_folder"]

_INDEX = "suite.json"
_ORIGIN = "origin.json"


@dataclass(frozen=True)
class Suite:
    """One added suite. ``tasks`` and ``refused`` are by place in the checkout: a task's name, or the reason. ``left``
    counts the operators that an interrupted import has not looked at.
    """

    name: str
    importer: str
    root: str
    tasks: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left: int = 0

    @property
    def missing(self) -> bool:
        """Whether the checkout is gone."""
        return not Path(self.root).is_dir()


def _home() -> Path:
    return default_cache_dir() / "suites"


def suites() -> Iterator[Suite]:
    """Every suite that was added, by name. StoreError for one whose record cannot be read."""
    for path in sorted(_home().glob(f"*/{_INDEX}")):
        try:
            yield Suite(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{path} cannot be read: {error}", remedy=f"remove {path.parent}") from error


def tasks_folder(name: str) -> Path:
    """Where the tasks of a suite lie."""
    return _home() / name / "tasks"


def remove_suite(name: str) -> None:
    """Forget a suite and its tasks. UsageError when there is none of that name."""
    folder = _home() / name
    if not (folder / _INDEX).is_file():
        known = ", ".join(suite.name for suite in suites()) or "none"
        raise UsageError(f"no suite {name!r} was added", field="NAME", remedy=f"there are {known}")
    shutil.rmtree(folder)


def add_suite(
    name: str, importer_name: str, importer: Importer, root: Path, *, only: str = "", say: Callable[[str], None]
) -> Suite:
    """Make a task of every operator of the checkout that can be one. ``say`` is told each result.

    With ``only``, a part of a path, operators elsewhere stay what an earlier import of this checkout made of them.
    """
    every = list(importer.entries(root))
    entries = [entry for entry in every if only in entry.place.as_posix()]
    if not entries:
        raise UsageError(
            f"{root} holds no operators of {importer_name}", field="PATH", remedy="name the checkout's root"
        )
    others = {_place(entry, root) for entry in every if entry not in entries}
    before = Suite(name, importer_name, str(root.resolve()))
    if others:
        same = (suite for suite in suites() if (suite.name, suite.root) == (before.name, before.root))
        before = next(same, before)
    tasks = {place: task for place, task in before.tasks.items() if place in others}
    refused = {place: reason for place, reason in before.refused.items() if place in others}
    notes = {place: told for place, told in before.notes.items() if place in others}
    # Kept before the first operator is made: an import that is interrupted there is listed, too.
    suite = Suite(name, importer_name, str(root.resolve()), tasks, refused, notes, len(entries))
    _keep(suite)
    for count, entry in enumerate(entries, 1):
        place = _place(entry, root)
        try:
            noted = _make(suite.name, entry, importer)
            tasks[place] = entry.name
            if noted:
                notes[place] = list(noted)
            say(f"[{count}/{len(entries)}] ✓ {entry.name}" + "".join(f"\n    {note}" for note in noted))
        except TaskError as error:
            refused[place] = f"{error.location}: {error.message}" if error.location else error.message
            # A task of an earlier import must not outlive its operator's refusal.
            shutil.rmtree(tasks_folder(name) / entry.name, ignore_errors=True)
            say(f"[{count}/{len(entries)}] ✗ {place}: {error.message}")
        suite = replace(suite, left=len(entries) - count)
        _keep(suite)
    # Last: until then an interrupted import has lost nothing that an earlier one made.
    _sweep(name, set(tasks.values()))
    return suite


def _keep(suite: Suite) -> None:
    """Write the record, whole or not at all: whoever lists suites meanwhile reads the last one."""
    folder = _home() / suite.name
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{_INDEX}.new"
    fresh.write_text(json.dumps(asdict(suite), indent=1), encoding="utf-8")
    fresh.replace(folder / _INDEX)


def _place(entry: Entry, root: Path) -> str:
    return entry.place.relative_to(root).as_posix() if entry.place.is_relative_to(root) else str(entry.place)


def _make(suite: str, entry: Entry, importer: Importer) -> Sequence[str]:
    """The task's folder, made or found; its notes."""
    folder = tasks_folder(suite) / entry.name
    origin = folder / _ORIGIN
    key = f"{entry.digest}-{_sources()}"
    # The importer's own sources are part of the key, so that a mended importer makes its tasks again.
    if origin.is_file() and (known := json.loads(origin.read_text(encoding="utf-8")))["key"] == key:
        notes: list[str] = known["notes"]
        return notes
    made = importer.folder(suite, entry)
    fresh = _home() / suite / "making"  # An interruption leaves no half of a task among the tasks.
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, text in made.files.items():
        (fresh / name).write_text(text, encoding="utf-8")
    told = json.dumps({"key": key, "place": str(entry.place), "notes": made.notes})
    (fresh / _ORIGIN).write_text(told, encoding="utf-8")
    # A rename does not replace a folder that has contents.
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    fresh.rename(folder)
    return made.notes


def _sweep(name: str, kept: set[str]) -> None:
    """Remove tasks that the checkout does not have any more."""
    folder = tasks_folder(name)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in kept:
            shutil.rmtree(path)


@cache
def _sources() -> str:
    """A digest of the code that makes tasks."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
