"""Kernels that are right and predicted faster than the machine can be: faults of the time model, kept to be mended.

A fault is a folder of its own under ``faults`` in the cache folder: what was judged, how, what was predicted, and the
kernel's files, so that one command judges it again. Folders are named by what they are about, so that the same kernel
is kept once, however often it is judged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shlex
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from npukernelbench import __version__
from npukernelbench.errors import UsageError
from npukernelbench.judge.profile import MEASURED_TIME, PREDICTED_TIME
from npukernelbench.judge.speed import BOUND_US
from npukernelbench.nouns import CaseResult, Diagnostic, Outcome, Severity, Track
from npukernelbench.nouns.codec import to_json

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.judge.settings import JudgeSettings
    from npukernelbench.nouns import Candidate, Task, Verdict

__all__ = ["IMPOSSIBLE", "NEAR", "Fault", "Faults", "beaten", "is_near"]

_log = logging.getLogger(__name__)

#: The rule of what is said of a right kernel that is too fast.
IMPOSSIBLE = "impossible_speed"
#: A time of at most so many bounds is looked at again with every check: nothing honest comes much nearer.
NEAR = 1.1
#: Folders that are kept at most: a model that has found one way to beat the time model uses it in every answer.
_MOST = 200
_FOLDER, _ABOUT, _SOURCE = "faults", "fault.json", "source"


def is_near(time_us: float, bound_us: float | None) -> bool:
    """Whether a time is below the bound or within a tenth of it."""
    return bound_us is not None and time_us <= NEAR * bound_us


def beaten(cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """The right cases whose time, predicted or measured, is below the bound."""
    return tuple(case for case in cases if case.outcome is Outcome.OK and _time_us(case) < _bound_us(case))


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the time model as it is kept. ``cases`` are ids with the predicted time and the bound, in us."""

    id: str
    folder: Path
    task: str
    machine: str
    cases: Mapping[str, tuple[float, float]]
    command: str


