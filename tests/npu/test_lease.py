"""Leases, with real processes for the locks and a clock of the test's own for waiting."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_npu.lease import LONGEST_QUARANTINE_S, Leases, Sharing, default_folder
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
    return Leases(folder, sleep=clock.sleep, clock=clock, wall=clock), clock


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

    with Leases(tmp_path, sleep=sleep, clock=clock, wall=clock).lend((3,), Sharing.EXCLUSIVE, 60) as device:
        assert device == 3
    assert clock.slept == 5
    assert clock.now < 60
    with lent.lend((3,), Sharing.EXCLUSIVE, 0) as again:  # given back at the end of the block
        assert again == 3


def refused(lent: Leases, devices: list[int], timeout_s: float = 1.0) -> ExecutorError:
    with pytest.raises(ExecutorError) as caught:
        lent.lend(devices, Sharing.EXCLUSIVE, timeout_s, lambda device: "silent").__enter__()
    return caught.value


@given(st.sets(st.integers(0, 7), min_size=1), st.sets(st.integers(0, 7)))
def test_devices_in_quarantine_are_not_lent(
    tmp_path_factory: pytest.TempPathFactory, known: set[int], ill: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("leases")
    lent, _ = leases(folder)
    for device in sorted(ill):
        lent.take_out(device, f"reason {device}")
    well = sorted(known - ill)
    if well:
        with lent.lend(sorted(known), Sharing.EXCLUSIVE, 0) as device:
            assert device == well[0]
    else:
        caught = refused(lent, sorted(known))
        assert all(f"device {device}: reason {device}" in caught.message for device in known)
        assert "as soon as a probe succeeds" in caught.remedy


def test_a_quarantine_is_bounded_and_ends_with_a_probe(tmp_path: Path) -> None:
    """Nobody deletes a note: whoever wants the device probes it when its time is over."""
    lent, clock = leases(tmp_path)
    lent.take_out(3, "hung")
    probes: list[float] = []

    def probe(device: int) -> str:
        assert device == 3
        probes.append(clock.now)
        return "still hung" if len(probes) < 3 else ""

    with lent.lend((3,), Sharing.SHARED, 600, probe) as device:
        assert device == 3
    assert probes == pytest.approx([5, 15, 35], abs=0.2)  # twice as long each time
    assert lent.quarantine(3) is None
    lengths = [lent.take_out(4, "hung").until_s - clock.now for _ in range(12)]
    assert lengths[:3] == [5, 10, 20]
    assert lengths[-1] == LONGEST_QUARANTINE_S


@pytest.mark.parametrize("sharing", Sharing)
def test_a_probe_that_raises_gives_the_device_back(tmp_path: Path, sharing: Sharing) -> None:
    def broken(device: int) -> str:
        raise OSError("no process")

    lent, clock = leases(tmp_path)
    lent.take_out(3, "hung")
    clock.now = 10
    with pytest.raises(OSError, match="no process"), lent.lend((3,), sharing, 0, broken):
        raise AssertionError
    with lent.lend((3,), Sharing.EXCLUSIVE, 0) as device:
        assert device == 3


def test_a_device_taken_between_probe_and_lease_is_waited_for_no_longer_than_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, clock = fcntl.flock, Clock()
    lent = Leases(tmp_path, sleep=clock.sleep, clock=clock, wall=clock)
    lent.take_out(3, "hung")
    clock.now = 10

    def contended(handle: int, how: int) -> None:
        if how & fcntl.LOCK_SH:
            assert how & fcntl.LOCK_NB, "waits without an end"
            raise BlockingIOError
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", contended)
    with pytest.raises(ExecutorError, match="no device became free within 1 s"), lent.lend((3,), Sharing.SHARED, 1):
        raise AssertionError


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff", '{"device": 2, "until_s": "soon"}'])
def test_a_damaged_note_costs_a_probe_and_no_device(tmp_path: Path, text: str) -> None:
    lent, _ = leases(tmp_path)
    with lent.lend((2,), Sharing.SHARED, 0):
        pass
    (tmp_path / "device-2.quarantine").write_bytes(text.encode("latin-1"))
    asked: list[int] = []
    with lent.lend((2,), Sharing.EXCLUSIVE, 0, lambda device: asked.append(device) or "") as device:
        assert device == 2
    assert asked == [2]


def test_devices_that_never_answer_are_not_waited_for(tmp_path: Path) -> None:
    """A run of hundreds of samples must not wait for each of them as long as a lease may take."""
    lent, clock = leases(tmp_path)
    lent.take_out(3, "gone")
    caught = refused(lent, [3], 3600)
    assert "no device of 3 answers: device 3: silent, 4 probes failed" in caught.message
    assert clock.now == pytest.approx(35, abs=0.3)
    refused(lent, [3], 3600)
    assert clock.now == pytest.approx(35, abs=0.3), "the next sample is told at once"


def test_no_device_is_said_at_once(tmp_path: Path) -> None:
    lent, clock = leases(tmp_path)
    with pytest.raises(ExecutorError, match="there is no device to use"), lent.lend((), Sharing.SHARED, 60):
        raise AssertionError
    assert clock.now == 0


def test_all_processes_of_a_machine_share_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NPUKB_NPU_LEASES", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("NPUKB_NPU_LEASES")
    assert default_folder().name == "npukb-npu-leases"
    with Leases(tmp_path / "new").lend((1,), Sharing.SHARED, 0):
        assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o1777
        assert (tmp_path / "new/device-1.lock").stat().st_mode & 0o444 == 0o444
