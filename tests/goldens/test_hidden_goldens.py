"""Every golden kernel is right on hidden cases, which none of them was written for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npukernelbench.nouns import Outcome, Track
from npukernelbench.tasks.hidden import hidden_cases
from tests.suite import suite

if TYPE_CHECKING:
    from tests.goldens.conftest import JudgeGolden

SUITE = suite()
COUNT = 7
GOLDEN = sorted(
    task.name
    for task in SUITE.values()
    if any(golden.track is Track.STATIC for golden in task.goldens) and hidden_cases(task, "goldens", 1)
)


@pytest.mark.parametrize(("name", "number"), [(name, number) for name in GOLDEN for number in range(COUNT)])
def test_hidden_case(judge_golden: JudgeGolden, name: str, number: int) -> None:
    task = SUITE[name]
    verdict = judge_golden(task, hidden_cases(task, "goldens", COUNT)[number], lambda text: text)
    said = [
        str(said)
        for said in (*verdict.diagnostics, *(diagnostic for case in verdict.cases for diagnostic in case.diagnostics))
    ]
    assert verdict.outcome is Outcome.OK, "\n".join(said)
    assert not said, "\n".join(said)
