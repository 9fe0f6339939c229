"""Tasks of optimisation: their names, their cases, and the table of starts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from npukernelbench.errors import TaskError, UsageError
from npukernelbench.tasks import TaskRegistry
from npukernelbench.tasks.select import select
from npukernelbench.tasks.slow import DEOPTIMISATIONS
from npukernelbench.tasks.starts import PREFIX, Start, optimisation, start_of
from npukernelbench.testing import tiny_case, tiny_task
from tests.suite import suite


@pytest.fixture
def tasks(tmp_path):
    """Two tasks, of which one has a start on its second case."""
    profiles = {"a": {"smoke", "full"}, "b": {"full"}}
    cases = tuple(replace(tiny_case(name), profiles=frozenset(held)) for name, held in profiles.items())
    folder = tmp_path / "suite"
    (folder / "baselines").mkdir(parents=True)
    known = {"case": "b", "names": ["single-core", "barriers"], "golden_us": 2.0, "start_us": 9.0}
    table = {"tasks": {"Tiny": known, "Still": {"case": "a", "why": "single-core: not slower"}}}
    (folder / "baselines" / "starts.json").write_text(json.dumps(table))
    return TaskRegistry(
        [replace(tiny_task(name, cases=cases), path=folder / name / "task.yaml") for name in ("Tiny", "Still")]
    )


def test_a_prefix_asks_for_the_task_of_optimising(tasks):
    [one] = tasks.select(["optimise/tiny"])
    assert (one.task.name, one.task.operator, one.task.start) == ("optimise/Tiny", "Tiny", ("single-core", "barriers"))
    assert [case.id for case in one.cases] == ["b"] == [one.task.usual_case.id]
    assert one.task.content_hash == f"{tasks['Tiny'].content_hash}+optimise/single-core+barriers"
    assert [case.id for case in tasks.select(["optimise/Tiny:all"])[0].cases] == ["a", "b"]
    assert [case.id for case in tasks.select(["optimise/smoke"])[0].cases] == ["a"]
    both = tasks.select(["Tiny,optimise/Tiny"])
    assert [(one.task.name, len(one.cases)) for one in both] == [("Tiny", 2), ("optimise/Tiny", 1)]


def test_what_has_no_start_is_left_out_of_a_group_and_named(tasks, caplog):
    assert [one.task.name for one in tasks.select(["optimise/all"])] == ["optimise/Tiny"]
    assert "optimise/all leaves out what has no slow start (npukb ls starts says why): Still" in caplog.text
    with pytest.raises(UsageError, match="optimise/Still has no slow start: single-core: not slower"):
        tasks.select(["optimise/Still"])


def test_the_registry_knows_them_and_does_not_list_them(tasks):
    assert "optimise/tiny" in tasks
    assert tasks["OPTIMISE/Tiny"] == optimisation(tasks["Tiny"])
    assert ("optimise/Still" in tasks, "optimise/Nothing" in tasks) == (False, False)
    for name in ("optimise/Still", "optimise/Nothing"):
        with pytest.raises(KeyError):
            tasks[name]
    assert list(tasks) == ["Still", "Tiny"]


def test_a_table_that_cannot_be_read_is_named(tasks, tmp_path):
    other = tmp_path / "other"
    (other / "baselines").mkdir(parents=True)
    task = replace(tasks["Tiny"], path=other / "Tiny" / "task.yaml")
    (other / "baselines" / "starts.json").write_text("{")
    with pytest.raises(TaskError, match="the table of starts cannot be read"):
        start_of(task)
    nowhere = start_of(replace(task, path=tmp_path / "none" / "task.yaml"))
    assert nowhere == Start(why=nowhere.why)
    assert "slow_starts" in nowhere.why


def test_every_golden_kernel_has_a_start_that_was_slower_or_a_reason():
    tasks = [task for task in suite().values() if task.goldens]
    starts = {task.name: start_of(task) for task in tasks}
    for task in tasks:
        start = starts[task.name]
        assert task.case(start.case), task.name
        # Every de-optimisation is in, or it is said why not.
        assert {*start.names, *start.refused} == set(DEOPTIMISATIONS) or not start.names, task.name
        if start.names:
            assert start.start_us > start.golden_us, task.name
            # The judge found it right on the other track, too.
            assert start.dynamic_us > start.golden_us, task.name
        else:
            assert start.why, task.name
    assert sum(bool(start.names) for start in starts.values()) > 0.95 * len(tasks)
    assert len(select(list(tasks), [f"{PREFIX}all"])) == sum(bool(start.names) for start in starts.values())
