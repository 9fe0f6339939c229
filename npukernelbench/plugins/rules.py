"""What a plugin must keep to: the hooks it may implement, how, and for which version of the interface."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from npukernelbench import hookspecs
from npukernelbench.plugins.registry import Registration, did_you_mean

if TYPE_CHECKING:
    from pluggy import HookimplOpts

__all__ = ["PluginManager", "Rejected", "check_api_version", "check_hooks"]

#: What can carry pluggy's mark in a module.
_HOOKABLE = (FunctionType, MethodType, classmethod, staticmethod)


class PluginManager(pluggy.PluginManager):
    """pluggy's, which finds hooks in modules sooner.

    Most names of a module are what it imports. pluggy looks up each of them as an attribute that may be computed, which
    took half of the time of loading all plugins.
    """

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> HookimplOpts | None:
        """The options of the hook ``name`` that ``plugin`` implements, or None."""
        if isinstance(plugin, ModuleType) and not isinstance(vars(plugin).get(name), _HOOKABLE):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class Rejected(Exception):  # noqa: N818
    """A plugin does not keep to the interface.

    ``offers`` are the registrations seen so far; ``complete`` says that there are no others.
    """

    def __init__(self, message: str, *, offers: Sequence[Registration] = (), complete: bool = False) -> None:
        super().__init__(message)
        self.offers = tuple(offers)
        self.complete = complete


def check_hooks(manager: pluggy.PluginManager, plugin: object) -> None:
    """Rejected when the plugin implements an unknown hook, wraps one, or has a hook's name without the decorator."""
    known = _hooks(manager.project_name)
    for name in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, name)
        if options is None:
            # pluggy would leave it out without a word.
            if name in known:
                raise Rejected(f"{name} lacks the decorator @hookimpl (from npukernelbench import hookimpl)")
            continue
        hook_name = options.get("specname") or name
        # pluggy's own mark for a hook that may not exist, for plugins that serve several versions.
        if hook_name not in known and not options.get("optionalhook"):
            guess = did_you_mean(hook_name, known) or f"hooks: {', '.join(known)}"
            raise Rejected(f"there is no hook {hook_name!r}; {guess}")
        # A wrapper runs around the hooks of other plugins, so that its faults would be theirs.
        if options.get("wrapper") or options.get("hookwrapper"):
            raise Rejected(f"{name} is a hook wrapper, which this interface does not accept")


@cache
def _hooks(project: str) -> tuple[str, ...]:
    """The hooks that plugins may implement."""
    manager = pluggy.PluginManager(project)
    return tuple(name for name in dir(hookspecs) if manager.parse_hookspec_opts(hookspecs, name) is not None)


def check_api_version(plugin: object) -> None:
    """Rejected when the plugin's ``NPUKB_PLUGIN_API`` does not admit this harness's interface."""
    needed = getattr(plugin, "NPUKB_PLUGIN_API", None)
    if needed is not None and not _admits(needed, (hookspecs.API_VERSION,)):
        raise Rejected(f"needs plugin API {needed}, this harness offers {hookspecs.API_VERSION}")


_COMPARISONS: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}
)


def _admits(requirement: object, version: tuple[int, ...]) -> bool:
    """Whether comma-joined comparisons such as ``>=1,<2`` all hold for ``version``; ``1`` and ``1.0`` are equal."""
    comparisons = requirement.split(",") if isinstance(requirement, str) else []
    matches = [re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*", text) for text in comparisons]
    if not matches or None in matches:
        raise Rejected(f"NPUKB_PLUGIN_API = {requirement!r} is not of the form '>=1,<2'")
    return all(_holds(match[1], match[2], version) for match in matches if match)


def _holds(comparison: str, bound: str, version: tuple[int, ...]) -> bool:
    numbers = tuple(int(part) for part in bound.split("."))
    # Tuples of other lengths are never equal to Python.
    length = max(len(numbers), len(version))
    left, right = (part + (0,) * (length - len(part)) for part in (version, numbers))
    return _COMPARISONS[comparison](left, right)
