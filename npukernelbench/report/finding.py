"""Runs below a folder that a user names: folders with a manifest. The search ends after so many folders, as a disk or a
home folder named by mistake has millions.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.store.manifest import MANIFEST_NAME

__all__ = ["find_runs", "only_run", "runs_below"]

#: Folders that are looked through at most.
MOST_FOLDERS = 10_000
#: Runs that a message names.
_NAMED = 3
_REMEDY = "name the folder that 'npukb run' writes to; it is ./results unless --output_path said otherwise"


@dataclass(frozen=True, slots=True)
class _Search:
    """What was found, and where it was looked for."""

    runs: list[Path]
    folders: int
    unread: int

    @property
    def looked(self) -> str:
        """What was looked for, and where, in words."""
        if self.unread == self.folders:
            return "it cannot be read"
        unread = f", {self.unread:,} of which cannot be read" if self.unread else ""
        return f"no {MANIFEST_NAME} in {self.folders:,} folder{'' if self.folders == 1 else 's'}{unread}"


def runs_below(folder: Path) -> list[Path]:
    """Every run's folder at or below ``folder``. UsageError when more folders lie there than are looked through."""
    return _found(folder).runs


def find_runs(folder: Path) -> list[Path]:
    """The same. UsageError, too, when there is none."""
    search = _found(folder)
    if not search.runs:
        looked = search.looked if folder.is_dir() else "it is no folder" if folder.exists() else "it does not exist"
        raise UsageError(
            f"there is no run at or below this folder: {looked}",
            location=SourceLocation(folder),
            remedy=_REMEDY,
        )
    return search.runs


def only_run(folder: Path) -> Path:
    """The run in a folder or, as ``--output_path`` names a folder of runs, the only one below it. UsageError when
    there is none, or more than one.
    """
    if (folder / MANIFEST_NAME).is_file():
        return folder
    runs = find_runs(folder)
    if len(runs) > 1:
        raise UsageError(
            f"{len(runs)} runs lie below this folder: {_named(runs)}",
            location=SourceLocation(folder),
            remedy="name one of them",
        )
    return runs[0]


def _found(folder: Path) -> _Search:
    """Level by level, so that what lies near is found first."""
    runs: list[Path] = []
    waiting = deque([folder])
    looked = unread = 0
    while waiting:
        # Before the next folder is read, so that the number in the message is exact.
        if looked == MOST_FOLDERS:
            _refuse(folder, runs)
        place = waiting.popleft()
        looked += 1
        try:
            with os.scandir(place) as entries:
                inside = list(entries)
        except OSError:
            unread += 1
            continue
        # A run's own folders are looked through as well: a run may lie below another one.
        if any(entry.name == MANIFEST_NAME for entry in inside):
            runs.append(place)
        # A link may lead out of the folder, or back to one above.
        waiting.extend(sorted(place / entry.name for entry in inside if entry.is_dir(follow_symlinks=False)))
    return _Search(sorted(runs), looked, unread)


def _refuse(folder: Path, runs: list[Path]) -> None:
    so_far = f"the runs found until then are {_named(runs)}" if runs else "none had one"
    raise UsageError(
        f"{MOST_FOLDERS:,} folders at and below this one were searched for a run's {MANIFEST_NAME}, and there are "
        f"more: {so_far}",
        location=SourceLocation(folder),
        remedy=_REMEDY,
    )


def _named(runs: list[Path]) -> str:
    return ", ".join(str(path) for path in runs[:_NAMED]) + (", …" if len(runs) > _NAMED else "")
