"""What plugins offer, by kind and name: registrations with lazy targets, and the read-only mapping that finds them.

A registration is a name, a target and where it came from. The target is loaded when it is asked for, never before, so
that listing imports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from npukernelbench.errors import NpukbError, PluginError, UsageError

__all__ = ["BUILTIN", "Distributed", "Quarantined", "Register", "Registration", "Registry", "canonical", "did_you_mean"]

#: Name of the plugin that holds the harness's own registrations.
BUILTIN = "builtin"

_NAME = re.compile(r"[\w.+/:-]+")
_LAZY_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class Register(Protocol):
    """What a registration hook is handed."""

    def __call__(self, name: str, target: object, *, aliases: Sequence[str] = (), description: str = "") -> None:
        """Offer ``target``, an object or a lazy ``"module:attr"``, under ``name`` and ``aliases``."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One thing a plugin offers. ``kind`` is singular (``backend``); ``distribution`` and ``version`` may be empty."""

    name: str
    target: object
    plugin: str
    distribution: str
    version: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    kind: str = ""

    @property
    def origin(self) -> str:
        """Where it comes from, in words: ``plugin 'x' of x-package 1.0``."""
        return describe_origin(self.plugin, self.distribution, self.version)

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.name, *self.aliases)

    def load(self) -> object:
        """The target itself; a lazy one is imported now. PluginError names the plugin and the cause when that fails."""
        if not isinstance(self.target, str):
            return self.target
        module_name, _, attributes = self.target.partition(":")
        try:
            return _import(module_name, attributes)
        except (Exception, SystemExit) as error:  # boundary: a plugin's module may raise anything while it is imported
            raise PluginError(
                f"{self.kind or 'registration'} {self.name!r} of {self.origin} cannot be loaded from {self.target!r}: "
                f"{type(error).__name__}: {error}",
                remedy="install what the plugin needs, or report this to its author",
            ) from error

    def instance(self) -> object:
        """The target, or what it constructs without arguments where it is a class."""
        target = self.load()
        return self.construct(target) if isinstance(target, type) else target

    def construct(self, make: Callable[..., object], *arguments: object) -> object:
        """Boundary: what a plugin's class constructs. PluginError naming plugin and cause when that raises."""
        try:
            return make(*arguments)
        # Our own errors explain themselves, and not every one is a fault of the plugin.
        except NpukbError:
            raise
        except (Exception, SystemExit) as error:
            raise self.broken(f"cannot be constructed: {type(error).__name__}: {error}") from error

    def broken(
        self, fault: str, *, remedy: str = "see docs/plugins.md, or report this to the plugin's author"
    ) -> PluginError:
        """The error that says what is wrong with the target: ``lacks 'render'``."""
        return PluginError(f"{self.kind or 'registration'} {self.name!r} of {self.origin} {fault}", remedy=remedy)


def _import(module_name: str, attributes: str) -> object:
    from importlib import import_module

    target: object = import_module(module_name)
    for attribute in attributes.split("."):
        target = getattr(target, attribute)
    return target


@dataclass(frozen=True, slots=True)
class Distributed:
    """A plugin by name, and the distribution that it is of; ``distribution`` and ``version`` may be empty."""

    name: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return describe_origin(self.name, self.distribution, self.version)


@dataclass(frozen=True, slots=True)
class Quarantined(Distributed):
    """A plugin that is set aside: it failed to import or to validate, or a hook of it raised.

    ``attempted`` lists what it offered before it failed, as ``(kind, name)``; ``complete`` says that there was nothing
    else.
    """

    error: str
    traceback: str
    attempted: frozenset[tuple[str, str]] = frozenset()
    complete: bool = False

    def could_provide(self, kind: str, name: str) -> bool:
        """Whether the plugin would, or for all that is known might, have offered ``name``."""
        return not self.complete or self.offered(kind, name)

    def offered(self, kind: str, name: str) -> bool:
        """Whether the plugin had offered ``name`` when it failed."""
        return (kind, canonical(name)) in self.attempted


