"""Trying a device out: the two kernels are right on the twin, and every finding names its remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npukb_npu.machine import Device
from npukb_npu.trial import KERNELS, try_devices, try_folders, try_kernels
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.judge.executor import FindingStatus
from npukernelbench.testing import FakeExecutor


def test_both_kernels_are_right_on_the_twin() -> None:
    """Nothing of a device is proven by that, but that a failure there is not a fault of these kernels."""
    twin = TwinExecutor(TwinArgs())
    try:
        found = list(try_kernels(twin))
    finally:
        twin.close()
    assert [(one.name, one.status) for one in found] == [
        ("vector kernel", FindingStatus.OK), ("cube kernel", FindingStatus.OK),
    ], found  # fmt: skip


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
    [found] = try_devices([Device(0, 5, 6, 1)], lambda device: walled, lambda device: bare)
    assert (found.name, found.status) == ("device 0 answers", status)
    assert detail in found.detail
    assert remedy in found.remedy


def test_folders(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    good, bad = try_folders((("cache", tmp_path / "new/cache"), ("leases", file / "no")))
    assert (good.status, bad.status) == (FindingStatus.OK, FindingStatus.PROBLEM)
    assert "NPUKB_NPU_LEASES" in bad.remedy


def test_wrong_values_are_found() -> None:
    """An executor that computes nothing is not taken for a device that works."""
    found = list(try_kernels(FakeExecutor()))
    assert {one.status for one in found} == {FindingStatus.PROBLEM}
    assert all(one.remedy for one in found)
