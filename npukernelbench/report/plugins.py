"""Plugins as lines for people and objects for machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from npukernelbench.console import Paint
from npukernelbench.nouns.codec import to_json

if TYPE_CHECKING:
    from npukernelbench.plugins import PluginInfo, Plugins

__all__ = ["plugins_json", "plugins_lines"]


def plugins_json(plugins: Plugins) -> dict[str, object]:
    """``{"installed": [...], "quarantined": [...]}``; a quarantined plugin has its ``error`` and ``traceback``."""
    return {
        "installed": [to_json(info) for info in plugins.installed],
        "quarantined": [
            {
                "name": plugin.name,
                "distribution": plugin.distribution,
                "version": plugin.version,
                "error": plugin.error,
                "traceback": plugin.traceback,
            }
            for plugin in plugins.quarantined
        ],
    }


def plugins_lines(plugins: Plugins, paint: Callable[[str, Paint], str]) -> Iterator[str]:
    """Installed plugins in loading order, then quarantined ones with their tracebacks."""
    for info in plugins.installed:
        yield f"{paint(info.name, Paint.BOLD)}  {_origin(info)}"
        for kind, names in info.provides.items():
            yield f"    {kind}: {', '.join(names)}"
        # All that a plugin registers is listed above, but for commands.
        others = [hook for hook in info.hooks if not hook.startswith("register_") or hook == "register_commands"]
        if others:
            yield f"    hooks: {', '.join(others)}"
    for plugin in plugins.quarantined:
        yield ""
        origin = f"{plugin.distribution} {plugin.version}".strip()
        yield f"{paint(plugin.name, Paint.BAD)}  {origin}  quarantined: {plugin.error}"
        yield from (f"    {line}" for line in plugin.traceback.rstrip().splitlines())
    if plugins.quarantined:
        yield ""
        yield "Quarantined plugins are not used. Repair or remove them, or leave them out with -p no:NAME."


def _origin(info: PluginInfo) -> str:
    origin = f"{info.distribution} {info.version}".strip()
    return f"{origin} (first-party)" if info.first_party else origin
