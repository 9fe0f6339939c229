"""``--executor auto``: the preferred executor that works, and words for what was passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from npukernelbench.errors import PluginError, UsageError
from npukernelbench.judge.automatic import choose
from npukernelbench.plugins.registry import Registration, Registry


def executor(wanted: int, obstacle: str) -> Any:
    class Automatic:
        preference = wanted
        seen: Mapping[str, object] = {}

        @classmethod
        def unusable(cls, executor_args: Mapping[str, object]) -> str:
            cls.seen = executor_args
            return obstacle

    return Automatic


def registry(**targets: object) -> Registry:
    registry = Registry("executor")
    for name, target in targets.items():
        registry.add(Registration(name, target, "p", "npukb-p", "1.0", kind="executor"))
    return registry


def test_the_preferred_one_that_works_is_taken() -> None:
    device, model = executor(10, ""), executor(0, "")
    choice = choose(registry(device=device, model=model, manual=object), "AUTO", {"a": 1})
    assert choice.registration.name == "device"
    assert choice.words == "executor auto: device"
    assert device.seen == {"a": 1}


def test_what_was_passed_over_is_said_with_its_reason() -> None:
    choice = choose(registry(device=executor(10, "driver: none"), model=executor(0, "")), "auto", {})
    assert choice.registration.name == "model"
    assert choice.words == "executor auto: model; not device (driver: none)"


def test_a_named_executor_is_never_replaced() -> None:
    choice = choose(registry(device=executor(10, "driver: none"), model=executor(0, "")), "device", {})
    assert choice.registration.name == "device"
    assert (choice.automatic, choice.words) == (False, "")


def test_executors_that_take_no_part_are_not_chosen() -> None:
    with pytest.raises(UsageError, match="no executor can be chosen automatically") as caught:
        choose(registry(manual=object), "auto", {})
    assert caught.value.remedy == "see npukb doctor"


def test_nothing_works() -> None:
    with pytest.raises(UsageError, match=r"device \(driver: none\); model \(no compiler\)"):
        choose(registry(device=executor(10, "driver: none"), model=executor(0, "no compiler")), "auto", {})


def test_an_executor_that_cannot_be_loaded_is_passed_over() -> None:
    found = registry(broken="no_such_module_of_anyone:Executor", model=executor(0, ""))
    with pytest.raises(PluginError):
        found.find("broken").load()
    choice = choose(found, "auto", {})
    assert choice.registration.name == "model"
    assert "not broken (" in choice.words
