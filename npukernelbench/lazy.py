"""Packages whose names load on first use, module by module: importing such a package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

__all__ = ["lazily", "names_of"]


def names_of(modules: Mapping[str, Iterable[str]]) -> list[str]:
    """The ``__all__`` of a package that offers names of some of its modules."""
    return sorted(name for names in modules.values() for name in names)


def lazily(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """The ``__getattr__`` of such a package; a name of a module that begins with a dot is that of a neighbour."""
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f".{homes[name]}", package), name)
        # The next access finds the name without this function.
        setattr(sys.modules[package], name, found)
        return found

    return load
