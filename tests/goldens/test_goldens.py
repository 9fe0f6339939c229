"""Every golden kernel of the static track is right on every case, public or ragged, without a word of the rule checker.

They are derived from the operators of the dynamic track.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.golden_times import read
from npukernelbench.judge.speed import RENEW
from npukernelbench.nouns import Outcome, Task, Track, Verdict
from tests.suite import suite
from tests.tables import read_yaml

if TYPE_CHECKING:
    from tests.goldens.conftest import JudgeGolden

SUITE = {task.name: task for task in suite().values() if any(golden.track is Track.STATIC for golden in task.goldens)}
RAGGED: Mapping[str, list[dict[str, Any]]] = read_yaml(Path(__file__).with_name("ragged.yaml"))


def test_every_golden_kernel_has_ragged_cases() -> None:
    assert set(SUITE) <= set(RAGGED)


@pytest.mark.parametrize(("name", "case_id"), [(task.name, case.id) for task in SUITE.values() for case in task.cases])
def test_public_case(judge_golden: JudgeGolden, name: str, case_id: str) -> None:
    task = SUITE[name]
    verdict = judge_golden(task, task.case(case_id), _unchanged)
    assert_faultless(verdict)
    assert_times_as_recorded(verdict, task, Track.STATIC)


@pytest.mark.parametrize(("name", "case_id"), [(name, case["id"]) for name, cases in RAGGED.items() for case in cases])
def test_ragged_case(judge_golden: JudgeGolden, ragged_tasks: Mapping[str, Task], name: str, case_id: str) -> None:
    task = ragged_tasks[name]
    assert_faultless(judge_golden(task, task.case(case_id), _unchanged))


def assert_faultless(verdict: Verdict) -> None:
    """Correct, and without a single diagnostic of any severity."""
    said = [
        str(said)
        for said in (*verdict.diagnostics, *(diagnostic for case in verdict.cases for diagnostic in case.diagnostics))
    ]
    assert verdict.outcome is Outcome.OK, "\n".join(said)
    assert not said, "\n".join(said)


def assert_times_as_recorded(verdict: Verdict, task: Task, track: Track) -> None:
    """The committed baseline has these times, to the last digit, as far as it has such cases."""
    known = read("ascend910b2")["tasks"][task.name][track.value]
    times = {case.case: case.profile.time_us for case in verdict.cases if case.profile is not None}
    assert times
    assert known
    assert times == {case: known.get(case, time_us) for case, time_us in times.items()}, f"renew the baseline: {RENEW}"


def _unchanged(text: str) -> str:
    return text
