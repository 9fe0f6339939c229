from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from npukernelbench.errors import PluginError, TaskError, UsageError
from npukernelbench.hookspecs import hookimpl
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins, Register
from npukernelbench.tasks import cache, load
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.registry import load_registry
from tests.suite import furnished

Write = Callable[..., Path]


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    """A cache that holds our tasks: parsing them takes seconds."""
    return furnished(tmp_path / "cache")


class Suite:
    """A plugin that offers one folder of tasks."""

    def __init__(self, target: object) -> None:
        self._target = target

    @hookimpl
    def register_tasks(self, register: Register) -> None:
        register("mine", self._target)


def settle(root: Path) -> None:
    """Make files look old enough for the cache to trust their times."""
    for path in root.rglob("*.*"):
        os.utime(path, ns=(1_000_000_000, 1_000_000_000))


def test_the_installed_suite_loads_in_order(plugins: Plugins) -> None:
    registry = load_registry(plugins)
    places = [(task.level, task.category, name) for name, task in registry.items()]
    assert places == sorted(places)
    first = [
        "Equal",
        "AbsMath",
        "AddCustom",
        "Muls",
        "Sqrt",
        "Fill",
        "Gelu",
        "SwiGlu",
        "Swish",
        "ForeachAddScalar",
        "MseLoss",
        "RmsNorm",
    ]
    assert [name for name in registry if name in first] == first
    assert registry["add_custom"] is registry["AddCustom"]
    assert "rms-norm" in registry
    assert "nothing" not in registry
    assert [len(item.cases) for item in registry.select(["smoke"])] == [1] * len(registry)


def test_include_paths_win_over_plugins_and_plugins_over_ours(
    write_task: Write, tmp_path: Path, plugins: Plugins, caplog: pytest.LogCaptureFixture, parsed: Path
) -> None:
    theirs = write_task(name="Sqrt", folder=tmp_path / "plugin")
    mine = write_task(name="Sqrt", folder=tmp_path / "include")
    plugins.register(Suite(tmp_path / "plugin"), "other")
    with caplog.at_level(logging.WARNING):
        assert load_registry(plugins, cache_dir=parsed)["Sqrt"].path == theirs
    assert str(theirs) in caplog.text
    assert "level1/math/sqrt/task.yaml" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert load_registry(plugins, [tmp_path / "include"], cache_dir=parsed)["Sqrt"].path == mine
    assert f"{mine} (--include_path {tmp_path / 'include'}) replaces {theirs}" in caplog.text


def test_two_tasks_of_one_name_in_one_place_are_an_error(
    write_task: Write, tmp_path: Path, plugins: Plugins, parsed: Path
) -> None:
    first = write_task(name="MyTask", folder=tmp_path / "one")
    second = write_task(name="My_task", folder=tmp_path / "two")
    with pytest.raises(TaskError, match="defined twice") as caught:
        load_registry(plugins, [tmp_path / "one", tmp_path / "two"], cache_dir=parsed)
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


def test_one_broken_file_stops_the_command(write_task: Write, tmp_path: Path, plugins: Plugins, parsed: Path) -> None:
    write_task(name="Fine")
    broken = write_task(("level: 1", "level: one"), name="Broken")
    with pytest.raises(TaskError, match="level") as caught:
        load_registry(plugins, [tmp_path / "suite"], cache_dir=parsed)
    assert str(caught.value).startswith(f"{broken}:3:1: level: ")


def test_hidden_folders_are_left_out(write_task: Write, tmp_path: Path, plugins: Plugins, parsed: Path) -> None:
    write_task(name="Hidden", folder=tmp_path / "suite" / ".old")
    write_task(name="Seen")
    registry = load_registry(plugins, [tmp_path / "suite"], cache_dir=parsed)
    assert "Seen" in registry
    assert "Hidden" not in registry


