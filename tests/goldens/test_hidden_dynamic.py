"""Golden operators of cube cores, which serve all shapes, are right on hidden cases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npukernelbench.nouns import Core, Verdict
from npukernelbench.tasks.hidden import hidden_cases
from tests.goldens.test_dynamic_goldens import SUITE, judge
from tests.goldens.test_goldens import assert_faultless

__all__ = ["judge"]

COUNT = 7
CUBE = sorted(name for name, task in SUITE.items() if task.core is not Core.VECTOR)


@pytest.mark.parametrize("name", CUBE)
def test_hidden_cases(judge: Callable[..., Verdict], name: str) -> None:
    task = SUITE[name]
    cases = hidden_cases(task, "goldens", COUNT)
    assert len(cases) == COUNT
    assert_faultless(judge(task, list(cases)))


@pytest.mark.parametrize("name", ["MhcPost", "MhcPostGrad"])
def test_hidden_cases_of_hyper_connections(judge: Callable[..., Verdict], name: str) -> None:
    assert_faultless(judge(SUITE[name], list(hidden_cases(SUITE[name], "goldens", COUNT))))
