"""What all tests share of our own tasks and of the machine's builds: making either anew takes seconds."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

from npukernelbench.config import default_cache_dir
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import TaskRegistry, load_registry
from npukernelbench.tasks.cache import cache_file

__all__ = ["MACHINE", "furnished", "suite"]

#: The machine's cache. Some tests have one of their own.
MACHINE = default_cache_dir()
#: Folders in it with what the twin builds.
_BUILDS = ("cxx", "zig", "twin", "twin-programs", "twin-host", "twin-host-programs")


@cache
def suite() -> TaskRegistry:
    """The suites of this distribution, without those of installed plugins."""
    return load_registry(Plugins.load(autoload=False), cache_dir=MACHINE)


@cache
def _parsed() -> Path:
    """The file with our tasks, parsed."""
    [ours] = Plugins.load(autoload=False).tasks.values()
    folder = ours.load()
    assert suite()
    return cache_file(MACHINE / "tasks", folder() if callable(folder) else folder)


def furnished(cache_dir: Path) -> Path:
    """``cache_dir``: a cache of a test's own with nothing in it but our tasks and the machine's builds."""
    (cache_dir / "tasks").mkdir(parents=True)
    shutil.copy(_parsed(), cache_dir / "tasks")
    for builds in _BUILDS:
        (MACHINE / builds).mkdir(parents=True, exist_ok=True)
        (cache_dir / builds).symlink_to(MACHINE / builds)
    return cache_dir
