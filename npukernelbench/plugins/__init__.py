"""Plugins: loading them, the rules that they keep to, and the registries of what they offer."""

from __future__ import annotations

from npukernelbench.plugins.loading import PluginInfo, Plugins
from npukernelbench.plugins.registry import Quarantined, Register, Registration, Registry

__all__ = ["PluginInfo", "Plugins", "Quarantined", "Register", "Registration", "Registry"]
