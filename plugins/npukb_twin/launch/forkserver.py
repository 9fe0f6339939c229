"""Compilers that are started once: each call is a copy of one that has loaded itself, its options and its headers.

The program for it is part of the sandbox's launcher (``launcher/forkserver.h``). A copy is confined like a program that
the launcher starts, and works in a folder of its own; servers and copies end with this process. What a copy makes is
what the compiler makes when it is called by itself, byte for byte, so that a call that no server can take is simply
made in the usual way.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import subprocess
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import RLock

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.scratch import Scratch

__all__ = ["Copy", "ForkServers", "ServerLostError", "Stop"]

_ANSWER_BYTES = 1024
_ENDED = re.compile(r"ended (-?\d+)\n")
_MOST_SERVERS = 16
_MOST_REMEMBERED = 256
#: From this many copies on, memory of its own for a program's code has cost less than it saves: to fill it takes as
#: long as two kernels. Most commands compile fewer.
_MANY_COPIES = 16
_END_S = 5.0
#: What has to be free where programs get memory of their own for their code, some hundred megabytes.
_ROOM_BYTES = 2 << 30
_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MEMORY = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Stop:
    """Where copies of a program part: at opening ``path`` to read, spelled as the program spells it. ``made`` is what
    it has opened to write by then; ``files`` (name and text) and ``folders`` are what lies in its folder before, since
    compilers look for the folders of headers when they start. The code of a ``large`` program that is copied often is
    worth memory of its own.
    """

    path: str
    made: str
    files: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()
    large: bool = False


class ServerLostError(Exception):
    """The server ended before its copy did: nothing is known of the call."""


class Copy:
    """One running copy, by the methods of :class:`subprocess.Popen` that callers of both need."""

    def __init__(self, answer: socket.socket, server: _Server) -> None:
        self._answer = answer
        self._server = server  # which ends when nobody holds it, and its copies with it
        self._returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status when it has ended, negative for a signal. ServerLostError when nobody knows it, ExecutorError
        when the copy could not be confined.
        """
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The same, when it has ended. subprocess.TimeoutExpired when it does not in time."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("copy", timeout or 0.0)
        return code

    def end(self) -> int:
        """Its exit status, after killing it with all that belongs to its session unless it has ended. ServerLostError
        when the server does not say.
        """
        if self._returncode is None:
            with contextlib.suppress(OSError):
                # this half alone tells the server to kill; the exit status still comes back by the other
                self._answer.shutdown(socket.SHUT_WR)
        try:
            return self.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise ServerLostError from error

    def close(self) -> None:
        """Let the descriptor go, which ends a copy that still runs."""
        self._answer.close()

    def _wait(self, timeout: float | None) -> int | None:
        if self._returncode is None:
            waiting = select.poll()
            waiting.register(self._answer, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1e3):
                return None
            said = self._answer.recv(_ANSWER_BYTES).decode("utf-8", errors="replace")
            if not said:
                raise ServerLostError
            # anything else says which measure failed
            if (ended := _ENDED.fullmatch(said)) is None:
                raise ExecutorError(f"the sandbox cannot be set up: {said.strip()}")
            self._returncode = int(ended[1])
        return self._returncode