@dataclass(frozen=True, slots=True)
class Faults:
    """The folder of faults, None where none are kept, and what of the configuration a kernel is judged again with."""

    folder: Path | None = None
    executor: str = ""
    executor_args: Mapping[str, object] | None = None
    include_path: tuple[Path, ...] = ()

    @classmethod
    def of(cls, config: Config) -> Faults:
        """Those of an installation."""
        return cls(config.cache_dir / _FOLDER, config.executor, config.executor_args, config.include_path)

    def report(
        self, task: Task, track: Track, candidate: Candidate, verdict: Verdict, settings: JudgeSettings, model: str
    ) -> Diagnostic | None:
        """Keep a verdict that is right and too fast, and say so; None for every other. ``model`` names what predicts.

        A folder that cannot be written is said, too: the verdict stands without it.
        """
        cases = beaten(verdict.cases)
        if verdict.outcome is not Outcome.OK or not cases:
            return None
        # A measured time is no fault of the time model, so there is nothing to keep.
        if not all(PREDICTED_TIME in case.metrics for case in cases):
            return _too_fast(cases, "A device cannot be faster either: look at how the time is measured.")
        parts = (task.name, task.content_hash, track.value, candidate.hash, model, *(case.case for case in cases))
        name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
        about = {
            "id": name,
            "task": task.name,
            "task_hash": task.content_hash,
            "track": track.value,
            "cases": {case.case: [_time_us(case), _bound_us(case)] for case in cases},
            "machine": next((case.profile.machine for case in cases if case.profile), ""),
            "time_model": model,
            "harness": __version__,
            "seed": settings.seed,
            "executor": self.executor,
            "executor_args": to_json(dict(self.executor_args or {})),
            # The command that judges again may be run in another folder.
            "include_path": [str(path.absolute()) for path in self.include_path],
        }
        kept = self.folder is not None and self._kept(self.folder, name, about, candidate)
        where = f"npukb doctor --faults shows how to reproduce it ({name})" if kept else "it is not kept"
        return _too_fast(cases, f"This is a fault of the time model, not of the kernel; {where}.")

    def listed(self) -> list[Fault]:
        """Every fault that is kept; what cannot be read is left out, with a warning."""
        return list(self._read())

    def clear(self, names: Sequence[str]) -> int:
        """Forget the faults of these names, or ``all``. UsageError, before any is gone, for one that is not there."""
        # Only folders that were read as faults can be removed, so that no name leads out of `folder`.
        known = {fault.id: fault for fault in self.listed()}
        wanted = list(known) if "all" in names else list(dict.fromkeys(names))
        if missing := [name for name in wanted if name not in known]:
            remedy = f"kept are {', '.join(known)}" if known else "none is kept"
            raise UsageError(f"there is no fault {', '.join(missing)}", field="--clear", remedy=remedy)
        for name in wanted:
            shutil.rmtree(known[name].folder)
        return len(wanted)

    @staticmethod
    def _kept(faults: Path, name: str, about: Mapping[str, object], candidate: Candidate) -> bool:
        """Write a fault's folder, in one step; whether it is there in the end."""
        folder = faults / name
        # The folder appears by a rename, after this file was written: with it the fault is complete.
        if (folder / _ABOUT).is_file():
            return True
        # `_read` passes over hidden folders, and no two writers share this name.
        room = faults / f".{name}.{os.getpid()}.{threading.get_ident()}"
        try:
            faults.mkdir(parents=True, exist_ok=True)
            if sum(1 for _ in faults.iterdir()) >= _MOST:
                _log.warning("%d faults of the time model are kept already in %s", _MOST, faults)
                return False
            for file, text in candidate.files.items():
                path = room / _SOURCE / _inside(file)
                path.parent.mkdir(parents=True, exist_ok=True)
                # As the model wrote it, line ends included: this text is what is judged again.
                path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
            (room / _ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            room.rename(folder)
        except OSError as error:
            shutil.rmtree(room, ignore_errors=True)
            if not folder.is_dir():  # else somebody else was first
                _log.warning("a fault of the time model cannot be kept in %s: %s", faults, error)
        return (folder / _ABOUT).is_file()

    def _read(self) -> Iterator[Fault]:
        for path in sorted(self.folder.glob(f"[!.]*/{_ABOUT}")) if self.folder is not None else ():
            try:
                about: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                cases = {str(case): (float(time), float(bound)) for case, (time, bound) in about["cases"].items()}
                yield Fault(
                    str(about["id"]), path.parent, about["task"], about["machine"], cases, _command(about, path.parent)
                )
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                _log.warning("%s is no fault of the time model: %s", path, error)


def _too_fast(cases: Sequence[CaseResult], remedy: str) -> Diagnostic:
    """What is said of a right kernel that is too fast."""
    worst = min(cases, key=lambda case: _time_us(case) / _bound_us(case))
    message = (
        f"case {worst.case} takes {_time_us(worst):.3f} us, below the {_bound_us(worst):.3f} us that the machine needs "
        "for the least traffic and work of the task: no speed is credited"
    )
    return Diagnostic(Severity.WARNING, IMPOSSIBLE, message, remedy=remedy)


def _command(about: Mapping[str, Any], folder: Path) -> str:
    """What judges the kernel again as it was judged."""
    files = sorted(path for path in (folder / _SOURCE).rglob("*") if path.is_file())
    static = about["track"] == Track.STATIC.value
    source = str(files[0]) if static and len(files) == 1 else str(folder / _SOURCE)
    words = ["npukb", "judge", about["task"], source]
    words += ["--case", next(iter(about["cases"]))] if static else ["--track", about["track"]]
    words += ["--seed", str(about["seed"])]
    words += ["--executor", about["executor"]] if about["executor"] else []
    words += ["--executor_args", json.dumps(about["executor_args"])] if about["executor_args"] else []
    for path in about["include_path"]:
        words += ["--include_path", path]
    return shlex.join(words)


def _inside(name: str) -> PurePosixPath:
    """A candidate's file name without a way out of the folder."""
    return PurePosixPath(*(part for part in PurePosixPath(name).parts if part not in ("/", "..")))


def _time_us(case: CaseResult) -> float:
    # A time of 0 counts as unknown, and infinity is below no bound.
    return case.metrics.get(PREDICTED_TIME) or case.metrics.get(MEASURED_TIME) or float("inf")


def _bound_us(case: CaseResult) -> float:
    return case.metrics.get(BOUND_US, 0.0)
