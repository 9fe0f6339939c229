"""Our own tasks, loaded once per test process: parsing 211 task files takes seconds, and many modules want them."""

from __future__ import annotations

from functools import cache

from npukernelbench.config import default_cache_dir
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import TaskRegistry, load_registry

__all__ = ["suite"]


@cache
def suite() -> TaskRegistry:
    """The suites of this distribution, without those of installed plugins."""
    return load_registry(Plugins.load(autoload=False), cache_dir=default_cache_dir())
