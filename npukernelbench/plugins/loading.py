"""The plugin system: who is installed, what they offer, who is set aside.

Plugins are entry points of the group ``npukernelbench``. Each is loaded behind a boundary of its own: one that cannot
be imported, needs another API version, has a wrong hook signature, or raises while registering is quarantined with its
traceback, and the others load. Order: the built-ins, then plugins of this distribution, then third parties, each by
name. A plugin may replace a built-in, which is logged; between two plugins the earlier keeps the name and the later is
quarantined.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from traceback import format_exception
from types import MappingProxyType
from typing import TYPE_CHECKING

import pluggy

from npukernelbench import hookspecs
from npukernelbench.errors import ConfigError, PluginError, UsageError
from npukernelbench.plugins.registry import (
    BUILTIN,
    Distributed,
    Quarantined,
    Register,
    Registration,
    Registry,
    canonical,
    check_offer,
    did_you_mean,
)
from npukernelbench.plugins.rules import PluginManager, Rejected, check_api_version, check_hooks

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from npukernelbench.config import Config

__all__ = ["PluginInfo", "Plugins", "Quarantined", "Register", "Registration", "Registry"]

GROUP = "npukernelbench"
#: Distribution whose entry points are first-party and not subject to ``NPUKB_LOAD_PLUGINS``.
DISTRIBUTION = "npukernelbench"

#: Registration hook by the kind of thing it offers.
_REGISTRATION_HOOKS: Mapping[str, str] = MappingProxyType(
    {
        "backend": "register_backends",
        "executor": "register_executors",
        "task suite": "register_tasks",
        "prompt style": "register_prompts",
        "parser": "register_parsers",
        "strategy": "register_strategies",
        "golden maker": "register_goldens",
        "repository": "register_repositories",
        "suite importer": "register_importers",
        "rules": "register_rules",
        "checker": "register_checkers",
        "guard": "register_guards",
        "metric": "register_metrics",
        "reporter": "register_reporters",
    }
)

#: What the boundaries around plugin code catch: a module that calls ``sys.exit`` while imported must not end the run.
_FAULTS = (Exception, SystemExit)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PluginInfo(Distributed):
    """An installed and working plugin. ``provides`` maps a kind (``backend``) to the names offered."""

    hooks: tuple[str, ...] = ()
    provides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first_party: bool = False


@dataclass(frozen=True, slots=True)
class _Source(Distributed):
    """A plugin before it is loaded."""

    first_party: bool


class Plugins:
    """The plugins of one process run and everything they registered. Build it with :meth:`load`."""

    def __init__(self, *, trace: bool = False) -> None:
        self._manager = PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._installed: list[PluginInfo] = []
        self._quarantined: list[Quarantined] = []
        self._registries = {kind: Registry(kind, lambda: self._quarantined) for kind in _REGISTRATION_HOOKS}
        self._config: Config | None = None
        self._told: set[tuple[str, str]] = set()
        self._trace = trace
        if trace:
            self._manager.add_hookcall_monitoring(_trace_before, _trace_after)

    @classmethod
    def load(
        cls,
        *,
        disabled: Collection[str] = (),
        autoload: bool = True,
        environ: Mapping[str, str] | None = None,
    ) -> Plugins:
        """Load the built-ins and, with ``autoload``, every entry point that is not switched off.

        ``disabled`` names plugins to leave out. ``NPUKB_LOAD_PLUGINS`` restricts third-party plugins to a comma list
        (the empty text allows none; our own stay); ``NPUKB_TRACE_PLUGINS=1`` logs every hook call. UsageError when the
        built-ins are to be disabled, ConfigError when ``NPUKB_LOAD_PLUGINS`` names a plugin that is not installed.
        """
        environ = os.environ if environ is None else environ
        plugins = cls(trace=environ.get("NPUKB_TRACE_PLUGINS", "") not in ("", "0"))
        from npukernelbench import __version__
        from npukernelbench.plugins import builtin

        # Without a boundary: where the built-ins fail, nothing works.
        plugins._enter(builtin, _Source(BUILTIN, DISTRIBUTION, __version__, first_party=True))
        if autoload:
            plugins._load_entry_points(disabled, environ.get("NPUKB_LOAD_PLUGINS"))
        return plugins

    @property
    def backends(self) -> Registry:
        """Ways of asking a model."""
        return self._registries["backend"]

    @property
    def executors(self) -> Registry:
        """Ways of compiling and running kernels."""
        return self._registries["executor"]

    @property
    def tasks(self) -> Registry:
        """Folders of task files."""
        return self._registries["task suite"]

    @property
    def prompts(self) -> Registry:
        """Prompt styles."""
        return self._registries["prompt style"]

    @property
    def parsers(self) -> Registry:
        """Ways of taking code out of an answer."""
        return self._registries["parser"]

    @property
    def strategies(self) -> Registry:
        """Ways from a model's answers to a kernel."""
        return self._registries["strategy"]

    @property
    def rules(self) -> Registry:
        """Rules of benchmarks."""
        return self._registries["rules"]

    @property
    def goldens(self) -> Registry:
        """Ways of making golden kernels."""
        return self._registries["golden maker"]

    @property
    def repositories(self) -> Registry:
        """Ways of reading repositories of kernels."""
        return self._registries["repository"]

    @property
    def importers(self) -> Registry:
        """Ways of making tasks of suites that others wrote."""
        return self._registries["suite importer"]

    @property
    def checkers(self) -> Registry:
        """Numeric policies."""
        return self._registries["checker"]

    @property
    def guards(self) -> Registry:
        """Static checks of a candidate's source."""
        return self._registries["guard"]

    @property
    def metrics(self) -> Registry:
        """Per-sample numbers computed from a verdict."""
        return self._registries["metric"]

    @property
    def reporters(self) -> Registry:
        """Ways of presenting a finished run."""
        return self._registries["reporter"]

    @property
    def installed(self) -> tuple[PluginInfo, ...]:
        """Working plugins in loading order, the built-ins first."""
        return tuple(self._installed)

    @property
    def quarantined(self) -> tuple[Quarantined, ...]:
        """Plugins that were set aside, with why."""
        return tuple(self._quarantined)

    @property
    def hook(self) -> pluggy.HookRelay:
        """The plain hook relay. A plugin that raises stops the call; :meth:`notify` keeps plugins apart."""
        return self._manager.hook

    def register(self, plugin: object, name: str) -> None:
        """Add a plugin object that is not an entry point, for tests and notebooks. PluginError when it is not valid."""
        try:
            self._enter(plugin, _Source(name, "", "", first_party=False))
        except _FAULTS as error:
            raise PluginError(f"plugin {name!r}: {_message(error)}") from error

    def configure(self, config: Config) -> None:
        """Call ``npukb_configure`` on every plugin, late ones included; one that raises is quarantined."""
        # Kept for plugins that `register` adds later.
        self._config = config
        # `installed` is a copy: setting a plugin aside changes the list.
        for info in self.installed:
            try:
                self._call(info.name, "npukb_configure", config=config)
            except _FAULTS as error:
                self._quarantine(info, error)

    def notify(self, hook_name: str, /, **arguments: object) -> tuple[str, ...]:
        """Call a hook on one plugin after the other; one that raises is logged (once) and does not stop the next.

        Returns the names of the plugins that raised. They stay installed: what they registered may be in use.
        """
        failed = []
        for info in self.installed:
            try:
                self._call(info.name, hook_name, **arguments)
            except _FAULTS:
                # Once: a hook that is called for every sample would fill the screen.
                told = (info.name, hook_name) in self._told
                self._told.add((info.name, hook_name))
                _log.log(
                    logging.DEBUG if told else logging.WARNING, "%s raised in %s", info.origin, hook_name, exc_info=True
                )
                failed.append(info.name)
        return tuple(failed)

    def _load_entry_points(self, disabled: Collection[str], allowed: str | None) -> None:
        unwanted = {canonical(name) for name in disabled}
        if BUILTIN in unwanted:
            raise UsageError(f"plugin {BUILTIN!r} cannot be disabled", remedy="disable other plugins, or none")
        points = _entry_points()
        wanted = _allowed_names(allowed, [source.name for source, _ in points])
        for source, point in points:
            if canonical(source.name) in unwanted:
                continue
            if wanted is not None and not source.first_party and canonical(source.name) not in wanted:
                continue
            try:
                self._enter(point.load(), source)
            except _FAULTS as error:
                self._quarantine(source, error)

    def _enter(self, plugin: object, source: _Source) -> None:
        """Take a plugin in completely or not at all; whatever is wrong with it is raised, mostly as Rejected."""
        # First: a plugin for another interface may have unknown hooks as well, and that error would say less.
        check_api_version(plugin)
        check_hooks(self._manager, plugin)
        if self._manager.has_plugin(source.name):
            other = next(info for info in self._installed if info.name == source.name)
            raise Rejected(f"{source.origin} and {other.origin} have the same name; remove one of them")
        try:
            self._manager.register(plugin, source.name)
            offers = self._collect(source)
            self._check_clashes(offers)
            if self._config is not None:
                self._call(source.name, "npukb_configure", config=self._config)
        except BaseException:
            # After an interruption, too: nobody would set aside what is entered by half.
            self._manager.unregister(name=source.name)
            raise
        self._install(plugin, source, offers)

    def _collect(self, source: _Source) -> list[Registration]:
        """What the plugin's registration hooks offer."""
        offers: list[Registration] = []
        try:
            for kind, hook_name in _REGISTRATION_HOOKS.items():
                self._call(source.name, hook_name, register=_collector(kind, source, offers))
        except _FAULTS as error:
            raise Rejected(f"{type(error).__name__}: {error}", offers=offers) from error
        return offers

    def _check_clashes(self, offers: Sequence[Registration]) -> None:
        taken: dict[tuple[str, str], Registration] = {}
        for offer in offers:
            # A set, as an alias may be the name in another spelling.
            for name in {canonical(name) for name in offer.names}:
                other = taken.setdefault((offer.kind, name), offer)
                if other is offer:
                    other = self._registries[offer.kind].holder(offer) or offer
                if other is not offer:
                    raise Rejected(
                        f"{offer.origin} and {other.origin} both register the {offer.kind} {name!r}",
                        offers=offers,
                        complete=True,
                    )

    def _install(self, plugin: object, source: _Source, offers: Sequence[Registration]) -> None:
        provides: dict[str, tuple[str, ...]] = {}
        for offer in offers:
            provides[offer.kind] = (*provides.get(offer.kind, ()), offer.name)
            for replaced in self._registries[offer.kind].add(offer):
                _log.warning("%s %r of %s replaces that of %s", offer.kind, offer.name, offer.origin, replaced.origin)
        hooks = tuple(sorted(caller.name for caller in self._manager.get_hookcallers(plugin) or ()))
        self._installed.append(
            PluginInfo(source.name, source.distribution, source.version, hooks, provides, source.first_party)
        )

    def _quarantine(self, source: _Source | PluginInfo, error: BaseException) -> None:
        """Set a plugin aside, and take back what it registered."""
        # The name alone does not tell: a plugin that was refused for its name has that of an installed one.
        if self._manager.has_plugin(source.name) and source in self._installed:
            self._manager.unregister(name=source.name)
            self._installed = [info for info in self._installed if info != source]
            for registry in self._registries.values():
                registry.remove_plugin(source.name)
        offers = error.offers if isinstance(error, Rejected) else ()
        message = _message(error)
        self._quarantined.append(
            Quarantined(
                name=source.name,
                distribution=source.distribution,
                version=source.version,
                error=message,
                traceback="".join(format_exception(error)),
                attempted=frozenset((offer.kind, canonical(name)) for offer in offers for name in offer.names),
                complete=isinstance(error, Rejected) and error.complete,
            )
        )
        _log.info("%s is quarantined: %s", source.origin, message)

    def _call(self, plugin_name: str, hook_name: str, **arguments: object) -> None:
        """Call one plugin's implementations of a hook, which is what keeps plugins apart."""
        for implementation in getattr(self._manager.hook, hook_name).get_hookimpls():
            if implementation.plugin_name != plugin_name:
                continue
            if self._trace:
                _log.warning("hook %s of plugin %s", hook_name, plugin_name)
            # As pluggy does: a hook names only the arguments that it wants.
            implementation.function(*(arguments[name] for name in implementation.argnames))


