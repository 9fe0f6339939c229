"""A fake toolkit and a fake device, built with the system's compiler. They are fakes: nothing of them is shipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from npukb_npu.discovery import Site
from npukb_npu.executor import NpuArgs, NpuExecutor
from npukb_npu.lease import Leases

FAKE = Path(__file__).parent / "fake"

SMI = {
    ("npu-smi", "info", "-l"): "\tNPU ID                         : 0\n",
    ("npu-smi", "info", "-t", "board", "-i", "0", "-c", "0"): "\tChip Name : 910B3\n",
    ("npu-smi", "info", "-t", "health", "-i", "0"): "\tHealth                         : OK\n",
    ("cmake", "--version"): "cmake version 3.25.1\n",
}


@pytest.fixture(scope="session")
def fake_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with a fake toolkit, a fake driver and fake device nodes."""
    if not (shutil.which("cmake") and shutil.which("c++") and shutil.which("cc")):
        pytest.skip("needs cmake and a system compiler to build the fake toolkit")
    root = tmp_path_factory.mktemp("fake-root")
    home = root / "usr/local/Ascend/cann"
    for folder in ("bin", "lib64", "compiler/tikcpp/ascendc_kernel_cmake", "share/info/runtime", "include/acl"):
        (home / folder).mkdir(parents=True)
    fake = shutil.copytree(FAKE, home / "fake")
    (home / "set_env.sh").touch()
    (home / "share/info/runtime/version.info").write_text("Version=9.1.0\n")
    bisheng = home / "bin/bisheng"
    bisheng.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}/fake_bisheng.py" "$@"\n')
    bisheng.chmod(0o755)
    for library in ("libacl_rt.so", "libnnopbase.so"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", home / "lib64" / library, FAKE / "fake_acl.c"], check=True)
    (home / "include/acl/acl.h").write_text((FAKE / "fake_acl.h").read_text())
    for file in (FAKE / "cmake").iterdir():
        (home / "compiler/tikcpp/ascendc_kernel_cmake" / file.name).write_text(
            file.read_text().replace("${FAKE_ASC_FOLDER}/..", str(fake))
        )
    (root / "usr/local/Ascend/driver").mkdir()
    (root / "usr/local/Ascend/driver/version.info").write_text("Version=25.2.0\n")
    (root / "dev").mkdir()
    for node in ("davinci0", "davinci_manager", "devmm_svm", "hisi_hdc"):
        (root / "dev" / node).touch()
    return root


INSTALLED = {"torch": "2.12.0", "torch-npu": "2.12.0"}


def site_of(root: Path, installed: Mapping[str, str] = INSTALLED, **environ: str) -> Site:
    """The fake machine, with more environment."""
    home = root / "usr/local/Ascend/cann"
    return Site(
        environ={
            "ASCEND_HOME_PATH": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(home / "fake/python"),  # where a fake torch_npu lies
            **environ,
        },
        root=root,
        ask=lambda command: SMI.get(tuple(command), ""),
        installed=lambda package: installed.get(package, ""),
    )


@pytest.fixture
def site(fake_root: Path) -> Site:
    """The fake machine, with all that a device needs."""
    return site_of(fake_root)


@pytest.fixture
def npu(fake_root: Path, tmp_path: Path, build_cache: Path) -> Iterator[Callable[..., NpuExecutor]]:
    """Makes executors on the fake device: ``npu(profile="off", ASCEND_FAKE_STATUS="1")``."""
    made: list[NpuExecutor] = []

    def make(
        *, environ: dict[str, str] | None = None, installed: dict[str, str] | None = None, **args: Any
    ) -> NpuExecutor:
        values = {"profile": "off", "sampling_s": 0.01, "warmup_s": 0.0, "cache_dir": build_cache, "threads": 1, **args}
        executor = NpuExecutor(
            NpuArgs.model_validate(values),
            site=site_of(fake_root, INSTALLED if installed is None else installed, **(environ or {})),
            leases=Leases(tmp_path / "leases"),
        )
        made.append(executor)
        return executor

    yield make
    for executor in made:
        executor.close()


@pytest.fixture(scope="session")
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of builds for all tests."""
    return tmp_path_factory.mktemp("npu-builds")
