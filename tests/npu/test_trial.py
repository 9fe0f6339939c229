"""Trying a device out: the two kernels are right on the twin, and every finding names its remedy."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from npukb_npu import trial
from npukb_npu.machine import Device
from npukb_npu.trial import KERNELS, try_devices, try_folders, try_kernels
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.judge.executor import Finding, FindingStatus
from npukernelbench.nouns.execution import CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.testing import FakeExecutor

_LONG_S = 60.0


def test_both_kernels_are_right_on_the_twin() -> None:
    """Nothing of a device is proven by that, but that a failure there is not a fault of these kernels."""
    twin = TwinExecutor(TwinArgs())
    try:
        findings = list(try_kernels(twin))
    finally:
        twin.close()
    assert [(finding.name, finding.status) for finding in findings] == [
        ("vector kernel", FindingStatus.OK), ("cube kernel", FindingStatus.OK),
    ], findings  # fmt: skip


def test_what_is_expected_is_exact() -> None:
    for kernel in KERNELS:
        inputs = kernel.inputs()
        out = kernel.expected(inputs["x"], inputs["y"])
        assert out.dtype == np.float32
        assert (out == np.rint(out)).all()
        assert out.any()


@pytest.mark.parametrize(
    ("walled", "bare", "status", "detail", "remedy"),
    [
        ("", "", FindingStatus.OK, "memory there and back", ""),
        ("no node", "", FindingStatus.PROBLEM, "only outside of the walls: no node", "sandbox=off"),
        ("hangs", "hangs", FindingStatus.PROBLEM, "hangs", "npu-smi info -t health -i 6 -c 1"),
    ],
)
def test_devices(walled: str, bare: str, status: FindingStatus, detail: str, remedy: str) -> None:
    [finding] = try_devices([Device(0, 5, 6, 1)], lambda device: walled, lambda device: bare)
    assert (finding.name, finding.status) == ("device 0 answers", status)
    assert detail in finding.detail
    assert remedy in finding.remedy


def test_folders(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    good, bad = try_folders((("cache", tmp_path / "new/cache"), ("leases", file / "no")))
    assert (good.status, bad.status) == (FindingStatus.OK, FindingStatus.PROBLEM)
    assert "NPUKB_NPU_LEASES" in bad.remedy


class Slow(FakeExecutor):
    """Builds nothing before it was told that somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.building = threading.Event(), threading.Barrier(len(KERNELS) + 1)
        self.runs = 0

    def compile(self, request: CompileRequest) -> CompileResult:
        self.building.wait(_LONG_S)
        self.told.wait(_LONG_S)
        return super().compile(request)

    def run(self, request: RunRequest) -> Observation:
        self.runs += 1
        return super().run(request)


def test_kernels_are_built_side_by_side_while_devices_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would go on here if one waited for another; and what is waited for is said."""
    monkeypatch.setattr(trial, "_TELL_S", 0.01)
    slow, said = Slow(), list[str]()
    ill = Finding("device 0 answers", FindingStatus.PROBLEM, "hangs", "reset it")

    def meanwhile() -> list[Finding]:
        slow.building.wait(_LONG_S)  # all builds have begun
        return [ill]

    def say(line: str) -> None:
        said.append(line)
        slow.told.set()

    first, *kernels = try_kernels(slow, meanwhile=meanwhile, say=say)
    assert first == ill
    assert said[0].startswith("waiting for the build of the vector kernel and cube kernel: ")
    assert [(kernel.name, kernel.status, "not run" in kernel.detail) for kernel in kernels] == [
        ("vector kernel", FindingStatus.WARNING, True), ("cube kernel", FindingStatus.WARNING, True),
    ], kernels  # fmt: skip
    assert slow.runs == 0, "nothing is run on a device that does not answer"


def test_wrong_values_are_found() -> None:
    """An executor that computes nothing is not taken for a device that works."""
    findings = list(try_kernels(FakeExecutor()))
    assert {finding.status for finding in findings} == {FindingStatus.PROBLEM}
    assert all(finding.remedy for finding in findings)