def _collector(kind: str, source: _Source, offers: list[Registration]) -> Register:
    """The ``register`` callable handed to one hook of one plugin."""

    def register(name: str, target: object, *, aliases: Sequence[str] = (), description: str = "") -> None:
        check_offer(name, target, aliases)
        offers.append(
            Registration(
                name=name,
                target=target,
                plugin=source.name,
                distribution=source.distribution,
                version=source.version,
                description=description,
                aliases=tuple(aliases),
                kind=kind,
            )
        )

    return register


def _entry_points() -> list[tuple[_Source, EntryPoint]]:
    """Every entry point of the group: first-party before third-party, then by name."""
    from importlib.metadata import entry_points

    described: dict[int, tuple[str, str]] = {}
    points = []
    for point in entry_points(group=GROUP):
        if point.dist is None:
            continue
        # Metadata is parsed from a file at each access, and a distribution may have many entry points.
        if id(point.dist) not in described:
            metadata = point.dist.metadata
            described[id(point.dist)] = (metadata["Name"], metadata["Version"])
        distribution, version = described[id(point.dist)]
        first_party = canonical(distribution) == DISTRIBUTION
        points.append((_Source(point.name, distribution, version, first_party), point))
    # The distribution decides between two plugins of one name, not the order of the file system.
    return sorted(points, key=lambda item: (not item[0].first_party, item[0].name, item[0].distribution))


