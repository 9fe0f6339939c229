"""pytest fixtures for plugin authors. Not loaded by itself: ``pytest -p npukernelbench.testing.fixtures``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.plugins import Plugins
from npukernelbench.run.plan import RunPlan
from npukernelbench.testing.run import FakePlugin, RecordingObserver, fake_plugins, make_plan

__all__ = ["npukb_fakes", "npukb_observer", "npukb_plan", "npukb_plugins", "npukb_run_dir", "npukb_standin"]


@pytest.fixture
def npukb_fakes() -> FakePlugin:
    """The plugin behind the names ``fake``; set its ``backend`` and ``executor`` to what the test needs."""
    return FakePlugin()


@pytest.fixture
def npukb_plugins(npukb_fakes: FakePlugin) -> Plugins:
    """The built-in plugins and the fakes. Add your own with ``npukb_plugins.register(my_plugin, "my-plugin")``."""
    return fake_plugins(npukb_fakes)


@pytest.fixture
def npukb_run_dir(tmp_path: Path) -> Path:
    """A folder for one run, which does not exist yet."""
    return tmp_path / "run"


@pytest.fixture
def npukb_plan(npukb_run_dir: Path) -> Callable[..., RunPlan]:
    """Makes run plans: ``npukb_plan(model="my-model", samples=3)``."""

    def make(directory: Path = npukb_run_dir, **changes: Any) -> RunPlan:
        return make_plan(directory, **changes)

    return make


@pytest.fixture
def npukb_observer() -> RecordingObserver:
    """An observer that remembers what it is told."""
    return RecordingObserver()


# Building the stand-in compiles libraries: one session needs each kind of it once.
@pytest.fixture(scope="session")
def npukb_standin(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes roots with a stand-in of the toolkit: ``npukb_standin(nodes=(3, 5))``. The same root for the same
    arguments. Skips where there is no CMake or compiler.
    """
    from npukernelbench.testing.standin import PACKAGES, Toolkit, install

    if not all(shutil.which(tool) for tool in ("cmake", "c++", "cc")):
        pytest.skip("needs cmake and a system compiler to build the stand-in")
    made: dict[object, Path] = {}

    def make(
        nodes: Sequence[int] = (0,), packages: Sequence[str] = PACKAGES, toolkit: Toolkit = Toolkit.CANN_91
    ) -> Path:
        # Sequences as tuples: a caller may give lists, which no mapping takes as keys.
        key = (tuple(nodes), tuple(packages), toolkit)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("standin-root")
            install(made[key], nodes=nodes, packages=packages, toolkit=toolkit)
        return made[key]

    return make
