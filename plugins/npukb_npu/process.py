"""Child processes: a session of their own, a deadline, output that cannot flood, nothing left behind.

Not yet run on hardware; processes themselves are tested.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["Finished", "run"]

_OUTPUT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended. ``output`` is stdout and stderr together, cut off when it floods."""

    returncode: int
    output: str
    timed_out: bool
    seconds: float


def run(command: Sequence[str], *, work: Path, environment: Mapping[str, str], wall_s: float) -> Finished:
    """Run ``command`` in ``work``; its whole session is killed at the deadline and at the end."""
    started = time.monotonic()
    child = subprocess.Popen(
        list(command),
        cwd=work,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()
    assert child.stdout is not None
    reader = threading.Thread(target=_drain, args=(child.stdout, kept), daemon=True)
    reader.start()
    try:
        child.wait(timeout=wall_s)
        timed_out = False
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        # whatever ends the wait, an interrupt as well; before the reader is joined, as the pipe ends when no descendant
        # holds it any more
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        returncode = child.wait()
    # with a limit: a descendant that left the session can still hold the pipe
    reader.join(timeout=5.0)
    text = bytes(kept).decode("utf-8", errors="replace")
    return Finished(returncode, text, timed_out, time.monotonic() - started)


def _drain(stream: IO[bytes], kept: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 65536):
            # what is beyond the limit is read, too: a full pipe would block the child until the deadline
            kept += chunk[: max(0, _OUTPUT_BYTES - len(kept))]
