"""Registries: names in any spelling, lazy targets, messages that help."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import PluginError, UsageError
from npukernelbench.plugins import Quarantined, Registration, Registry


def registration(name: str, target: object = None, *, aliases: tuple[str, ...] = (), plugin: str = "p") -> Registration:
    return Registration(name, target, plugin, "npukb-p", "1.0", aliases=aliases, kind="backend")


@pytest.fixture
def registry() -> Registry:
    registry = Registry("backend")
    registry.add(registration("kernel-gen_LM", aliases=("kg",)))
    registry.add(registration("openai"))
    return registry


@pytest.mark.parametrize("name", ["kernel-gen_LM", "kernel_gen-lm", "KERNEL-GEN-LM", "kg", "KG", " kg "])
def test_every_spelling_finds_it(registry: Registry, name: str) -> None:
    assert registry.find(name).name == "kernel-gen_LM"
    assert name in registry


def test_it_lists_primary_names_sorted(registry: Registry) -> None:
    assert list(registry) == ["kernel-gen_LM", "openai"]
    assert len(registry) == 2


def test_an_unknown_name_gets_a_suggestion(registry: Registry) -> None:
    with pytest.raises(UsageError, match=r"there is no backend 'opneai'\n  remedy: did you mean 'openai'\?"):
        registry.find("opneai")
    with pytest.raises(UsageError, match="known: kernel-gen_LM, openai"):
        registry.find("zzzzzz")
    with pytest.raises(KeyError):
        registry["zzzzzz"]


def test_removing_the_plugin_brings_the_builtin_back() -> None:
    registry = Registry("checker")
    own = registration("pcl", plugin="builtin")
    registry.add(own)
    assert registry.add(registration("PCL", plugin="theirs")) == (own,)
    assert registry["pcl"].plugin == "theirs"
    registry.remove_plugin("theirs")
    assert registry["pcl"] is own


def test_an_object_is_loaded_as_it_is() -> None:
    folder = Path("tasks")
    assert registration("suite", folder).load() is folder


def test_a_lazy_target_is_imported_only_when_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazy_target_module.py").write_text("class Outer:\n    class Inner: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    lazy = registration("lazy", "lazy_target_module:Outer.Inner")
    assert "lazy_target_module" not in sys.modules
    loaded = lazy.load()
    assert isinstance(loaded, type)
    assert loaded.__name__ == "Inner"
    monkeypatch.delitem(sys.modules, "lazy_target_module")


@pytest.mark.parametrize(
    ("target", "cause"),
    [("not_a_module_at_all:x", ModuleNotFoundError), ("json:not_there", AttributeError)],
)
def test_a_target_that_cannot_be_loaded(target: str, cause: type[Exception]) -> None:
    with pytest.raises(PluginError, match=r"backend 'x' of plugin 'p' of npukb-p 1\.0 cannot be loaded") as raised:
        registration("x", target).load()
    assert isinstance(raised.value.__cause__, cause)
    assert cause.__name__ in str(raised.value)


def quarantined(name: str, **facts: Any) -> Quarantined:
    return Quarantined(name, f"npukb-{name}", "2.0", "ImportError: no gpu\nmore", "Traceback …\nImportError", **facts)


def test_a_broken_plugin_lengthens_no_other_message() -> None:
    registry = Registry("backend", lambda: [quarantined("broken")])
    registry.add(registration("openai"))
    with pytest.raises(UsageError) as near:
        registry.find("opneai")
    assert "quarantined" not in str(near.value)
    assert near.value.remedy == "did you mean 'openai'? known: openai"
    with pytest.raises(UsageError) as far:
        registry.find("something-else")
    assert far.value.message == (
        "there is no backend 'something-else'; plugin 'broken' of npukb-broken 2.0 could have provided it but is "
        "quarantined: ImportError: no gpu"
    )
    assert far.value.detail == "Traceback …\nImportError"


def test_a_broken_plugin_that_had_offered_the_name_is_told_even_beside_a_near_one() -> None:
    offered = frozenset({("backend", "openai-2")})
    registry = Registry("backend", lambda: [quarantined("broken", attempted=offered)])
    registry.add(registration("openai"))
    with pytest.raises(UsageError, match=r"plugin 'broken' of npukb-broken 2\.0 could have provided it"):
        registry.find("openai_2")


def test_a_constructor_that_raises_names_its_plugin() -> None:
    class Broken:
        def __init__(self) -> None:
            raise SystemExit("no licence")

    with pytest.raises(PluginError, match=r"'x' of plugin 'p' of npukb-p 1\.0 cannot be constructed: SystemExit"):
        registration("x", Broken).instance()
