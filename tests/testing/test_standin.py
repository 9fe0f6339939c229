"""The stand-in of the toolkit: it is as strange as its opening comment says. Its libraries are called in-process."""

from __future__ import annotations

import ctypes
import shutil

import pytest

from npukernelbench.testing.fixtures import npukb_standin
from npukernelbench.testing.standin import PACKAGES, Chip, Machine

__all__ = ["npukb_standin"]


@pytest.fixture
def runtime(npukb_standin, tmp_path, monkeypatch):
    """A runtime library of its own, whose process has begun with nothing: ``runtime(nodes=(3, 5), HBM="4096")``."""

    def make(nodes=(0,), **environ):
        root = npukb_standin(nodes=nodes)
        monkeypatch.setenv("ASCEND_STANDIN_ROOT", str(root))
        for name, value in environ.items():
            known = name if name.startswith("ASCEND_") else f"ASCEND_STANDIN_{name}"
            monkeypatch.setenv(known, value)
        own = tmp_path / f"libacl_rt-{len(list(tmp_path.iterdir()))}.so"
        shutil.copy(root / "usr/local/Ascend/cann/lib64/libacl_rt.so", own)
        library = ctypes.CDLL(str(own))
        library.aclrtMalloc.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int)
        library.aclrtSetOpExecuteTimeOutV2.argtypes = (ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64))
        library.aclrtSynchronizeStreamWithTimeout.argtypes = (ctypes.c_void_p, ctypes.c_int32)
        return library

    return make


def malloc(library, size):
    return library.aclrtMalloc(ctypes.byref(ctypes.c_void_p()), size, 0)


def test_devices_are_indices_of_what_is_visible(runtime):
    library = runtime(nodes=(3, 5, 6), ASCEND_RT_VISIBLE_DEVICES="1,2,9")
    count = ctypes.c_uint32()
    library.aclrtGetDeviceCount(ctypes.byref(count))
    assert count.value == 2
    assert [library.aclrtSetDevice(index) for index in (0, 1, 2, 5)] == [0, 0, 107001, 107001]


def test_a_fault_poisons_its_process_and_no_other(runtime):
    library = runtime()
    assert library.aclrtSetDevice(0) == 0
    library.standin_raise(507015)
    assert library.aclrtSynchronizeStreamWithTimeout(None, 1000) == 507015
    assert malloc(library, 64) == 507015
    assert library.aclrtSynchronizeStreamWithTimeout(None, 1000) == 507015
    fresh = runtime()
    assert (fresh.aclrtSetDevice(0), malloc(fresh, 64)) == (0, 0)


def test_a_kernel_that_does_not_end_stays_unless_the_hardware_stops_it(runtime):
    stopped = runtime(HEALS_AFTER="2")
    stopped.aclrtSetDevice(0)
    stopped.aclrtSetOpExecuteTimeOutV2(500_000, ctypes.byref(ctypes.c_uint64()))
    stopped.standin_hang()
    assert stopped.aclrtSynchronizeStreamWithTimeout(None, 1000) == 507014
    assert runtime().aclrtSetDevice(0) == 0
    endless = runtime(HEALS_AFTER="2")
    endless.aclrtSetDevice(0)
    endless.standin_hang()
    assert endless.aclrtSynchronizeStreamWithTimeout(None, 1000) == 507046
    assert [runtime().aclrtSetDevice(0) for _ in range(3)] == [507033, 507033, 0]


def test_memory_is_one_budget(runtime):
    library = runtime(HBM="1000")
    assert [malloc(library, size) for size in (600, 500, 400)] == [0, 207001, 0]


@pytest.mark.parametrize(
    ("machine", "board", "mapping"),
    [
        (Machine(cards=(3,)), ("Chip Type", "Ascend", "Chip Name", "910B3"), "Ascend 910B3"),
        (Machine(chip=Chip.A3, per_card=2), ("NPU Name", "9392", "Chip Name", "Ascend910"), "Ascend 910"),
    ],
)
def test_what_npu_smi_says(machine, board, mapping):
    card, chip = machine.chips[-1]
    said = machine.ask(["npu-smi", "info", "-t", "board", "-i", str(card), "-c", str(chip)])
    assert all(word in said for word in board)
    assert ("NPU Name" in said) == (machine.chip is Chip.A3), "A2 has none"
    assert mapping in machine.ask(["npu-smi", "info", "-m"])
    assert machine.ask(["npu-smi", "info", "-t", "health", "-i", "77"]) == ""


def test_the_toolkits_python_has_what_its_scripts_import(npukb_standin):
    root = npukb_standin()
    assert {path.stem for path in (root / "lib/site").glob("*.py")} == set(PACKAGES)
    assert npukb_standin() == root, "made once"
    assert npukb_standin(packages=()) != root
