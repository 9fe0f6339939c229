"""Asking torch: a process that has imported it, perhaps under another interpreter, and answers one question per fork.

The process is started with the first question and ends with this one. ``NPUKB_TORCH_PYTHON`` names an interpreter that
has torch where the current one has none.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukb_suites.torchside.wire import Message, receive, send
from npukernelbench.errors import SourceLocation, TaskError, UsageError

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["VARIABLE", "TorchHost", "torch_host"]

#: Names the interpreter that has torch.
VARIABLE = "NPUKB_TORCH_PYTHON"
_START_S = 180.0
_ASK = b"a"
_SURVEY = b"s"
#: More than that beside the code's own time is a dead process.
_GRACE_S = 60.0
_CODE = "import sys; sys.path.insert(0, {folder!r}); from torchside.host import main; main({descriptor})"


class TorchHost:
    """The process, started when it is first asked. Safe to use from several threads."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.torch = ""

    def ask(self, header: Mapping[str, Any], arrays: Sequence[Array] = (), *, timeout_s: float = 600.0) -> Message:
        """The answer to one question. TaskError with the place in the user's file when its code fails."""
        asking, asked = socket.socketpair()
        with contextlib.closing(asking):
            # Only the sending is under the lock: answers come on sockets of their own, side by side.
            with contextlib.closing(asked), self._lock:
                control = self._started()
                # The byte says before the fork whether torch's tracer has to be imported there.
                socket.send_fds(control, [_SURVEY if header["action"] == "survey" else _ASK], [asked.fileno()])
            # The other side has its own alarm; this one is for a process that is gone.
            asking.settimeout(timeout_s + _GRACE_S)
            try:
                send(asking, Message({**header, "timeout_s": timeout_s}, list(arrays)))
                answer = receive(asking)
            except (EOFError, OSError) as error:
                message = f"torch's process ended without an answer within {timeout_s:g} s, or ran out of memory"
                raise TaskError(message, location=_location(header), remedy="try smaller shapes") from error
        if "error" in answer.header:
            location = _location(header, str(answer.header.get("place", "")))
            raise TaskError(str(answer.header["error"]).strip(), location=location)
        return answer

    def version(self) -> str:
        """Torch's version. UsageError where there is no torch."""
        with self._lock:
            self._started()
        return self.torch

    def close(self) -> None:
        """End the process."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            # The closed socket lets it end by itself; killing is for one that hangs.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self._process.kill()
            self._process.wait()
        self._process = self._control = None

    def _started(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        ours, theirs = socket.socketpair()
        code = _CODE.format(folder=str(Path(__file__).parent), descriptor=theirs.fileno())
        try:
            # Warnings of models and of torch while it traces them would stand between the results.
            command = (self._python, "-B", "-W", "ignore", "-c", code)
            self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)
        except OSError as error:
            message = f"{self._python} cannot be started: {error.strerror}"
            raise UsageError(message, field=VARIABLE, remedy="name a Python that has torch") from error
        # With a copy left open here, the end of the process would never be seen.
        theirs.close()
        ours.settimeout(_START_S)
        try:
            hello = receive(ours).header
        except (EOFError, OSError) as error:
            hello = {"error": f"it did not start: {error}"}
        if "error" in hello:
            ours.close()
            self._process.wait()
            raise UsageError(
                f"{self._python} has no torch: {hello['error']}",
                field=VARIABLE,
                remedy=f"pip install 'npukernelbench[torch]', or name a Python that has torch in {VARIABLE}",
            )
        self.torch, self._control = str(hello["torch"]), ours
        ours.settimeout(None)
        return ours


def torch_host() -> TorchHost:
    """The host of this process."""
    # By process: see `_host`.
    return _host(os.environ.get(VARIABLE) or sys.executable, os.getpid())


@lru_cache(maxsize=8)
def _host(python: str, process: int) -> TorchHost:
    del process  # A fork must not speak on its parent's socket.
    host = TorchHost(python)
    atexit.register(host.close)
    return host


def _location(header: Mapping[str, Any], place: str = "") -> SourceLocation | None:
    path, _, line = (place or str(header.get("target", {}).get("file", ""))).rpartition(":")
    if line.isdigit() and path:
        return SourceLocation(Path(path), int(line))
    return SourceLocation(Path(place)) if place else None
