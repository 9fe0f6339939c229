"""Keeps a child from outliving the harness: ``python -m npukb_vllm.leash DESCRIPTOR COMMAND...``.

The harness holds the other end of DESCRIPTOR, a pipe. When that end is closed, also by ``kill -9`` of the harness, the
whole process group is ended, so that no server and no engine keeps a device. Else the exit code is the command's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

__all__ = ["main"]

_GRACE_S = 5.0


def main(descriptor: int, command: list[str]) -> int:
    """Run ``command`` until it ends or the harness does."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group: the command decides when to end
    child = subprocess.Popen(command, preexec_fn=_default_signals)
    released = threading.Event()
    watcher = threading.Thread(target=_watch, args=(descriptor, released), daemon=True)
    watcher.start()
    code = child.wait()
    if released.is_set():
        watcher.join()  # the command may have gone before what it started
    return code


def _default_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _watch(descriptor: int, released: threading.Event) -> None:
    # Nothing is ever written: a read ends when the other end is closed, by whatever closes it.
    while os.read(descriptor, 1):
        pass
    released.set()
    os.killpg(os.getpgrp(), signal.SIGTERM)
    # An engine needs a moment to release its device.
    time.sleep(_GRACE_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
