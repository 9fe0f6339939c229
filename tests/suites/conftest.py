"""An interpreter with torch, and an invented suite imported by it once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from npukb_suites.modelfiles import KernelBench
from npukb_suites.store import Suite, add_suite, tasks_folder
from npukb_suites.torch_client import VARIABLE, torch_host
from npukernelbench.nouns import Task
from npukernelbench.tasks.load import load_task
from tests.suite import furnished

INVENTED = Path(__file__).parent / "invented"


@cache
def torch_python() -> str:
    """An interpreter that has torch: this one, or the one that is named; empty without. scripts/test-models has one."""
    candidates = [*([sys.executable] if find_spec("torch") else []), os.environ.get(VARIABLE, "")]
    return next(
        (candidate for candidate in candidates if candidate and Path(candidate).exists() and _has_torch(candidate)), ""
    )


def _has_torch(python: str) -> bool:
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    return subprocess.run((python, "-c", code), check=False).returncode == 0


#: Where it is found, before tests clean the environment.
TORCH = torch_python()
needs_torch = pytest.mark.skipif(not TORCH, reason=f"no interpreter with torch; {VARIABLE} names one")


@pytest.fixture(scope="module")
def with_torch() -> Iterator[None]:
    """The interpreter with torch, for the module's tests; its process ends with them."""
    patch = pytest.MonkeyPatch()
    patch.setenv(VARIABLE, TORCH)
    yield
    torch_host().close()
    patch.undo()


@pytest.fixture(scope="module")
def imported(with_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    """The invented suite as tasks."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NPUKB_CACHE_DIR", str(furnished(tmp_path_factory.mktemp("cache"))))
    yield add_suite("invented", "kernelbench", KernelBench(), INVENTED, say=lambda _: None)
    patch.undo()


@pytest.fixture
def task_of(imported: Suite) -> Callable[[str], Task]:
    """The task of a file of the invented suite, by its path."""

    def find(place: str) -> Task:
        task, _ = load_task(tasks_folder(imported.name) / imported.tasks[place] / "task.yaml")
        return task

    return find
