"""The cache of inputs and expected outputs: its budget, its failures, its read-only arrays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.judge.data import CaseData
from npukernelbench.testing import tiny_case, tiny_task


def test_arrays_are_read_only_and_shared():
    data, task, case = CaseData(0), tiny_task(), tiny_case()
    inputs = data.inputs(task, case)
    assert data.inputs(task, case) is inputs
    assert not inputs["x"].flags.writeable
    assert not data.expected(task, case)["y"].flags.writeable


def test_beyond_the_budget_the_oldest_cases_go():
    cases = [tiny_case(str(i), shape=(1000,)) for i in range(4)]
    data, task = CaseData(0, budget_bytes=9000), tiny_task(cases=tuple(cases))
    first = data.inputs(task, cases[0])
    for case in cases[1:]:
        data.inputs(task, case)
    again = data.inputs(task, cases[0])
    assert again is not first
    assert again["x"].tobytes() == first["x"].tobytes()
    assert data.inputs(task, cases[3]) is data.inputs(task, cases[3])


def test_a_failure_is_raised_and_not_remembered():
    data, case = CaseData(0), tiny_case()
    broken = replace(tiny_task(), reference="math.nonsense")
    for _ in range(2):
        with pytest.raises(TaskError, match="nonsense"):
            data.expected(broken, case)
    assert data.expected(tiny_task(), case)["y"].shape == (4, 5)
