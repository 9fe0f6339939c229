"""Tasks: YAML in, :class:`~npukernelbench.nouns.Task` out; which there are, which are meant, and what their inputs
hold.

Importing this package costs nothing: the names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.lazy import lazily, names_of

if TYPE_CHECKING:
    from npukernelbench.tasks.inputs import generate_inputs as generate_inputs
    from npukernelbench.tasks.load import load_task as load_task
    from npukernelbench.tasks.registry import TaskRegistry as TaskRegistry
    from npukernelbench.tasks.registry import load_registry as load_registry
    from npukernelbench.tasks.select import Selected as Selected
    from npukernelbench.tasks.validate import validate_task as validate_task

_MODULES = {
    "inputs": ("generate_inputs",),
    "load": ("load_task",),
    "registry": ("TaskRegistry", "load_registry"),
    "select": ("Selected",),
    "validate": ("validate_task",),
}
__all__ = names_of(_MODULES)
__getattr__ = lazily(__name__, _MODULES)
