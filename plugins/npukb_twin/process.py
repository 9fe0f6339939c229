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

__all__ = ["Finished", "Limits", "run"]

_OUTPUT_BYTES = 256 * 1024
_REPORT_BYTES = 1024 * 1024


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
) -> Finished:
    """Run ``command`` in ``work`` and wait for it. The whole process group is killed at the deadline and at the end.

    ``report`` is a (read, write) pipe: the write end is inherited by the child and closed here.
    """
    out_read, out_write = os.pipe()
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            command,
            cwd=work,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out_write,
            stderr=out_write,
            pass_fds=() if report is None else (report[1],),
            start_new_session=True,
        )
    except OSError:
        os.close(out_read)
        if report is not None:
            os.close(report[0])
        raise
    finally:
        os.close(out_write)
        if report is not None:
            os.close(report[1])
    _limit(child.pid, limits)
    streams = {out_read: _OUTPUT_BYTES} | ({} if report is None else {report[0]: _REPORT_BYTES})
    try:
        texts, timed_out = _collect(child, streams, started + limits.wall_s)
    finally:
        _kill_group(child)
        for descriptor in streams:
            os.close(descriptor)
    return Finished(
        returncode=child.wait(),
        output=bytes(texts[out_read]).decode("utf-8", errors="replace"),
        report=b"" if report is None else bytes(texts[report[0]]),
        timed_out=timed_out,
        seconds=time.monotonic() - started,
    )


def _limit(pid: int, limits: Limits) -> None:
    """Set limits from outside, so that no Python runs between fork and exec. A child that has ended already needs
    none.
    """
    for name, value in limits.numbers().items():
        try:
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"), (value, value))
        except (ProcessLookupError, PermissionError):
            return


def _collect(
    child: subprocess.Popen[bytes], streams: Mapping[int, int], deadline: float
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
            for key, _ in selector.select(min(left, 0.5)):
                chunk = os.read(key.fd, 65536)
                if chunk:
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
                selector.unregister(key.fd)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the child's session's process group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
