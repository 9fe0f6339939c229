"""Leases, with real processes for the locks and a clock of the test's own for waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_npu.lease import Leases, Sharing, default_folder
from npukernelbench.errors import ExecutorError


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, 0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1


def leases(folder: Path) -> tuple[Leases, Clock]:
    clock = Clock()
    return Leases(folder, sleep=clock.sleep, clock=clock), clock


HOLD = """
import sys
from pathlib import Path
from npukb_npu.lease import Leases, Sharing
with Leases(Path(sys.argv[1])).lend((3,), Sharing[sys.argv[2]], 1) as device:
    print(device, flush=True)
    sys.stdin.read()
"""


def holder(folder: Path, sharing: Sharing) -> subprocess.Popen[str]:
    """Another process that has a device until it ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), sharing.name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "3\n"
    return process


def end(process: subprocess.Popen[str], how: int = signal.SIGTERM) -> None:
    process.send_signal(how)
    process.communicate()


def test_a_device_is_timed_on_alone(tmp_path: Path) -> None:
    lent, clock = leases(tmp_path)
    other = holder(tmp_path, Sharing.EXCLUSIVE)
    for sharing in Sharing:
        with pytest.raises(ExecutorError, match="no device became free within 10 s"), lent.lend((3,), sharing, 10):
            raise AssertionError
    assert clock.now >= 20
    end(other, signal.SIGKILL)  # a lock goes with its process, however that ends
    with lent.lend((3,), Sharing.EXCLUSIVE, 0) as device:
        assert device == 3


def test_many_share_a_device_for_correctness(tmp_path: Path) -> None:
    lent, _ = leases(tmp_path)
    other = holder(tmp_path, Sharing.SHARED)
    with lent.lend((3,), Sharing.SHARED, 0) as first, lent.lend((3,), Sharing.SHARED, 0) as second:
        assert first == second == 3
    with pytest.raises(ExecutorError), lent.lend((3,), Sharing.EXCLUSIVE, 1):
        raise AssertionError
    with lent.lend((3, 5), Sharing.EXCLUSIVE, 0) as device:
        assert device == 5
    end(other)


def test_waiting_ends_when_a_device_becomes_free(tmp_path: Path) -> None:
    lent, clock = leases(tmp_path)
    other = holder(tmp_path, Sharing.EXCLUSIVE)
    real = clock.sleep

    def sleep(seconds: float) -> None:
        real(seconds)
        if clock.slept == 5:
            end(other)

    with Leases(tmp_path, sleep=sleep, clock=clock).lend((3,), Sharing.EXCLUSIVE, 60) as device:
        assert device == 3
    assert clock.slept == 5
    assert clock.now < 60
    with lent.lend((3,), Sharing.EXCLUSIVE, 0) as again:  # given back at the end of the block
        assert again == 3


def refused(lent: Leases, devices: list[int]) -> ExecutorError:
    with pytest.raises(ExecutorError, match="no healthy device is left") as caught:
        lent.lend(devices, Sharing.EXCLUSIVE, 1000).__enter__()
    return caught.value


@given(st.sets(st.integers(0, 7), min_size=1), st.sets(st.integers(0, 7)))
def test_unhealthy_devices_are_never_lent(
    tmp_path_factory: pytest.TempPathFactory, known: set[int], ill: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("leases")
    lent, clock = leases(folder)
    notes = {device: lent.take_out(device, f"reason {device}") for device in sorted(ill)}
    well = sorted(known - ill)
    if well:
        with lent.lend(sorted(known), Sharing.EXCLUSIVE, 0) as device:
            assert device == well[0]
    else:
        caught = refused(lent, sorted(known))
        assert all(f"device {device}: reason {device}" in caught.message for device in known)
        assert clock.now == 0  # there is nothing to wait for
        assert ".unhealthy" in caught.remedy
    for device, note in notes.items():
        note.unlink()
        assert lent.health(device) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_damaged_note_keeps_the_device_out(tmp_path: Path, text: str) -> None:
    lent, _ = leases(tmp_path)
    lent.take_out(2, "whatever").write_bytes(text.encode("latin-1"))
    found = lent.health(2)
    assert found is not None
    assert "note" in found.reason


def test_all_processes_of_a_machine_share_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NPUKB_NPU_LEASES", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("NPUKB_NPU_LEASES")
    assert default_folder().name == "npukb-npu-leases"
    with Leases(tmp_path / "new").lend((1,), Sharing.SHARED, 0):
        assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o1777
        assert (tmp_path / "new/device-1.lock").stat().st_mode & 0o444 == 0o444