def test_a_missing_include_path_is_a_usage_error(tmp_path: Path, plugins: Plugins, parsed: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        load_registry(plugins, [tmp_path / "gone"], cache_dir=parsed)


def test_a_plugin_may_register_a_function_that_finds_its_folder(
    write_task: Write, tmp_path: Path, plugins: Plugins, parsed: Path
) -> None:
    write_task(name="Found")
    plugins.register(Suite(lambda: tmp_path / "suite"), "other")
    assert "Found" in load_registry(plugins, cache_dir=parsed)


def test_a_plugin_whose_suite_is_no_folder_is_named(tmp_path: Path, plugins: Plugins, parsed: Path) -> None:
    plugins.register(Suite(tmp_path / "gone"), "other")
    with pytest.raises(PluginError, match="task suite 'mine' of plugin 'other'"):
        load_registry(plugins, cache_dir=parsed)


def test_json_gives_back_every_installed_task(plugins: Plugins) -> None:
    for task in load_registry(plugins).values():
        assert cache.task_from_json(json.loads(json.dumps(cache.task_to_json(task)))) == task


@pytest.fixture
def alone() -> Plugins:
    """No suite but the one that a test names: parsing ours takes seconds."""
    return SimpleNamespace(tasks={})  # type: ignore[return-value]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The task files parsed so far."""
    parsed: list[Path] = []

    def counting(path: Path) -> load.LoadedTask:
        parsed.append(path)
        return load_task(path)

    monkeypatch.setattr(load, "load_task", counting)
    return parsed


def test_a_second_load_parses_only_what_changed(
    write_task: Write, tmp_path: Path, alone: Plugins, counted: list[Path]
) -> None:
    first, second = write_task(name="First"), write_task(name="Second")
    settle(tmp_path / "suite")

    def tasks() -> list[str]:
        counted.clear()
        registry = load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
        return [f"{registry[name].name}/{registry[name].level}" for name in ("First", "Second")]

    assert tasks() == ["First/1", "Second/1"]
    assert {first, second} <= set(counted)
    assert tasks() == ["First/1", "Second/1"]
    assert {first, second}.isdisjoint(counted)
    second.write_text(second.read_text().replace("level: 1", "level: 2"))
    settle(second.parent)
    assert tasks() == ["First/1", "Second/2"]
    assert (first in counted, second in counted) == (False, True)


@pytest.fixture
def twice(write_task: Write, tmp_path: Path, alone: Plugins) -> Callable[[], Task]:
    """Loads a suite of the one task that ``write_task`` writes, in the cache from the second time on."""
    write_task()
    settle(tmp_path / "suite")
    return lambda: load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")["Twice"]


def test_a_process_builds_the_tasks_of_an_unchanged_cache_once(twice: Callable[[], Task]) -> None:
    parsed, kept = twice(), twice()
    assert kept == parsed
    assert twice() is kept
    kept.path.write_text(kept.path.read_text().replace("level: 1", "level: 2"))
    settle(kept.path.parent)
    assert (twice().level, kept.level) == (2, 1)


def test_cases_are_read_when_they_are_looked_at(twice: Callable[[], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, kept = twice(), twice()
    monkeypatch.setattr(cache, "_case_from", None)
    assert len(kept.cases) == len(parsed.cases) > 0
    monkeypatch.undo()
    assert kept.cases == parsed.cases == load_task(kept.path).task.cases
    assert parsed.cases == kept.cases
    assert kept.cases[0] == parsed.cases[0]
    again = pickle.loads(pickle.dumps(kept))
    assert type(again.cases) is tuple
    assert again == kept


def test_a_golden_that_appears_and_an_include_that_changes_are_noticed(
    write_task: Write, tmp_path: Path, alone: Plugins
) -> None:
    path = write_task(("level: 1\n", ""), name="Changing")
    (tmp_path / "suite" / "common.yaml").write_text("level: 1\n")
    path.write_text("include: ../common.yaml\n" + path.read_text())

    def state() -> tuple[int, int]:
        settle(tmp_path / "suite")
        task = load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")["Changing"]
        return task.level, len(task.goldens)

    assert state() == (1, 0)
    (path.parent / "golden").mkdir()
    (path.parent / "golden" / "static.cpp").write_text("// golden")
    assert state() == (1, 1)
    (tmp_path / "suite" / "common.yaml").write_text("level: 3\n")
    assert state() == (3, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"loader": null, "tasks": {}}',
        b'{"tasks": 3}',
    ],
)
def test_a_corrupt_cache_is_ignored_and_rewritten(
    write_task: Write, tmp_path: Path, alone: Plugins, counted: list[Path], content: bytes
) -> None:
    write_task()
    settle(tmp_path / "suite")
    load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    files = list((tmp_path / "cache" / "tasks").iterdir())
    for file in files:
        file.write_bytes(content)
    assert "Twice" in load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    counted.clear()
    load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    assert all("suite" not in path.parts[-3:] for path in counted)
    assert list((tmp_path / "cache" / "tasks").iterdir()) == files


@pytest.mark.parametrize("damage", [{"task": '{"inputs": [["x"]]}'}, {"task": "{"}, {"cases": "[[0]]"}, {"cases": 1}])
def test_a_corrupt_entry_is_parsed_again(
    write_task: Write, tmp_path: Path, alone: Plugins, damage: dict[str, object]
) -> None:
    path = write_task()
    settle(tmp_path / "suite")
    load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    for file in (tmp_path / "cache" / "tasks").iterdir():
        data = json.loads(file.read_text())
        for entry in data["tasks"].values():
            entry.update(damage)
        file.write_text(json.dumps(data))
    registry = load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    assert registry["Twice"] == load_task(path).task


def test_a_cache_that_cannot_be_written_is_no_error(write_task: Write, tmp_path: Path, alone: Plugins) -> None:
    write_task()
    settle(tmp_path / "suite")
    (tmp_path / "cache").write_text("a file, not a folder")
    assert "Twice" in load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")


def test_a_file_just_written_is_not_cached(
    write_task: Write, tmp_path: Path, alone: Plugins, counted: list[Path]
) -> None:
    path = write_task()
    future = path.stat().st_mtime_ns + 3600 * 1_000_000_000
    os.utime(path, ns=(future, future))
    for _ in range(2):
        load_registry(alone, [tmp_path / "suite"], cache_dir=tmp_path / "cache")
    assert counted.count(path) == 2


def test_a_warm_load_needs_neither_numpy_nor_yaml_nor_pydantic(tmp_path: Path, write_task: Write) -> None:
    write_task()
    settle(tmp_path / "suite")
    folder, cache_dir = str(tmp_path / "suite"), str(tmp_path)
    code = f"""
import sys
from pathlib import Path
from types import SimpleNamespace
import npukernelbench.plugins
from npukernelbench.tasks import load_registry
registry = load_registry(SimpleNamespace(tasks={{}}), [Path({folder!r})], cache_dir=Path({cache_dir!r}))
assert "Twice" in registry
print(sorted({{"numpy", "scipy", "yaml", "pydantic", "jinja2", "rich"}} & set(sys.modules)))
"""
    outputs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "yaml" in outputs[0]
    assert outputs[1].strip() == "[]"
