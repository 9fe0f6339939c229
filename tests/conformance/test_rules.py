"""NPUKernelBench's rules: limits, values and cases of its tasks; its score on worked examples; runs under them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_conformance.craft import CRAFT
from npukb_conformance.rules import RULES
from npukernelbench.cli import main
from npukernelbench.errors import PluginError, UsageError
from npukernelbench.judge.check import allclose, pcl, rounded
from npukernelbench.nouns import DType, Outcome, Owner, Stage, Tier, ToleranceLimits, Track, ValueSpec
from npukernelbench.nouns.results import SampleRow
from npukernelbench.plugins import Plugins
from npukernelbench.report.score import Score, rates_of, score_of
from npukernelbench.tasks.rules import load_rules, under_rules
from npukernelbench.tasks.select import Selected, select
from tests.suite import suite


def limit(name: str, dtype: DType) -> float:
    task = RULES.apply(suite()[name])
    assert task is not None
    limits = task.tolerance.limits[dtype]
    assert limits.atol == limits.rtol
    return limits.rtol


def test_limits_are_those_of_the_operator_and_the_type() -> None:
    assert limit("Sqrt", DType.FLOAT16) == limit("Sqrt", DType.FLOAT32) == 1e-3
    assert limit("Gelu", DType.BFLOAT16) == 1e-2
    assert limit("Gelu", DType.FLOAT32) == 1e-3
    assert limit("RmsNorm", DType.FLOAT16) == 1 / 512
    assert limit("RmsNorm", DType.BFLOAT16) == 1 / 256 + 1 / 16384
    assert limit("RmsNorm", DType.FLOAT32) == 1 / 2048 + 1 / 16384
    assert limit("BasicMatmul", DType.FLOAT16) == 1 / 256


def test_every_task_of_the_suite_has_rules_and_no_other() -> None:
    for task in suite().values():
        found = RULES.apply(task)
        assert (found is not None) == (task.suite == "npukernelbench")
        if found is not None:
            assert found.content_hash.startswith(task.content_hash)
            assert found.content_hash != task.content_hash
            assert found.cases
            assert {case.id for case in found.cases} <= {case.id for case in task.cases}
            assert found.tolerance.policy == "rounded"
    operators = {task.name for task in suite().values()}
    assert set(RULES._limits["operators"]) <= operators


def test_inputs_are_drawn_as_the_suite_draws_them() -> None:
    task = RULES.apply(suite()["Rsqrt"])
    assert task is not None
    [x] = {str(case.inputs["x"].values) for case in task.cases if case.inputs["x"].tensor.dtype is DType.FLOAT32}
    assert "1001" in x


def test_what_the_benchmark_has_not_is_refused() -> None:
    tasks = list(suite().values())
    with pytest.raises(UsageError, match="task CraftGelu is not one of npukernelbench"):
        under_rules(select(tasks, ["CraftGelu"]), RULES)
    with pytest.raises(UsageError, match="case smoke of task Sqrt is not one of npukernelbench"):
        under_rules(select(tasks, ["Sqrt:smoke"]), RULES)
    [selected] = under_rules(select(tasks, ["Sqrt"]), RULES)
    assert isinstance(selected, Selected)
    assert selected.cases == selected.task.cases


def test_a_plugin_offers_the_rules_by_name() -> None:
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    assert load_rules(plugins.rules.find("npukernelbench")) is RULES
    with pytest.raises(UsageError, match="no rules 'other'"):
        plugins.rules.find("other")
    with pytest.raises(PluginError, match="does not implement the protocol"):
        load_rules(plugins.prompts.find("default"))


def row(task: str, case: str, right: bool, **metrics: float) -> SampleRow:
    outcome, owner = (Outcome.OK, Owner.NONE) if right else (Outcome.WRONG_VALUE, Owner.MODEL)
    track = Track.STATIC if case else Track.DYNAMIC
    return SampleRow(
        task, case, track, 0, 0, Tier.TWIN, Stage.CHECK, outcome, owner, True, right, None, None, metrics, ""
    )


def test_the_score_follows_the_documentation() -> None:
    """A share of passed cases per task, the mean of a level's tasks, and 0.2, 0.3 and 0.5 of the levels."""
    level_of = {"A": 1, "B": 1, "C": 2, "D": 3}
    rows = [
        *(row("A", str(case), case < 3) for case in range(4)),  # 75
        row("B", "0", False),  # 0
        row("C", "", False, cases_passed=4.0, cases_total=10.0),  # 40, all cases by one answer
        row("D", "0", True),  # 100
    ]
    score = score_of(rows, level_of, RULES.weights)
    assert score.levels == {1: 37.5, 2: 40.0, 3: 100.0}
    assert score.total == pytest.approx(0.2 * 37.5 + 0.3 * 40.0 + 0.5 * 100.0)
    assert score_of(rows[:5], level_of, RULES.weights).total is None
    assert score_of([row("C", "", False)], level_of, RULES.weights).levels == {2: 0.0}
    ours = replace(row("A", "9", False), owner=Owner.INFRA)
    assert score_of([*rows, ours], level_of, RULES.weights) == score, "a fault of ours is no zero"
    assert score_of([ours], level_of, RULES.weights) == Score({}, None)


