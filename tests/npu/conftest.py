"""The stand-in toolkit of the testing kit, and executors on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from npukb_npu.discovery import Site
from npukb_npu.executor import NpuArgs, NpuExecutor
from npukb_npu.lease import Leases
from npukernelbench.testing.fixtures import npukb_standin
from npukernelbench.testing.standin import Machine, Toolkit

__all__ = ["npukb_standin"]


@pytest.fixture(scope="session")
def standin_root(npukb_standin: Callable[..., Path]) -> Path:
    """A root folder with the stand-in's toolkit, driver and one device."""
    return npukb_standin()


INSTALLED = {"torch": "2.12.0", "torch-npu": "2.12.0"}


def site_of(
    root: Path, installed: Mapping[str, str] = INSTALLED, machine: Machine | None = None, **environ: str
) -> Site:
    """The stand-in's machine, with more environment."""
    home = next(path for toolkit in Toolkit if (path := root / toolkit.home).is_dir())
    return Site(
        environ={
            "ASCEND_HOME_PATH": str(home),
            "ASCEND_STANDIN_ROOT": str(root),
            "PATH": os.pathsep.join((str(root / "bin"), str(home / "bin"), os.environ["PATH"])),
            "PYTHONPATH": str(home / "standin/python"),  # where the stand-in of torch_npu lies
            **environ,
        },
        root=root,
        ask=(machine or Machine()).ask,
        installed=lambda package: installed.get(package, ""),
    )


@pytest.fixture
def site(standin_root: Path) -> Site:
    """The stand-in's machine, with all that a device needs."""
    return site_of(standin_root)


@pytest.fixture
def npu(standin_root: Path, tmp_path: Path, build_cache: Path) -> Iterator[Callable[..., NpuExecutor]]:
    """Makes executors on the stand-in: ``npu(profile="off", environ={"ASCEND_STANDIN_STATUS": "1"})``."""
    made: list[NpuExecutor] = []

    def make(
        *,
        environ: dict[str, str] | None = None,
        installed: dict[str, str] | None = None,
        machine: Machine | None = None,
        root: Path = standin_root,
        **args: Any,
    ) -> NpuExecutor:
        values = {"profile": "off", "sampling_s": 0.01, "warmup_s": 0.0, "cache_dir": build_cache, "threads": 1, **args}
        executor = NpuExecutor(
            NpuArgs.model_validate(values),
            site=site_of(root, INSTALLED if installed is None else installed, machine, **(environ or {})),
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
