"""Runs of simulated models whose difference is known: what ``compare`` says of them holds as often as it promises."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from npukernelbench.nouns import Outcome
from npukernelbench.report.comparison.paired import Difference, compare_runs
from npukernelbench.report.comparison.records import Attempt, Problem, RunRecord
from tests.report.conftest import identity

SAMPLES = 4
TASKS = 30


def runs(random: np.random.RandomState, gain: float) -> tuple[RunRecord, RunRecord]:
    """Two models on the same tasks of one to three cases. What a task is worth to both varies, and so does what the
    second model gains on it, which is ``gain`` on average; compiling is easier than being right for both."""
    names = [f"T{i}/{case}" for i in range(TASKS) for case in range(random.randint(1, 4))]
    facts = identity(dict.fromkeys(names, "w" * SAMPLES))
    chances: dict[str, tuple[float, float]] = {}
    for i in range(TASKS):
        base = random.uniform(0.2, 0.5)
        chances[f"T{i}"] = (base, base + gain + random.uniform(-0.15, 0.15))
    made = []
    for side, model in enumerate(("first", "second")):
        attempts = []
        for name in names:
            task, _, case = name.partition("/")
            for index in range(SAMPLES):
                right = bool(random.uniform() < chances[task][side])
                compiled = right or bool(random.uniform() < 0.5)
                outcome = Outcome.OK if right else Outcome.WRONG_VALUE if compiled else Outcome.COMPILE_ERROR
                speedups = {"roofline": float(random.uniform(0.0, 1.0))} if right else {}
                attempts.append(Attempt(Problem(task, case), index, outcome, True, compiled, right, speedups))
        made.append(RunRecord(Path(model), model, {**facts, "model": model}, tuple(attempts)))
    return made[0], made[1]


@cache
def compared(seed: int, gain: float, times: int) -> list[dict[str, Difference]]:
    random = np.random.RandomState(seed)
    result = []
    for _ in range(times):
        (pair,) = compare_runs(runs(random, gain))
        result.append({difference.measure: difference for difference in pair.differences})
    return result


@pytest.mark.parametrize("gain", [0.0, 0.2])
def test_intervals_hold_the_true_difference_in_95_of_100(gain: float) -> None:
    """What is right gains ``gain``, what compiles half of it, what is fast (half of what is right) half as well."""
    found = compared(7, gain, 300)
    for measure, truth in (("correct@1", gain), ("compile@1", gain / 2), ("fast_0.5 roofline", gain / 2)):
        held = sum(one[measure].low <= truth <= one[measure].high for one in found)
        assert 0.92 <= held / len(found) <= 0.985, measure  # 95 of 100, give or take 2.5 standard errors
        mean = float(np.mean([one[measure].value for one in found]))
        assert mean == pytest.approx(truth, abs=0.01), measure


def test_alike_models_are_told_apart_in_at_most_one_of_twenty_and_others_as_often_as_power_says() -> None:
    alike = compared(7, 0.0, 300)
    assert sum(one["correct@1"].p < 0.05 for one in alike) / len(alike) <= 0.08
    detectable = float(np.median([one["correct@1"].detectable or 0.0 for one in alike]))
    told = compared(9, detectable, 150)
    assert 0.7 <= sum(one["correct@1"].p < 0.05 for one in told) / len(told) <= 0.9  # four of five