def test_ascendcraft_has_limits_and_values_of_its_own() -> None:
    taken = {task.name: found for task in suite().values() if (found := CRAFT.apply(task)) is not None}
    assert len(taken) == 52
    assert {task.suite for task in taken.values()} == {"ascendcraft"}
    task = taken["CraftGelu"]
    assert (task.tolerance.policy, task.tolerance.limits[DType.FLOAT32]) == ("allclose", ToleranceLimits(1e-4, 1e-4))
    assert task.case("0").inputs["x"].values == ValueSpec("uniform", {"low": 0.0, "high": 1.0})
    assert {case.id for case in task.cases} == {"0", "cpu"}
    assert task.content_hash.startswith(f"{suite()['CraftGelu'].content_hash}+ascendcraft:")


def test_the_reference_is_rounded_before_it_is_compared() -> None:
    """A right result in float16 is up to half a step from a reference in double precision: more than the limit here."""
    expected, limits = np.array([1.584215]), ToleranceLimits(1e-4, 1e-4)
    actual = expected.astype(np.float16)
    assert not pcl(actual, expected, DType.FLOAT16, limits).passed
    assert rounded(actual, expected, DType.FLOAT16, limits).passed
    assert not rounded(np.nextafter(actual, np.float16(9)), expected, DType.FLOAT16, limits).passed


def test_what_is_close_is_close_to_the_sum_of_both_limits() -> None:
    limits = ToleranceLimits(1e-4, 1e-3)
    for expected in (0.0, 1.0, -50.0):
        bound = 1e-4 + 1e-3 * abs(expected)
        for share, right in ((0.99, True), (1.01, False)):
            actual = np.array([expected + share * bound])
            assert allclose(actual, np.array([expected]), DType.FLOAT64, limits).passed is right
    assert not allclose(np.array([0.2]), np.array([0.0]), DType.FLOAT64, ToleranceLimits(0.1, 0.0)).passed
    assert allclose(np.array([0.05]), np.array([0.0]), DType.FLOAT64, ToleranceLimits(0.1, 0.0)).passed


def test_rates_are_shares_of_all_samples() -> None:
    """Four samples: one does not compile, one is wrong however fast, two are right, 0.5 and 1.5 times as fast."""
    rows = [
        replace(row("A", "0", False), compiled=False),
        row("B", "0", False, speedup_eager=9.0),
        row("C", "0", True, speedup_eager=0.5),
        row("D", "0", True, speedup_eager=1.5),
    ]
    rates = rates_of(rows, "speedup_eager", CRAFT.thresholds)
    assert (rates.samples, rates.compiled, rates.passed) == (4, 75.0, 50.0)
    assert rates.fast == {0.2: 50.0, 0.8: 25.0, 1.0: 25.0}
    assert rates_of(rows[:1], "speedup_eager", CRAFT.thresholds).fast == {}


def test_a_run_by_ascendcrafts_rules_prints_its_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--tasks", "CraftRelu:cpu", "--rules", "ascendcraft", "--output_path", str(tmp_path))
    assert main(["run", "--model", "reference", *words]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "By the rules of ascendcraft" in told
    assert "in percent of 1: Comp@1 100.0, Pass@1 100.0, Fast is unknown" in told
    assert main(["run", "--model", "reference", *words, "--checkout", str(tmp_path)]) == 2
    assert "the rules of ascendcraft are not read from a checkout" in capsys.readouterr().err