class Registry(Mapping[str, Registration]):
    """Everything of one kind. Keys are primary names in sorted order; look-ups take aliases and any spelling.

    Only :class:`~npukernelbench.plugins.Plugins` adds and removes.
    """

    def __init__(self, kind: str, quarantined: Callable[[], Sequence[Quarantined]] = tuple) -> None:
        self.kind = kind
        self._registrations: list[Registration] = []
        self._by_name: dict[str, Registration] = {}
        self._quarantined = quarantined

    def __getitem__(self, name: str) -> Registration:
        return self._by_name[canonical(name)]

    def __iter__(self) -> Iterator[str]:
        # By name, as an alias leads to the same registration again.
        return iter(sorted({registration.name for registration in self._by_name.values()}))

    def __len__(self) -> int:
        return len({registration.name for registration in self._by_name.values()})

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {list(self)})"

    def find(self, name: str) -> Registration:
        """The registration called ``name``; ``_`` and ``-`` and upper and lower case are alike, aliases count.

        UsageError says what was meant, and which quarantined plugin could have offered it; its traceback is a detail.
        """
        try:
            return self[name]
        except KeyError:
            raise self._unknown(name) from None

    def _unknown(self, name: str) -> UsageError:
        guess = did_you_mean(name, [n for r in self._by_name.values() for n in r.names])
        suspects = [plugin for plugin in self._quarantined() if plugin.could_provide(self.kind, name)]
        if guess:
            # A near name is the likelier reason than a plugin that might have offered anything.
            suspects = [plugin for plugin in suspects if plugin.offered(self.kind, name)]
        # `rules` is the one kind whose name is a plural.
        message = f"there {'are' if self.kind.endswith('s') else 'is'} no {self.kind} {name!r}"
        for plugin in suspects:
            message += f"; {plugin.origin} could have provided it but is quarantined: {plugin.error.splitlines()[0]}"
        known = ", ".join(self) or "none is installed"
        repair = "repair or update the quarantined plugin (npukb plugins shows more); " if suspects else ""
        return UsageError(
            message,
            remedy=f"{f'{guess} ' if guess else ''}{repair}known: {known}",
            detail="\n".join(plugin.traceback.rstrip() for plugin in suspects),
        )

    def holder(self, offer: Registration) -> Registration | None:
        """The registration that already has one of the offer's names and does not give way; only a built-in does."""
        for name in offer.names:
            other = self._by_name.get(canonical(name))
            if other is not None and (other.plugin != BUILTIN or offer.plugin == BUILTIN):
                return other
        return None

    def add(self, offer: Registration) -> tuple[Registration, ...]:
        """Enter an offer that has no :meth:`holder`; return the built-ins it takes the place of."""
        replaced = [other for name in offer.names if (other := self._by_name.get(canonical(name)))]
        self._registrations.append(offer)
        self._rebuild()
        return tuple({other.name: other for other in replaced}.values())

    def remove_plugin(self, plugin: str) -> None:
        """Take back what a plugin registered; a built-in it replaced is there again."""
        self._registrations = [registration for registration in self._registrations if registration.plugin != plugin]
        self._rebuild()

    def _rebuild(self) -> None:
        # The last one of a name counts: a plugin hides a built-in, and uncovers it when it goes.
        self._by_name = {canonical(name): r for r in self._registrations for name in r.names}


def check_offer(name: object, target: object, aliases: object) -> None:
    """TypeError or ValueError when a registration is malformed, so that the plugin at fault is named at once."""
    if not isinstance(aliases, (tuple, list)):
        raise TypeError(f"aliases of {name!r} must be a list of names, not {type(aliases).__name__}")
    for text in (name, *aliases):
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            raise ValueError(f"{text!r} cannot be a name; use letters, digits, '.', '_', '-', '+', '/', ':'")
    if isinstance(target, str) and not _LAZY_TARGET.fullmatch(target):
        raise ValueError(f"lazy target {target!r} of {name!r} is not of the form 'package.module:attribute'")


def canonical(name: str) -> str:
    """The spelling under which names are compared."""
    return name.strip().lower().replace("_", "-")


def describe_origin(plugin: str, distribution: str, version: str) -> str:
    """A plugin in words, with its distribution when it has one."""
    if plugin == BUILTIN:
        return "the harness itself"
    return f"plugin {plugin!r}" + (f" of {distribution} {version}".rstrip() if distribution else "")


def did_you_mean(name: str, choices: Sequence[str]) -> str:
    """``did you mean 'a' or 'b'?`` for the nearest choices, or empty text when nothing is near."""
    from difflib import get_close_matches

    spelled = {canonical(choice): choice for choice in choices}
    near = [repr(spelled[match]) for match in get_close_matches(canonical(name), list(spelled), n=3, cutoff=0.6)]
    return f"did you mean {' or '.join(near)}?" if near else ""
