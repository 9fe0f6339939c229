"""The tasks that there are, as every command of the trainer looks them up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.plugins import Plugins
    from npukernelbench.tasks import TaskRegistry

__all__ = ["known_tasks"]


def known_tasks(plugins: Plugins, include: Iterable[Path] = ()) -> TaskRegistry:
    """Every task that is installed, and those of the folders ``include``, out of the harness's own cache where that
    has them.
    """
    from npukernelbench.config import resolve
    from npukernelbench.tasks import load_registry

    return load_registry(plugins, tuple(include), cache_dir=resolve(file=None, options={}).cache_dir)
