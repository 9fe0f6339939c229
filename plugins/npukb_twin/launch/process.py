"""Child processes: a session of their own, limits, a deadline, output that cannot flood, nothing left behind."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npukb_twin.launch.forkserver import Copy, ServerLostError, Stop
from npukb_twin.launch.sandbox import Sandbox
from npukernelbench.errors import ExecutorError

__all__ = ["Finished", "Limits", "run"]

_OUTPUT_BYTES = 256 * 1024
_REPORT_BYTES = 4 * 1024 * 1024
_STATUS_BYTES = 1024
_OPEN_FILES = 512
_NOT_CONFINED = Sandbox()


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a child. Times in seconds, sizes in bytes."""

    wall_s: float
    memory_bytes: int
    file_bytes: int

    def numbers(self) -> dict[str, int]:
        """The limits by the names of setrlimit. CPU time allows for several threads."""
        return {
            "AS": self.memory_bytes,
            "FSIZE": self.file_bytes,
            "CORE": 0,
            "CPU": int(self.wall_s * 8) + 2,
            "NOFILE": _OPEN_FILES,
        }


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended.

    ``output`` is stdout and stderr together, cut off when it floods; ``report`` what came through the private
    descriptor; ``returncode`` is negative for a signal.
    """

    returncode: int
    output: str
    report: bytes
    timed_out: bool
    seconds: float


def run(
    command: Sequence[str],
    *,
    work: Path,
    environment: Mapping[str, str],
    limits: Limits,
    report: tuple[int, int] | None = None,
    inherited: Sequence[int] = (),
    sandbox: Sandbox = _NOT_CONFINED,
    stop: Stop | None = None,
) -> Finished:
    """Run ``command`` in ``work`` and wait for it. The whole process group is killed at the deadline and at the end.

    ``report`` is a (read, write) pipe: the write end is inherited by the child and closed here; ``inherited`` are
    descriptors that it has, too. With ``stop``, the
    program may be a copy of one that was started before, where the sandbox has such. ExecutorError when the sandbox
    cannot be set up.
    """
    if stop is not None:
        done = _run_copy(command, stop, work=work, environment=environment, limits=limits, sandbox=sandbox)
        if done is not None:
            return done
    output, status = os.pipe(), os.pipe()
    given = (output[1], status[1]) if report is None else (output[1], status[1], report[1])
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            sandbox.wrap(command, work=work, limits=limits.numbers(), status=status[1]),
            cwd=work,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output[1],
            stderr=output[1],
            pass_fds=(*(given[1:] if sandbox.launcher else given[2:]), *inherited),
            start_new_session=True,  # so that the whole group can be killed
        )
    except OSError:
        for descriptor in (output[0], status[0], *(report or ())[:1]):
            os.close(descriptor)
        raise
    finally:
        # in any case: no stream comes to its end while this process holds a write end of it
        for descriptor in given:
            os.close(descriptor)
    if sandbox.launcher is None:
        _limit(child.pid, limits)
    streams = {output[0]: _OUTPUT_BYTES, status[0]: _STATUS_BYTES} | (
        {} if report is None else {report[0]: _REPORT_BYTES}
    )
    try:
        texts, timed_out = _collect(child, streams, started + limits.wall_s)
    finally:
        _kill_group(child)
        for descriptor in streams:
            os.close(descriptor)
    returncode = child.wait()
    if refused := bytes(texts[status[0]]).decode("utf-8", errors="replace").strip():
        raise ExecutorError(f"the sandbox cannot be set up: {refused}")
    return Finished(
        returncode=returncode,
        output=bytes(texts[output[0]]).decode("utf-8", errors="replace"),
        report=b"" if report is None else bytes(texts[report[0]]),
        timed_out=timed_out,
        seconds=time.monotonic() - started,
    )


def _run_copy(
    command: Sequence[str],
    stop: Stop,
    *,
    work: Path,
    environment: Mapping[str, str],
    limits: Limits,
    sandbox: Sandbox,
) -> Finished | None:
    """The same by a copy; None where there is none, or its server was lost."""
    started = time.monotonic()
    read, write = os.pipe()
    try:
        copy = sandbox.start(command, stop, work=work, environment=environment, limits=limits.numbers(), output=write)
    finally:
        os.close(write)
    if copy is None:
        os.close(read)
        return None
    try:
        texts, timed_out = _collect(copy, {read: _OUTPUT_BYTES}, started + limits.wall_s)
        returncode = copy.end()
    except ServerLostError:
        sandbox.lost(command, stop)
        return None
    finally:
        copy.close()
        os.close(read)
    output = bytes(texts[read]).decode("utf-8", errors="replace")
    return Finished(returncode, output, b"", timed_out, time.monotonic() - started)


def _limit(pid: int, limits: Limits) -> None:
    """Set limits from outside, so that no Python runs between fork and exec. A child that has ended already needs
    none. Only the soft ones: a child that sets limits itself meanwhile, as sanitizers do and our own programs, could
    otherwise ask for more than it may have by then, and die of it. Our programs make theirs final before any stranger's
    code runs.
    """
    for name, value in limits.numbers().items():
        kind = getattr(resource, f"RLIMIT_{name}")
        try:
            most = resource.prlimit(pid, kind)[1]
            resource.prlimit(pid, kind, (value if most == resource.RLIM_INFINITY else min(value, most), most))
        except (ProcessLookupError, PermissionError):
            return


def _collect(
    child: subprocess.Popen[bytes] | Copy, streams: Mapping[int, int], deadline: float
) -> tuple[dict[int, bytearray], bool]:
    """Read every stream to its end or to the deadline, keeping at most its allowance."""
    texts = {descriptor: bytearray() for descriptor in streams}
    with selectors.DefaultSelector() as selector:
        for descriptor in streams:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return texts, True
            # a descendant can hold the pipes open when the child has ended, so the child is looked at twice a second
            for key, _ in selector.select(min(left, 0.5)):
                chunk = os.read(key.fd, 65536)
                if chunk:
                    # what is beyond the allowance is read, too: a full pipe would block the child until the deadline
                    texts[key.fd] += chunk[: max(0, streams[key.fd] - len(texts[key.fd]))]
                else:
                    selector.unregister(key.fd)
            if child.poll() is not None:
                _drain(selector, texts, streams)
                return texts, False
    try:
        child.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return texts, True
    return texts, False


def _drain(selector: selectors.BaseSelector, texts: Mapping[int, bytearray], streams: Mapping[int, int]) -> None:
    """Take what an ended child left in its pipes, without waiting for descendants that still hold them."""
    while ready := selector.select(0):
        for key, _ in ready:
            chunk = os.read(key.fd, 65536)
            if not chunk:
                selector.unregister(key.fd)
            elif len(texts[key.fd]) < streams[key.fd]:
                texts[key.fd] += chunk[: streams[key.fd] - len(texts[key.fd])]
            else:
                # a descendant that goes on writing would keep this loop from ending
                selector.unregister(key.fd)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the child's session's process group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