def _allowed_names(allowed: str | None, installed: Sequence[str]) -> set[str] | None:
    """The third-party plugins that ``NPUKB_LOAD_PLUGINS`` lets in; None lets all in."""
    if allowed is None:
        return None
    names = [name.strip() for name in allowed.split(",") if name.strip()]
    known = {canonical(name) for name in installed}
    for name in names:
        if canonical(name) not in known:
            raise ConfigError(
                f"no plugin {name!r} is installed",
                field="environment NPUKB_LOAD_PLUGINS",
                remedy=did_you_mean(name, installed) or f"install it or remove it; installed: {', '.join(installed)}",
            )
    return {canonical(name) for name in names}


def _message(error: BaseException) -> str:
    return str(error) if isinstance(error, Rejected) else f"{type(error).__name__}: {error}"


def _trace_before(hook_name: str, implementations: Sequence[pluggy.HookImpl], arguments: Mapping[str, object]) -> None:
    # Warning reaches the terminal at every verbosity, and a user who sets the variable wants to see it.
    # pluggy calls the last one first.
    plugins = ", ".join(implementation.plugin_name for implementation in reversed(implementations))
    _log.warning("hook %s(%s) of %s", hook_name, ", ".join(arguments), plugins or "no plugin")


def _trace_after(
    outcome: pluggy.Result[object],
    hook_name: str,
    implementations: Sequence[pluggy.HookImpl],
    arguments: Mapping[str, object],
) -> None:
    del implementations, arguments
    if outcome.exception is not None:
        _log.warning("hook %s raised %r", hook_name, outcome.exception)
