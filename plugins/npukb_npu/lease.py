"""Devices are lent by file locks: many may share one for correctness, one alone has it for timing.

A lock belongs to a process and goes with it, so that a killed judge leaves no device behind. A device that failed its
probes is in quarantine: a note in the same folder says until when. Whoever wants it after that probes it first; a
device that answers is lent again, one that does not stays out for twice as long, up to a bound. Not yet run on
hardware; the locks are tested with real processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from npukernelbench.errors import ExecutorError

__all__ = ["LONGEST_QUARANTINE_S", "Leases", "Quarantine", "Sharing", "default_folder"]

_POLL_S = 0.05
_FIRST_QUARANTINE_S = 5.0
_HOPELESS = 4  # probes in a row, over a minute
LONGEST_QUARANTINE_S = 300.0

#: Why the device of a number does not answer; empty when it does.
Probe = Callable[[int], str]


class Sharing(Enum):
    """How a device is used."""

    SHARED = fcntl.LOCK_SH
    EXCLUSIVE = fcntl.LOCK_EX


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why a device is not lent, until when (of the wall clock), and how often its probe has failed in a row."""

    device: int
    reason: str
    until_s: float
    failures: int = 1


def default_folder() -> Path:
    """The same for every process of every user on this machine."""
    return Path(os.environ.get("NPUKB_NPU_LEASES") or Path(tempfile.gettempdir()) / "npukb-npu-leases")


class Leases:
    """Locks and notes in one folder. ``sleep``, ``clock`` and ``wall`` are those of :mod:`time` outside of tests."""

    def __init__(
        self,
        folder: Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._sleep, self._clock, self._wall = folder, sleep, clock, wall

    @property
    def folder(self) -> Path:
        """Where locks and notes lie."""
        return self._folder

    @contextmanager
    def lend(
        self, devices: Sequence[int], sharing: Sharing, timeout_s: float, probe: Probe | None = None
    ) -> Iterator[int]:
        """The first of ``devices`` that is free and well. ExecutorError when none is in time. Without ``probe`` a
        device whose quarantine is over counts as well.
        """
        if not devices:
            raise ExecutorError("there is no device to use", remedy="npukb doctor --npu")
        deadline = self._clock() + timeout_s
        while True:
            for device in devices:
                handle = self._lent(device, sharing, probe)
                if handle is not None:
                    try:
                        yield device
                    finally:
                        # closing the handle gives the lock back
                        os.close(handle)
                    return
            if self._clock() >= deadline or self._lost(devices):
                raise self._none_free(devices, timeout_s)
            self._sleep(_POLL_S)

    def take_out(self, device: int, reason: str) -> Quarantine:
        """Put a device that failed its probes into quarantine, for longer than the last time in a row."""
        before = self.quarantine(device)
        failures = before.failures + 1 if before is not None else 1
        # the exponent has a bound of its own: a power of many failures is no float any more
        length_s = min(_FIRST_QUARANTINE_S * 2.0 ** min(failures - 1, 16), LONGEST_QUARANTINE_S)
        noted = Quarantine(device, reason, self._wall() + length_s, failures)
        note = self._note(device)
        # written aside and renamed: nobody reads half a note
        partial = note.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(noted)) + "\n", encoding="utf-8")
        with contextlib.suppress(PermissionError):  # another user's note, which says the same
            partial.replace(note)
        partial.unlink(missing_ok=True)
        return noted

    def quarantine(self, device: int) -> Quarantine | None:
        """What is noted about a device, None when nothing is. A note that cannot be read is over."""
        try:
            noted = Quarantine(**json.loads(self._note(device).read_text(encoding="utf-8")))
            longest = min(float(noted.until_s), self._wall() + LONGEST_QUARANTINE_S)  # clocks are set back
            return Quarantine(device, str(noted.reason), longest, int(noted.failures))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            return Quarantine(device, "its note cannot be read", 0.0)

    def _lent(self, device: int, sharing: Sharing, probe: Probe | None) -> int | None:
        """A lock on the device when it is free and well; a quarantine that is over ends, or begins anew."""
        noted = self.quarantine(device)
        if noted is None:
            return self._try(device, sharing)
        if noted.until_s > self._wall():
            return None
        # alone, whatever was asked for: nobody else may probe or use the device during the probe
        handle = self._try(device, Sharing.EXCLUSIVE)
        if handle is None:
            return None
        with contextlib.ExitStack() as given_back:
            given_back.callback(os.close, handle)
            reason = probe(device) if probe is not None else ""
            if reason:
                self.take_out(device, reason)
                return None
            with contextlib.suppress(FileNotFoundError, PermissionError):
                self._note(device).unlink()
            if sharing is Sharing.EXCLUSIVE:
                given_back.pop_all()
                return handle
        # a new lock: changing the kind of a held one would give it up in between, and wait without an end
        return self._try(device, sharing)

    def _lost(self, devices: Sequence[int]) -> bool:
        """Whether every device has failed so many probes that waiting for one is no use: a run says so at once."""
        noted = [self.quarantine(device) for device in devices]
        return all(
            quarantine is not None and quarantine.failures >= _HOPELESS and quarantine.until_s > self._wall()
            for quarantine in noted
        )

    def _try(self, device: int, sharing: Sharing) -> int | None:
        # opened anew each time: locks of two handles exclude each other within a process, too
        handle = _opened(self._shared() / f"device-{device}.lock")
        try:
            fcntl.flock(handle, sharing.value | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def _note(self, device: int) -> Path:
        return self._shared() / f"device-{device}.quarantine"

    def _shared(self) -> Path:
        """The folder, made for every user of the machine."""
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):
                # mkdir's mode is cut by the umask; the sticky bit keeps users from removing each other's files
                self._folder.chmod(0o1777)
        return self._folder

    def _none_free(self, devices: Sequence[int], timeout_s: float) -> ExecutorError:
        noted = [quarantine for quarantine in map(self.quarantine, devices) if quarantine is not None]
        if len(noted) < len(devices):
            return ExecutorError(
                f"no device became free within {timeout_s:g} s (devices {_listed(devices)})",
                remedy="use fewer jobs, or give more devices with --executor_args devices=0;1",
            )
        reasons = "; ".join(
            f"device {quarantine.device}: {quarantine.reason}, {quarantine.failures} probes failed"
            for quarantine in noted
        )
        return ExecutorError(
            f"no device of {_listed(devices)} answers: {reasons}",
            remedy="look at npu-smi info and reset the device; it is lent again as soon as a probe succeeds",
        )


def _opened(path: Path) -> int:
    """A handle to lock by. Reading is enough for that, so that the file may be another user's."""
    # every user can write to this folder, so that a link in it could lead anywhere
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    # O_CREAT only where the file is missing: in a sticky folder Linux may refuse it for another user's file
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o644)


def _listed(devices: Sequence[int]) -> str:
    return ", ".join(map(str, devices)) or "none"
