"""A child process with a process group of its own and the last lines of what it said, for error messages.

It runs on a leash (:mod:`npukb_vllm.leash`): however the harness ends, the child and all that it started end too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["Child"]

_LEASH = Path(__file__).with_name("leash.py")
_TAIL_LINES = 15
_STOP_TIMEOUT_S = 20.0
#: Lines longer than this end a stream reader; answers of a whole context window are shorter.
_LINE_LIMIT = 1 << 26


class Child:
    """A running child. What it says is read all the time, so that it never waits for us."""

    def __init__(self, process: Process, leash: int) -> None:
        self.process = process
        self._leash = leash
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str], *, conversation: bool) -> Child:
        """Start ``command``; with ``conversation`` its standard input and output are pipes for the caller, else
        all it says is kept for :meth:`last_words`."""
        far, near = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, str(_LEASH), str(far), *command),
                stdin=PIPE if conversation else DEVNULL,
                stdout=PIPE,
                stderr=PIPE if conversation else STDOUT,
                env=dict(environment),
                # A process group of its own, so that a signal reaches what the child has started as well.
                start_new_session=True,
                pass_fds=(far,),
                limit=_LINE_LIMIT,
            )
        # A cancellation, too, must not leave the pipe open: the leash would never end.
        except BaseException:
            os.close(near)
            raise
        finally:
            os.close(far)
        return cls(process, near)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    def last_words(self) -> str:
        """The last lines it said."""
        return "\n".join(self._tail)

    async def stop(self) -> None:
        """End it and all that it started: asked first, then forced."""
        for sign, wait_s in ((signal.SIGTERM, _STOP_TIMEOUT_S), (signal.SIGKILL, None)):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, sign)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.process.wait(), wait_s)
        # Last: closing the pipe makes the leash kill what the signals have left.
        os.close(self._leash)
        await asyncio.wait((self._reader,), timeout=1.0)
        self._reader.cancel()

    async def _read(self) -> None:
        stream = self.process.stderr or self.process.stdout
        if stream is None:
            return
        with suppress(ValueError):  # a line beyond all limits: its end is not worth more
            while line := await stream.readline():
                self._tail.append(line.decode(errors="replace").rstrip())
