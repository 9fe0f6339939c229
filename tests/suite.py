"""Our own tasks, loaded once per test process: loading 211 task files takes a second, and many modules want them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry

__all__ = ["suite"]


@cache
def suite() -> Mapping[str, Task]:
    """The suites of this distribution, without those of installed plugins."""
    return load_registry(Plugins.load(autoload=False))
