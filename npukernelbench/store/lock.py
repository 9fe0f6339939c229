"""One writer per run folder: a lock that the operating system gives back when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.store.files import write_all, writing

__all__ = ["FolderLock", "writer_of"]


class FolderLock:
    """Held from construction to :meth:`release`. UsageError names the process that holds the lock already."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with writing(path):
            # O_CLOEXEC: a program that inherits the descriptor holds the lock as well, and may outlive this process.
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with writing(path):
                self._take(folder)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, folder: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            raise UsageError(
                f"another run is writing to this folder (process {holder or 'unknown'})",
                location=SourceLocation(folder),
                remedy="wait for it or stop it, or use another --output_path",
            ) from None
        os.ftruncate(self._descriptor, 0)
        write_all(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the folder back."""
        # The file stays: were it removed, a process that has opened it already would lock what nobody else finds.
        os.close(self._descriptor)


def writer_of(folder: Path) -> int | None:
    """The process on this machine that took the folder last, if it still lives. The lock is looked at, never taken: a
    reader that took it even for a moment could turn a writer away."""
    try:
        process = int((folder / ".lock").read_text(encoding="ascii").strip())
        # Signal 0 is never delivered: it only asks whether the process is there.
        os.kill(process, 0)
    except (OSError, ValueError, OverflowError):
        return None
    return process
