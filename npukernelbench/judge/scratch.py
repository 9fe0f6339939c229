"""Temporary folders that end with their process, also when it is killed.

Beside each folder lies a file of the same name and ``.lock``, which its owner holds locked for as long as it lives. The
system gives the lock up when the process is gone, however it ended; the next process that needs a temporary folder at
the same place then removes what is left. Process numbers would not do: they are used again, and containers that share
a folder count them apart.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import signal
import tempfile
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["Scratch", "discard", "sweep"]

_log = logging.getLogger(__name__)

_PREFIX = "npukb-"
_LOCK = ".lock"


class Scratch:
    """A folder of this process: ``path``, empty at first. Removed by :meth:`close`, at the end of the process, or by
    the next process when this one is killed. A fork may use it, but does not remove it.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """``npukb-NAME-…`` in ``parent``, by default where the system keeps temporary files. OSError when it cannot be
        made. What dead processes left there is removed first, once per process.
        """
        place = Path(tempfile.gettempdir()) if parent is None else parent
        _sweep_once(place, os.getpid())
        # The lock comes first: a sweep starts from lock files, so it never sees a folder whose owner holds none.
        lock, descriptor = _locked(place, name)
        self.path = lock.with_suffix("")
        self.path.mkdir(mode=0o700)
        # The owner's process id goes along, since a fork inherits this finalizer.
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, descriptor, os.getpid())

    def close(self) -> None:
        """Remove the folder with all that is in it. Does nothing the second time."""
        self._finalizer()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep(place: Path) -> list[Path]:
    """Remove the folders in ``place`` whose processes are gone, and processes that still work in them. Which ones.

    Only what belongs to this user is touched, and nothing whose lock is held.
    """
    removed: list[Path] = []
    for lock in sorted(place.glob(f"{_PREFIX}*{_LOCK}")):
        try:
            # Others may write to the system's temporary folder: a link under this name is not followed.
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # removed meanwhile, or another user's
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Two processes may sweep at once: the file that is locked here may be removed already.
            if os.fstat(descriptor).st_uid == os.getuid() and _is_still(lock, descriptor):
                folder = lock.with_suffix("")
                # Before the folder goes, or they would make new files in it meanwhile.
                _end_processes(folder)
                if discard(folder):
                    lock.unlink()
                    removed.append(folder)
        except OSError:  # its owner lives; or, with other errors, it is left for the next start
            continue
        finally:
            os.close(descriptor)
    if removed:
        _log.info("removed what killed processes left: %s", ", ".join(map(str, removed)))
    return removed


def discard(folder: Path) -> bool:
    """Remove a folder, also where somebody took away the right to. False when something of it is left."""
    try:
        shutil.rmtree(folder)
    except OSError:
        for path, folders, _ in os.walk(folder):
            for closed in (Path(path), *(Path(path, name) for name in folders)):
                # `chmod` follows links, and a candidate's may lead anywhere.
                if not closed.is_symlink():
                    _open_up(closed)
        shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


@cache
def _sweep_once(place: Path, process: int) -> None:
    """``process`` is part of the key: a fork may live longer than the process it comes from."""
    del process
    sweep(place)


def _locked(place: Path, name: str) -> tuple[Path, int]:
    """A new lock file, held. Another process may take it for one of a dead process before it is locked, and remove it:
    then it is made again.
    """
    while True:
        lock = place / f"{_PREFIX}{name}-{secrets.token_hex(6)}{_LOCK}"
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_still(lock, descriptor):
            return lock, descriptor
        os.close(descriptor)


def _is_still(lock: Path, descriptor: int) -> bool:
    """Whether the open file is the one of that name."""
    try:
        return os.path.samestat(os.lstat(lock), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(folder: Path, lock: Path, descriptor: int, owner: int) -> None:
    if os.getpid() == owner:
        # Where something is left, the lock file stays, too: the next sweep finds the folder by it.
        if discard(folder):
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def _open_up(folder: Path) -> None:
    try:
        folder.chmod(0o700)
    except OSError:
        return


def _end_processes(folder: Path) -> None:
    """End what still works in a dead process's folder: kernels and compilers that nobody waits for any more."""
    for process in _working_in(folder):
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            continue


def _working_in(folder: Path) -> Iterator[int]:
    """Processes whose working folder lies in ``folder`` and whose environment names it, as only ours do: a shell that
    somebody looks around with has an environment of its own.
    """
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # Processes end meanwhile, and those of other users cannot be looked into.
            where = (entry / "cwd").readlink()
            if folder in (where, *where.parents) and f"{folder}/".encode() in (entry / "environ").read_bytes():
                yield int(entry.name)
        except OSError:
            continue
