"""The committed times of golden kernels: complete, and of the kernels, the machine and the model that are here now."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.golden_times import PROFILES, Wanted, claimed, merged, read, rows, selectors, stale
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Start
from npukb_twin.timing.machine import load
from npukb_twin.timing.model import time_model
from npukernelbench.judge.speed import GOLDEN, RENEW, baseline_us
from npukernelbench.nouns import Track
from npukernelbench.tasks.registry import TaskRegistry
from tests.suite import suite

MACHINE = "ascend910b2"


@pytest.fixture(scope="module")
def tasks() -> TaskRegistry:
    return suite()


def test_every_golden_kernel_has_its_time(tasks: TaskRegistry) -> None:
    """Fails when a golden kernel, a task, the machine file or the timing engine has changed since."""
    facts = TwinExecutor(TwinArgs()).describe()
    assert facts["machine"] == MACHINE
    old = stale(tasks, read(MACHINE), facts["time_model"], PROFILES[:1])
    assert not old, f"renew them: {RENEW}\n{old}"
    for task in tasks.values():
        for track in claimed(task):
            cases = [case for case in task.cases if case.profiles & set(PROFILES[:1])]
            time_us = baseline_us(GOLDEN, task, cases, track, MACHINE, facts["time_model"])
            if time_us is None:  # the reference backend said why: the static track lacks what the golden kernel needs
                assert track is Track.STATIC
                assert not any(golden.track is track for golden in task.goldens)
            else:
                assert time_us > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_all_cases_of_a_profile_are_asked_for(tasks: TaskRegistry, profile: str) -> None:
    """Also where one of them is called like the profile."""
    for task in tasks.values():
        wanted = [case.id for case in task.cases if profile in case.profiles]
        if wanted:
            [chosen] = tasks.select(selectors(task, profile))
            assert [case.id for case in chosen.cases] == wanted


def test_only_what_has_changed_is_stale(tasks: TaskRegistry) -> None:
    some = {name: tasks[name] for name in ("AddCustom", "Sqrt")}
    times = {case.id: 1.0 for task in some.values() for case in task.cases}
    entries = {name: {"hash": task.content_hash, "static": dict(times)} for name, task in some.items()}
    known = {"machine": "m", "model": "now", "tier": "twin", "tasks": entries}
    cheap, both = Wanted("smoke", Track.STATIC), ["AddCustom", "Sqrt"]
    assert cheap not in stale(some, known, "now")
    assert stale(some, known, "changed")[cheap] == both
    assert stale(some, {}, "now")[cheap] == both
    assert stale(some, {}, "now", ("cpu",)).keys() <= {Wanted("cpu", track) for track in Track}
    other = {**some, "Sqrt": replace(some["Sqrt"], content_hash="edited")}
    assert stale(other, known, "now")[cheap] == ["Sqrt"]
    del entries["AddCustom"]["static"]["smoke"]  # type: ignore[attr-defined]
    assert stale(some, known, "now")[cheap] == ["AddCustom"]


def test_new_times_stand_beside_those_that_still_hold(tasks: TaskRegistry) -> None:
    some = {name: tasks[name] for name in ("AddCustom", "Sqrt")}
    held = {"hash": some["Sqrt"].content_hash, "static": {"0": 1.0}}
    gone = {"hash": "edited since", "static": {"0": 2.0}}
    known = {"machine": "m", "model": "now", "tier": "twin", "tasks": {"Sqrt": held, "AddCustom": gone, "Former": held}}
    new = {"machine": "m", "model": "now", "tier": "twin", "tasks": {"Sqrt": {**held, "static": {"0": 3.0}}}}
    assert merged(known, new, some)["tasks"] == {"Sqrt": {**held, "static": {"0": 3.0}}}
    dynamic = {**new, "tasks": {"Sqrt": {"hash": held["hash"], "dynamic": {"0": 4.0}}}}
    assert merged(known, dynamic, some)["tasks"] == {"Sqrt": {**held, "dynamic": {"0": 4.0}}}
    more = {**new, "tasks": {"Sqrt": {"hash": held["hash"], "static": {"1": 5.0}}}}
    assert merged(known, more, some)["tasks"] == {"Sqrt": {**held, "static": {"0": 1.0, "1": 5.0}}}
    assert merged({**known, "model": "former"}, new, some)["tasks"] == new["tasks"]


def test_the_model_of_time_is_that_of_a_machine_and_a_kind_of_launch() -> None:
    models = {time_model(load(soc), start) for soc in (MACHINE, "ascend910b4") for start in Start}
    assert len(models) == 4


def test_a_row_of_a_baseline_file_is_a_line():
    document = {"model": "m", "tasks": {"Sqrt": {"static": {"1": 2.0, "0": 1.0}}, "Add": {}}}
    text = rows(document, 3)
    assert json.loads(text) == document
    assert '\n"static": {"0": 1.0, "1": 2.0}\n' in text
    assert text.index('"Add"') < text.index('"Sqrt"')
