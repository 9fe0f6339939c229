"""Devices are lent by file locks: many may share one for correctness, one alone has it for timing.

A lock belongs to a process and goes with it, so that a killed judge leaves no device behind. A device that failed its
probe is written down as unhealthy in the same folder and lent to nobody until its owner removes the note. Not yet run
on hardware; the locks are tested with real processes.
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
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from npukernelbench.errors import ExecutorError

__all__ = ["Health", "Leases", "Sharing", "default_folder"]

_POLL_S = 0.05


class Sharing(Enum):
    """How a device is used."""

    SHARED = fcntl.LOCK_SH
    EXCLUSIVE = fcntl.LOCK_EX


@dataclass(frozen=True, slots=True)
class Health:
    """Why a device is not lent."""

    device: int
    reason: str


def default_folder() -> Path:
    """The same for every process of every user on this machine."""
    return Path(os.environ.get("NPUKB_NPU_LEASES") or Path(tempfile.gettempdir()) / "npukb-npu-leases")


class Leases:
    """Locks and health notes in one folder. ``sleep`` and ``clock`` are those of :mod:`time` outside of tests."""

    def __init__(
        self,
        folder: Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._sleep, self._clock = folder, sleep, clock

    @contextmanager
    def lend(self, devices: Sequence[int], sharing: Sharing, timeout_s: float) -> Iterator[int]:
        """The first of ``devices`` that is free and healthy. ExecutorError when none becomes free in time."""
        deadline = self._clock() + timeout_s
        while True:
            unhealthy = {one.device: one.reason for one in map(self.health, devices) if one is not None}
            left = [device for device in devices if device not in unhealthy]
            if not left:
                raise self._none_left(devices, unhealthy)
            for device in left:
                handle = self._try(device, sharing)
                if handle is not None:
                    try:
                        yield device
                    finally:
                        os.close(handle)
                    return
            if self._clock() >= deadline:
                raise ExecutorError(
                    f"no device became free within {timeout_s:g} s (devices {_listed(left)})",
                    remedy="use fewer jobs, or give more devices with --executor_args devices=0;1",
                )
            self._sleep(_POLL_S)

    def take_out(self, device: int, reason: str) -> Path:
        """Write down that a device failed its probe; the note's path."""
        note = self._note(device)
        note.write_text(json.dumps({"device": device, "reason": reason}) + "\n", encoding="utf-8")
        return note

    def health(self, device: int) -> Health | None:
        """Why a device is not lent, None when it is."""
        try:
            noted = json.loads(self._note(device).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return Health(device, "its health note cannot be read")
        return Health(device, str(noted.get("reason", "")) if isinstance(noted, dict) else "its health note is damaged")

    def _try(self, device: int, sharing: Sharing) -> int | None:
        handle = _opened(self._shared() / f"device-{device}.lock")
        try:
            fcntl.flock(handle, sharing.value | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def _note(self, device: int) -> Path:
        return self._shared() / f"device-{device}.unhealthy"

    def _shared(self) -> Path:
        """The folder, made for every user of the machine."""
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):
                self._folder.chmod(0o1777)
        return self._folder

    def _none_left(self, devices: Sequence[int], unhealthy: dict[int, str]) -> ExecutorError:
        reasons = "; ".join(f"device {device}: {reason}" for device, reason in unhealthy.items()) or "none is known"
        return ExecutorError(
            f"no healthy device is left of {_listed(devices)}: {reasons}",
            remedy=f"look at it with npu-smi info, repair or reset it, then delete {self._folder}/device-*.unhealthy",
        )


def _opened(path: Path) -> int:
    """A handle to lock by. Reading is enough for that, so that the file may be another user's."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o644)


def _listed(devices: Sequence[int]) -> str:
    return ", ".join(map(str, devices)) or "none"
