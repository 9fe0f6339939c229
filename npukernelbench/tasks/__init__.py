"""Tasks: YAML in, :class:`~npukernelbench.nouns.Task` out; which there are, which are meant, and what their inputs
hold.

Importing this package costs nothing: the names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.tasks.inputs import generate_inputs as generate_inputs
    from npukernelbench.tasks.load import load_task as load_task
    from npukernelbench.tasks.registry import TaskRegistry as TaskRegistry
    from npukernelbench.tasks.registry import load_registry as load_registry
    from npukernelbench.tasks.select import Selected as Selected
    from npukernelbench.tasks.validate import validate_task as validate_task

__all__ = ["Selected", "TaskRegistry", "generate_inputs", "load_registry", "load_task", "validate_task"]

_HOMES = {
    "Selected": "select",
    "TaskRegistry": "registry",
    "generate_inputs": "inputs",
    "load_registry": "registry",
    "load_task": "load",
    "validate_task": "validate",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"npukernelbench.tasks.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
