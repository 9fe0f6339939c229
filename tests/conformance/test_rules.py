"""NPUKernelBench's rules: limits, values and cases of its tasks; its score on worked examples; runs under them."""

from __future__ import annotations

import pytest

from npukb_conformance.rules import RULES
from npukernelbench.errors import PluginError, UsageError
from npukernelbench.nouns import DType, Outcome, Owner, Stage, Tier, Track
from npukernelbench.nouns.results import SampleRow
from npukernelbench.plugins import Plugins
from npukernelbench.report.score import score_of
from npukernelbench.tasks.rules import load_rules, under_rules
from npukernelbench.tasks.select import Selected, select
from tests.suite import suite


def limit(name: str, dtype: DType) -> float:
    task = RULES.apply(suite()[name])
    assert task is not None
    found = task.tolerance.limits[dtype]
    assert found.atol == found.rtol
    return found.rtol


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
            assert found.tolerance.policy == "pcl"
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
    [one] = under_rules(select(tasks, ["Sqrt"]), RULES)
    assert isinstance(one, Selected)
    assert one.cases == one.task.cases


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
    found = score_of(rows, level_of, RULES.weights)
    assert found.levels == {1: 37.5, 2: 40.0, 3: 100.0}
    assert found.total == pytest.approx(0.2 * 37.5 + 0.3 * 40.0 + 0.5 * 100.0)
    assert score_of(rows[:5], level_of, RULES.weights).total is None
    assert score_of([row("C", "", False)], level_of, RULES.weights).levels == {2: 0.0}
