"""The cache of inputs and expected outputs: its budget, its failures, its read-only arrays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.judge import data as data_module
from npukernelbench.judge.data import CaseData
from npukernelbench.testing import tiny_case, tiny_task


def test_arrays_are_read_only_and_shared():
    data, task, case = CaseData(), tiny_task(), tiny_case()
    inputs = data.inputs(task, case, 0)
    assert data.inputs(task, case, 0) is inputs
    assert not inputs["x"].flags.writeable
    assert not data.expected(task, case, 0)["y"].flags.writeable


def test_beyond_the_budget_the_oldest_cases_go():
    cases = [tiny_case(str(i), shape=(1000,)) for i in range(4)]
    data, task = CaseData(budget_bytes=9000), tiny_task(cases=tuple(cases))
    first = data.inputs(task, cases[0], 0)
    for case in cases[1:]:
        data.inputs(task, case, 0)
    again = data.inputs(task, cases[0], 0)
    assert again is not first
    assert again["x"].tobytes() == first["x"].tobytes()
    assert data.inputs(task, cases[3], 0) is data.inputs(task, cases[3], 0)


def test_a_failure_is_raised_and_not_remembered():
    data, case = CaseData(), tiny_case()
    broken = replace(tiny_task(), reference="math.nonsense")
    for _ in range(2):
        with pytest.raises(TaskError, match="nonsense"):
            data.expected(broken, case, 0)
    assert data.expected(tiny_task(), case, 0)["y"].shape == (4, 5)


def test_every_seed_has_inputs_of_its_own_within_one_budget():
    data, task, case = CaseData(budget_bytes=9000), tiny_task(), tiny_case(shape=(1000,))
    first = data.inputs(task, case, 0)
    assert data.inputs(task, case, 0) is first
    drawn = [data.inputs(task, case, seed)["x"].tobytes() for seed in range(1, 5)]
    assert len({*drawn, first["x"].tobytes()}) == 5
    assert data.inputs(task, case, 0) is not first  # the oldest gave way


def test_a_case_costs_the_same_however_many_are_kept(monkeypatch):
    """Sizes are added up once: a reward server keeps thousands of small cases."""
    seen = []
    arrays = data_module._arrays
    monkeypatch.setattr(data_module, "_arrays", lambda value: seen.append(value) or arrays(value))
    data, task, case = CaseData(), tiny_task(), tiny_case()
    for seed in range(30):
        data.inputs(task, case, seed)
    assert len(seen) == 2 * 30
