"""Empty namespaces that the launches of one process share.

The kernel takes longer to make and clear away an empty network than our runner takes to start. Joining one that is
there costs a tenth. Two launches could meet in it, so that only those join that the filter of system calls keeps from
sockets, from shared memory and from other processes.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

__all__ = ["shared_namespaces"]

#: Users first: joining the others needs the power that a process has in these.
_NAMES = ("user", "net", "ipc", "uts")
#: By launcher. The descriptors keep the namespaces, for as long as this process lives.
_SHARED: dict[Path, tuple[int, ...]] = {}


def shared_namespaces(launcher: Path) -> tuple[int, ...]:
    """Descriptors to join them by, in this order; none where the machine does not let them be had."""
    if launcher in _SHARED:
        return _SHARED[launcher]
    held = _held(launcher)
    shared = _SHARED.setdefault(launcher, held)
    if shared is not held:
        # another thread was first
        for descriptor in held:
            os.close(descriptor)
    return shared


def _held(launcher: Path) -> tuple[int, ...]:
    """New ones. The process that makes them ends at once."""
    with (
        subprocess.Popen([launcher, "--hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder,
        ExitStack() as failed,
    ):
        assert holder.stdout is not None
        if not holder.stdout.read(1):
            return ()
        held = []
        for name in _NAMES:
            try:
                held.append(os.open(f"/proc/{holder.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC))
            except OSError:
                return ()
            failed.callback(os.close, held[-1])
        failed.pop_all()
        return tuple(held)
