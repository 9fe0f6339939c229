"""Loading plugins: one broken plugin never takes the others with it, and says what is wrong with it."""

from __future__ import annotations

import logging
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import pytest

from npukernelbench import hookimpl, hookspecs
from npukernelbench.config import Config, resolve
from npukernelbench.errors import ConfigError, PluginError, UsageError
from npukernelbench.plugins import Plugins
from npukernelbench.plugins.rules import check_api_version


class Install(Protocol):
    def __call__(self, name: str, source: str, *, distribution: str = "", version: str = "1.0") -> None: ...


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a third-party plugin where entry points are found; its module is ``tp_<name>``."""
    modules: list[str] = []
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, source: str, *, distribution: str = "", version: str = "1.0") -> None:
        module = f"tp_{name.replace('-', '_')}"
        distribution = distribution or f"npukb-{name}"
        if source:
            (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        folder = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (folder / "entry_points.txt").write_text(f"[npukernelbench]\n{name} = {module}\n")
        modules.append(module)

    yield install
    for module in modules:
        sys.modules.pop(module, None)


GOOD = """
    from npukernelbench import hookimpl

    @hookimpl
    def register_backends(register):
        register("good-model", "tp_good_backend:Backend", aliases=["good"], description="A model.")
"""

BROKEN = {
    "no module": ("import a_module_that_is_not_there", "ModuleNotFoundError"),
    "syntax": ("def f(:", "SyntaxError"),
    "exit": ("import sys; sys.exit(3)", "SystemExit"),
    "raises": ("raise RuntimeError('on import')", "on import"),
    "wrong api": ("NPUKB_PLUGIN_API = '>=2'", "needs plugin API >=2, this harness offers 1"),
    "malformed api": ("NPUKB_PLUGIN_API = 'one'", "not of the form '>=1,<2'"),
    "unknown hook": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_backend(register): pass",
        "did you mean 'register_backends'",
    ),
    "signature": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_backends(register, more): pass",
        "more",
    ),
    "undecorated": ("def register_backends(register): pass", "lacks the decorator @hookimpl"),
    "wrapper": (
        "from npukernelbench import hookimpl\n@hookimpl(wrapper=True)\ndef on_run_start(): yield",
        "hook wrapper",
    ),
    "raising hook": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_parsers(register): raise KeyError('in hook')",
        "KeyError: 'in hook'",
    ),
    "target": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_parsers(register): register('x', 'no_colon')",
        "not of the form 'package.module:attribute'",
    ),
    "name": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_parsers(register): register('a b', 1)",
        "'a b' cannot be a name",
    ),
    "aliases": (
        "from npukernelbench import hookimpl\n@hookimpl\ndef register_parsers(register): register('a', 1, aliases='b')",
        "aliases of 'a' must be a list",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_quarantined_and_the_others_load(install: Install, case: str) -> None:
    source, message = BROKEN[case]
    install("broken", source, version="0.3")
    install("good", GOOD)

    plugins = Plugins.load(environ={})

    (quarantined,) = plugins.quarantined
    assert (quarantined.name, quarantined.distribution, quarantined.version) == ("broken", "npukb-broken", "0.3")
    assert message in quarantined.error
    assert "Traceback" in quarantined.traceback
    assert "good" in [info.name for info in plugins.installed]
    assert "broken" not in [info.name for info in plugins.installed]
    assert "x" not in plugins.parsers
    assert plugins.backends.find("good_model").plugin == "good"


def test_a_plugin_that_raises_late_leaves_nothing_behind(install: Install) -> None:
    install(
        "half",
        """
        from npukernelbench import hookimpl
        @hookimpl
        def register_backends(register):
            register("half-backend", object())
        @hookimpl
        def register_reporters(register):
            raise ValueError("late")
        """,
    )
    plugins = Plugins.load(environ={})
    assert "half-backend" not in plugins.backends
    with pytest.raises(UsageError, match=r"(?s)plugin 'half' of npukb-half 1\.0 could have provided it.*late"):
        plugins.backends.find("half_backend")


def test_an_installed_plugin_is_described(install: Install) -> None:
    install("good", GOOD, version="2.5")
    plugins = Plugins.load(environ={})
    (info,) = [info for info in plugins.installed if info.name == "good"]
    assert (info.distribution, info.version, info.first_party) == ("npukb-good", "2.5", False)
    assert info.hooks == ("register_backends",)
    assert info.provides == {"backend": ("good-model",)}
    assert plugins.installed[0].name == "builtin"
    assert all(info.first_party for info in plugins.installed if info.distribution == "npukernelbench")


def test_two_plugins_with_the_same_name_for_a_thing(install: Install) -> None:
    install("a-first", GOOD)
    install("b-second", GOOD.replace("good-model", "other").replace('"good"', '"Good_Model"'))
    plugins = Plugins.load(environ={})
    (quarantined,) = plugins.quarantined
    assert quarantined.name == "b-second"
    assert "npukb-a-first 1.0" in quarantined.error
    assert "npukb-b-second 1.0" in quarantined.error
    assert plugins.backends.find("good-model").plugin == "a-first"
    # What a clash kept out is known exactly, so it is not suspected of everything else.
    with pytest.raises(UsageError) as raised:
        plugins.backends.find("unheard-of")
    assert "quarantined" not in str(raised.value)
    with pytest.raises(UsageError, match="b-second"):
        plugins.backends.find("other")


def test_one_plugin_cannot_offer_a_name_twice(install: Install) -> None:
    install("twice", GOOD + '        register("good", 1)\n')
    (quarantined,) = Plugins.load(environ={}).quarantined
    assert "both register the backend 'good'" in quarantined.error


def test_two_distributions_with_the_same_plugin_name(install: Install) -> None:
    install("good", GOOD, distribution="npukb-one")
    install("good", GOOD, distribution="npukb-two")
    plugins = Plugins.load(environ={})
    (quarantined,) = plugins.quarantined
    assert quarantined.distribution == "npukb-two"
    assert quarantined.error == (
        "plugin 'good' of npukb-two 1.0 and plugin 'good' of npukb-one 1.0 have the same name; remove one of them"
    )
    assert plugins.backends.find("good-model").distribution == "npukb-one"


def test_a_plugin_replaces_a_builtin_with_a_warning(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    name = next(iter(Plugins.load(environ={}).parsers))
    builtin = Plugins.load(environ={}).parsers[name]
    assert builtin.plugin == "builtin"
    install("mine", GOOD.replace("register_backends", "register_parsers").replace("good-model", name))
    with caplog.at_level(logging.WARNING):
        plugins = Plugins.load(environ={})
    assert plugins.parsers.find(name).plugin == "mine"
    assert f"parser {name!r} of plugin 'mine' of npukb-mine 1.0 replaces that of the harness itself" in caplog.text
    assert list(plugins.parsers).count(name) == 1


def test_disabled_plugins_are_not_imported(install: Install) -> None:
    install("broken", "raise RuntimeError")
    install("good", GOOD)
    plugins = Plugins.load(disabled=["Broken", "reference"], environ={})
    assert plugins.quarantined == ()
    assert "tp_broken" not in sys.modules
    names = [info.name for info in plugins.installed]
    assert "good" in names
    assert "reference" not in names


def test_the_builtins_cannot_be_disabled() -> None:
    with pytest.raises(UsageError, match="cannot be disabled"):
        Plugins.load(disabled=["builtin"], environ={})


def test_load_plugins_restricts_third_parties_only(install: Install) -> None:
    install("broken", "raise RuntimeError")
    install("good", GOOD)
    everything = {info.name for info in Plugins.load(environ={"NPUKB_LOAD_PLUGINS": "good, broken"}).installed}
    only = {info.name for info in Plugins.load(environ={"NPUKB_LOAD_PLUGINS": "good"}).installed}
    none = {info.name for info in Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).installed}
    assert everything == only == none | {"good"}
    assert "reference" in none
    assert [info.name for info in Plugins.load(autoload=False, environ={}).installed] == ["builtin"]


def test_load_plugins_names_a_plugin_that_is_not_there(install: Install) -> None:
    install("good", GOOD)
    with pytest.raises(ConfigError, match=r"(?s)NPUKB_LOAD_PLUGINS.*'goood'.*did you mean 'good'"):
        Plugins.load(environ={"NPUKB_LOAD_PLUGINS": "goood"})


@pytest.mark.parametrize("traced", [False, True])
def test_hook_calls_are_logged_on_request(caplog: pytest.LogCaptureFixture, traced: bool) -> None:
    plugins = Plugins.load(autoload=False, environ={"NPUKB_TRACE_PLUGINS": "1"} if traced else {})
    plugins.register(SimpleRaising(), "raiser")
    with pytest.raises(ZeroDivisionError):
        plugins.hook.on_run_start(context=None)
    assert ("hook register_parsers of plugin builtin" in caplog.text) is traced
    assert ("hook on_run_start(context) of raiser" in caplog.text) is traced
    assert ("ZeroDivisionError" in caplog.text) is traced


class SimpleRaising:
    @hookimpl
    def on_run_start(self) -> None:
        raise ZeroDivisionError


class Listener:
    def __init__(self, heard: list[object]) -> None:
        self.heard = heard

    @hookimpl
    def on_run_start(self, context: object) -> None:
        self.heard.append(context)

    @hookimpl(specname="npukb_configure")
    def settle(self, config: Config) -> None:
        self.heard.append(config.seed)


def test_notify_reaches_every_plugin_past_one_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    plugins = Plugins.load(autoload=False, environ={})
    heard: list[object] = []
    plugins.register(Listener(heard), "before")
    plugins.register(SimpleRaising(), "raiser")
    plugins.register(Listener(heard), "after")
    now = SimpleNamespace(run_id="r", directory="d")
    assert plugins.notify("on_run_start", context=now) == ("raiser",)
    assert heard == [now, now]
    assert "ZeroDivisionError" in caplog.text
    plugins.notify("on_run_start", context=now)
    assert [record.levelname for record in caplog.records if "raised" in record.getMessage()] == ["WARNING"]


def test_configure_reaches_late_plugins_and_quarantines_a_raising_one() -> None:
    class Refusing:
        @hookimpl
        def register_metrics(self, register: object) -> None:
            register("refusing-metric", object())  # type: ignore[operator]

        @hookimpl
        def npukb_configure(self) -> None:
            raise OSError("no")

    plugins = Plugins.load(autoload=False, environ={})
    heard: list[object] = []
    plugins.register(Listener(heard), "early")
    plugins.register(Refusing(), "refusing")
    assert "refusing-metric" in plugins.metrics
    plugins.configure(resolve(environ={}, options={"seed": 7}))
    plugins.register(Listener(heard), "late")
    assert heard == [7, 7]
    assert [q.name for q in plugins.quarantined] == ["refusing"]
    assert "refusing-metric" not in plugins.metrics
    with pytest.raises(PluginError, match="OSError: no"):
        plugins.register(Refusing(), "refusing again")
    assert "refusing-metric" not in plugins.metrics


def test_registering_an_invalid_object_raises_at_once() -> None:
    plugins = Plugins.load(autoload=False, environ={})
    with pytest.raises(PluginError, match="plugin 'wrong': needs plugin API >=9"):
        plugins.register(SimpleNamespace(NPUKB_PLUGIN_API=">=9"), "wrong")
    assert plugins.quarantined == ()


@pytest.mark.parametrize("needed", [">=1,<2", ">= 1.0", "==1", "==1.0.0", "!=2", "<1.1", "<=1", ">0.9"])
def test_admitted_api_versions(needed: str) -> None:
    check_api_version(SimpleNamespace(NPUKB_PLUGIN_API=needed))


@pytest.mark.parametrize(
    "needed", [">1", "<1", ">=2", "==1.0.1", "!=1.0", ">=1,<1", "", "1", "~=1", ">=1,", ">=x", 1, ()]
)
def test_refused_api_versions(needed: object) -> None:
    with pytest.raises(Exception, match=r"needs plugin API|not of the form"):
        check_api_version(SimpleNamespace(NPUKB_PLUGIN_API=needed))


def test_every_hook_has_a_user_of_our_own() -> None:
    """What nothing of ours uses cannot be known to work."""
    plugins = Plugins.load(environ={})
    ours = {hook for info in plugins.installed if info.first_party or info.name == "builtin" for hook in info.hooks}
    specified = {name for name in vars(hookspecs) if name.startswith(("register_", "on_", "npukb_"))}
    assert ours == specified
    assert len(specified) >= 15