class _Server:
    """One started program that waits for calls; one that is ``large`` has memory of its own for its code."""

    def __init__(self, words: Sequence[str], stop: Stop, environment: Mapping[str, str], large: bool) -> None:
        self.large = large
        self.copies = 0
        scratch = Scratch("start")
        folder = scratch.path
        for name in stop.folders:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in stop.files:
            (folder / name).write_text(text, encoding="utf-8")
        # messages keep their bounds: each is one call, together with its descriptors
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # requests wait in the socket while the program starts; one that never listens must not hold every caller
        self._control.settimeout(_END_S)
        launcher, *rest = words
        with inner:
            command = (
                launcher,
                "--serve",
                str(inner.fileno()),
                "--stop",
                stop.path,
                "--made",
                stop.made,
                *(("--large",) if large else ()),
                *rest,
            )
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, "HOME": str(folder), "TMPDIR": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(inner.fileno(),),
                start_new_session=True,
            )
        self._end = weakref.finalize(self, _end, self._control, self.process, scratch, os.getpid())

    def start(self, words: Sequence[str], output: int) -> Copy:
        """A copy that works as ``words`` say and writes to ``output``. OSError when the server is gone."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            try:
                message = b"".join(os.fsencode(word) + b"\0" for word in words)
                socket.send_fds(self._control, [message], [its.fileno(), output])
            except OSError:
                mine.close()
                raise
        self.copies += 1
        return Copy(mine, self)

    def close(self) -> None:
        """End it, and the copies that still run; in a fork, let go of what it inherited."""
        self._end()


def _end(control: socket.socket, process: subprocess.Popen[bytes], scratch: Scratch, owner: int) -> None:
    control.close()
    if owner != os.getpid():
        process.returncode = 0  # another process's child
        return
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:  # one that never came to its stop does not listen
        process.kill()
        process.wait()
    scratch.close()


@cache
def _has_room() -> bool:
    """Whether this machine has large pages, and memory to spare for a copy of a program's code. Small pages of our own
    would have to be copied for each fork.
    """
    try:
        # Linux puts the setting in force into brackets
        if "[never]" in _LARGE_PAGES.read_text(encoding="ascii"):
            return False
        free = re.search(r"^MemAvailable: *(\d+) kB$", _MEMORY.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return False
    left = [int(free[1]) << 10] if free else []
    with contextlib.suppress(OSError, ValueError):  # where a container has a limit of its own
        most, used = ((_CONTAINER / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        # without a limit memory.max holds the word ``max``
        left.append(int(most) - int(used))
    return min(left, default=0) >= _ROOM_BYTES


class _Pool:
    """Servers: started at the second call, a few at a time, the longest unused one ends first. A process that makes a
    single call does not pay for a server.
    """

    def __init__(self) -> None:
        self._parts: set[int] = set()  # who asks for copies
        self._servers: OrderedDict[tuple[object, ...], _Server] = OrderedDict()
        # Whether a program that was called may have a server. Candidates name folders of headers: commands have no end.
        self._called: OrderedDict[tuple[object, ...], bool] = OrderedDict()
        self._owner = os.getpid()
        # Re-entrant: a part that nobody refers to any more leaves wherever Python collects garbage, also in here.
        self._lock = RLock()

    def start(
        self, words: Sequence[str], own: Sequence[str], stop: Stop, environment: Mapping[str, str], output: int
    ) -> Copy | None:
        """As :meth:`ForkServers.start`."""
        key = (tuple(words), stop)
        with self._lock:
            self._leave_inherited()
            if not self._called.get(key):
                self._remember(key, key not in self._called)
                return None
            # taken out and put back at the end: the order of the keys is the order of use
            server = self._servers.pop(key, None)
            try:
                grown = server is not None and server.copies >= _MANY_COPIES and stop.large and not server.large
                if server is None or (grown and _has_room()):
                    # copies of the one before go on, and it with them
                    server = _Server(words, stop, environment, large=grown)
                self._servers[key] = server
                copy = server.start(own, output)
            except OSError:
                self._drop(key)
                return None
            if len(self._servers) > _MOST_SERVERS:
                self._servers.popitem(last=False)[1].close()
            return copy

    def lost(self, words: Sequence[str], stop: Stop) -> None:
        """As :meth:`ForkServers.lost`."""
        key = (tuple(words), stop)
        with self._lock:
            if key in self._servers:
                self._drop(key)

    def join(self, part: int) -> None:
        """From now on ``part`` asks for copies."""
        with self._lock:
            self._parts.add(part)

    def leave(self, part: int) -> None:
        """It does so no longer. With the last of them all servers end, and their copies."""
        with self._lock:
            self._parts.discard(part)
            self._leave_inherited()
            while self._servers and not self._parts:
                self._servers.popitem()[1].close()

    def processes(self) -> list[subprocess.Popen[bytes]]:
        """What waits to be copied; the last is the one that was used last."""
        with self._lock:
            return [server.process for server in self._servers.values()]

    def _drop(self, key: tuple[object, ...]) -> None:
        self._remember(key, False)
        if (server := self._servers.pop(key, None)) is not None:
            server.close()

    def _remember(self, key: tuple[object, ...], may_have_one: bool) -> None:
        self._called[key] = may_have_one
        if len(self._called) > _MOST_REMEMBERED:
            self._called.popitem(last=False)

    def _leave_inherited(self) -> None:
        if self._owner != os.getpid():
            # the finalizers see another process and only close descriptors: the parent's servers go on
            self._servers.clear()
            self._owner = os.getpid()


@cache
def _pool_of(process: int) -> _Pool:  # noqa: ARG001  the key
    """What all sandboxes of a process have in common. A fork has its own: a thread of its parent's may have held the
    lock.
    """
    return _Pool()


class ForkServers:
    """A part in servers. What one sandbox of this process had started, the next one finds, as long as any of them that
    asked for copies is open: each has the same servers for the same command under the same measures. An ``own`` part
    shares with nobody.
    """

    def __init__(self, *, own: bool = False) -> None:
        self._pool = _Pool() if own else _pool_of(os.getpid())
        self._leave = weakref.finalize(self, self._pool.leave, id(self))

    def join(self) -> None:
        """Keep what is started from now on, as asking for a copy does."""
        if self._leave.alive:
            self._pool.join(id(self))

    def start(
        self, words: Sequence[str], own: Sequence[str], stop: Stop, environment: Mapping[str, str], output: int
    ) -> Copy | None:
        """A copy of the program that the launcher starts by ``words``, with ``own`` words for this call alone: the
        folder that it works in, then further measures. None when there is no server for it, as at the first call.
        """
        self.join()
        return self._pool.start(words, own, stop, environment, output) if self._leave.alive else None

    def lost(self, words: Sequence[str], stop: Stop) -> None:
        """Say that the server of these words ended before its copy did: it is not asked again, unless it was ended here
        to make room for another.
        """
        self._pool.lost(words, stop)

    def processes(self) -> list[subprocess.Popen[bytes]]:
        """What waits to be copied; the last is the one that was used last."""
        return self._pool.processes()

    def close(self) -> None:
        """Give the part back: with the last one of a pool its servers end, and their copies."""
        self._leave()
