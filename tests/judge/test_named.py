"""What a look with every check says of a kernel whose values are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Diagnostic, Observation, RunRequest, Severity, Track
from npukernelbench.plugins import Plugins
from npukernelbench.testing import FakeExecutor, candidate, tiny_case, tiny_task

SHAPE = (16, 96)
CAUSE = Diagnostic(Severity.WARNING, "uninitialized_read", "bytes that nobody wrote", file="kernel.cpp", line=3)


class Telling(FakeExecutor):
    """It sees a cause when it looks at everything; kernels may give other outputs when they run a second time."""

    unsteady = False

    def run(self, request: RunRequest) -> Observation:
        seen = super().run(request)
        if request.repeat and self.unsteady:
            seen = replace(seen, outputs={name: np.asarray(array) + 1 for name, array in seen.outputs.items()})
        return replace(seen, diagnostics=(CAUSE,)) if request.thorough else seen


def told(source: str, executor: Telling) -> Sequence[str]:
    plugins = Plugins.load(autoload=False)
    case = tiny_case(shape=SHAPE)
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    verdict = judge.judge(tiny_task(cases=(case,)), (case,), Track.STATIC, candidate(source))
    return [diagnostic.rule for case in verdict.cases for diagnostic in case.diagnostics]


@pytest.mark.parametrize("unsteady", [False, True])
def test_the_cause_stands_beside_what_is_wrong(unsteady: bool) -> None:
    executor = Telling()
    executor.unsteady = unsteady
    rules = told("// fake: ok\n" if unsteady else "// fake: tail\n", executor)
    assert rules.count(CAUSE.rule) == 1
    assert rules[0] != CAUSE.rule


def test_a_right_kernel_is_not_looked_at() -> None:
    assert CAUSE.rule not in told("// fake: ok\n", Telling())
