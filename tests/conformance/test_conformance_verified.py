"""The suite's own conditions: what they are, when they are tried, and that every miss is explained."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from npukb_conformance import formulas
from npukb_conformance.dispatch import Dispatch, Rule, load_dispatch
from npukb_conformance.formulas import group_norm_swish_grad
from npukb_conformance.misses import Explanation, load_misses, mismatches, unknown_names
from npukb_conformance.page import conformance_page
from npukb_conformance.record import Records
from npukb_conformance.report import ConformanceTotals
from npukb_conformance.scale import elements
from npukb_conformance.sitting import OperatorResult
from npukb_conformance.verified import Condition, Verification, load_verification
from npukernelbench.errors import UsageError
from npukernelbench.judge.score import score
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.execution import Allocation, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import CaseResult, Verdict
from npukernelbench.nouns.task import ValueSpec
from npukernelbench.reference import norm_grad
from npukernelbench.tasks import TaskRegistry
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, tiny_case, tiny_task
from tests.conformance.test_conformance_sitting import sitting
from tests.suite import suite

TASK = tiny_task("Right", cases=(tiny_case("0"), tiny_case("1")))
UNIT = ValueSpec("uniform", {"low": 0.0, "high": 1.0})
UNIT_VALUES = Verification({"Right": {"x": {"rest": UNIT}}})
REASON = "It is written so, and here is how we know it for certain."


@pytest.fixture(scope="module")
def tasks() -> TaskRegistry:
    return suite()


def test_our_files_name_what_there_is(tasks):
    assert load_verification().problems(tasks) == []
    assert list(unknown_names(load_misses(), tasks)) == []


def test_the_suites_values_can_be_drawn_for_every_operator(tasks):
    verification = load_verification()
    for name in verification.values:
        task = tasks[name]
        case = min(task.cases, key=elements)
        _, arranged = verification.arrange(task, case, Rule(), [Condition.VALUES])
        inputs = list(flat(generate_inputs(task, arranged, 1)))
        assert [x.shape for x in inputs] == [x.shape for x in flat(generate_inputs(task, case, 1))]


def flat(inputs):
    for value in inputs.values():
        yield from value if isinstance(value, list) else () if value is None else (value,)


@pytest.mark.parametrize(
    ("spec", "dtype", "low", "high"),
    [
        (ValueSpec("normal", {"mean": 0.0, "std": 1.0}), DType.INT32, -3, 4),
        (ValueSpec("normal", {"mean": 0.0, "std": 1.0}), DType.UINT8, 0, 4),
        (ValueSpec("uniform", {"low": 1.0, "high": 10.0}), DType.INT64, 1, 10),
        (ValueSpec("uniform", {"low": 0.0, "high": 1.0}), DType.INT8, 0, 1),
    ],
)
def test_integers_get_the_whole_numbers_of_a_range(tasks, spec, dtype, low, high):
    less = tasks["Less"]
    case = replace(less.cases[0], inputs={"x1": replace(less.cases[0].inputs["x1"])})
    tensor = replace(case.inputs["x1"].tensor, dtype=dtype)
    case = replace(case, inputs={"x1": replace(case.inputs["x1"], tensor=tensor)})
    verification = Verification({"Less": {"x1": {"rest": spec}}})
    _, arranged = verification.arrange(less, case, Rule(), [Condition.VALUES])
    assert arranged.inputs["x1"].values == ValueSpec("integers", {"low": low, "high": high})


def test_unknown_names_are_refused():
    explanations = {"Right": [Explanation(cases=("0", "9"), fault="kernel", why=REASON)], "Nobody": []}
    assert list(unknown_names(explanations, {"Right": TASK})) == [
        "Right: there is no case '9'",
        "Nobody: there is no such task",
    ]
    twice = [Explanation(cases=("0",), fault="kernel", why=REASON)] * 2
    assert list(unknown_names({"Right": twice}, {"Right": TASK})) == ["Right: case 0 is explained twice"]
    values = Verification({"Right": {"z": {"rest": UNIT}, "x": {"int4": UNIT}}, "Nobody": {}})
    assert values.problems({"Right": TASK}) == [
        "Right: there is no input 'z'",
        "Right: 'x' is never int4",
        "Nobody: there is no such task",
    ]


def verdict(outcome: Outcome, *rules: str) -> Verdict:
    said = tuple(Diagnostic(Severity.ERROR, rule, "said") for rule in rules)
    return score(Track.DYNAMIC, Tier.TWIN, [CaseResult("0", Stage.RUN, outcome, said, {})], (), {})


@pytest.mark.parametrize(
    ("outcome", "rules", "taken", "expected"),
    [
        (Outcome.OK, [], [], None),
        (Outcome.RULE_VIOLATION, ["illegal_read"], [], Condition.MEMORY),
        (Outcome.RULE_VIOLATION, ["illegal_read", "illegal_write"], [], Condition.MEMORY),
        (Outcome.RULE_VIOLATION, ["illegal_read"], [Condition.MEMORY], None),
        (Outcome.RULE_VIOLATION, ["illegal_read", "misaligned"], [], None),
        (Outcome.WRONG_VALUE, ["wrong_value"], [], Condition.FORMULA),
        (Outcome.NON_FINITE, ["non_finite"], [Condition.FORMULA], Condition.VALUES),
        (Outcome.WRONG_VALUE, ["wrong_value"], [Condition.FORMULA, Condition.VALUES], None),
        (Outcome.CRASH, ["crash"], [], None),
        (Outcome.TIMEOUT, ["timeout"], [], None),
    ],
)
def test_only_conditions_that_may_explain_a_miss_are_tried(outcome, rules, taken, expected):
    rule = Rule(formula="npukb_conformance.formulas:group_norm_swish_grad", reason="r")
    assert UNIT_VALUES.next(verdict(outcome, *rules), TASK.cases[0], rule, TASK, taken) is expected


class Picky(FakeExecutor):
    """Breaks a rule in exact memory, and gives wrong values where an input leaves 0 to 1."""

    def run(self, request: RunRequest) -> Observation:
        if request.case.id == "1" and request.allocation is Allocation.EXACT:
            said = Diagnostic(Severity.ERROR, "illegal_read", "reads bytes 0 to 64 of 'x'\nmore")
            return Observation(Outcome.RULE_VIOLATION, {}, (said,))
        seen = super().run(request)
        inside = all(x.min() >= 0 and x.max() <= 1 for x in request.inputs.values())
        return seen if inside else replace(seen, outputs={name: y + 9 for name, y in seen.outputs.items()})


@pytest.fixture
def picky(write_operator, tmp_path) -> OperatorResult:
    found = sitting(
        write_operator("Right"),
        Picky(FakeExecutorArgs(tracks=(Track.DYNAMIC,))),
        tmp_path / "records",
        verification=UNIT_VALUES,
    )
    return found["Right"]


def test_a_miss_is_judged_again_and_recorded_with_what_it_needed(picky, tmp_path):
    assert picky.passes
    assert [case.conceded for case in picky.cases] == ["values", "memory, values"]
    assert picky.cases[0].strict.startswith("wrong_value: output y")
    assert picky.cases[1].strict == "rule_violation: reads bytes 0 to 64 of 'x'"
    totals = ConformanceTotals.of([picky])
    assert (totals.passing, totals.strict) == (1, 0)
    lines = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert [line["conceded"] for line in lines if line["event"] == "case"] == ["values", "memory, values"]
    again = Records(tmp_path / "records")
    case = picky.cases[1]
    assert again.find(operator="Right", variant="answer", key=case.key, case="1", scaled="") == case


def test_without_the_suites_conditions_it_stays_a_miss(write_operator, tmp_path):
    executor = Picky(FakeExecutorArgs(tracks=(Track.DYNAMIC,)))
    found = sitting(write_operator("Right"), executor, tmp_path / "records")["Right"]
    assert [case.verdict.outcome for case in found.cases] == [Outcome.WRONG_VALUE, Outcome.RULE_VIOLATION]
    assert [case.conceded for case in found.cases] == ["", ""]


def test_a_page_explains_every_miss_and_nothing_else(picky):
    whole = {"Right": [Explanation(cases=("0", "1"), fault="kernel", why=REASON)]}
    assert list(mismatches([picky], whole)) == []
    page = conformance_page([picky], whole, {"executor": "fake"})
    assert "| Right | 0, 1 | values, memory, values | wrong_value: output y" in page
    assert f"| kernel | {REASON} |" in page
    assert "| Right | yes | 2 of 2 | 0 | memory 1, values 2 |" in page
    half = {"Right": [Explanation(cases=("0",), fault="kernel", why=REASON)]}
    with pytest.raises(UsageError, match="no reason is given why case 1 is not right"):
        conformance_page([picky], half, {})
    clean = replace(picky, cases=tuple(replace(case, conceded="", strict="") for case in picky.cases))
    with pytest.raises(UsageError, match="case 1 is right but has a reason"):
        conformance_page([clean], whole, {})


def test_a_miss_has_a_row_of_its_own(write_operator, executor_told, tmp_path):
    found = sitting(write_operator("Right", word="tail"), executor_told, tmp_path / "records")["Right"]
    explained = {"Right": [Explanation(cases=("0", "1"), fault="twin", why=REASON)]}
    page = conformance_page([found], explained, {"executor": "fake"})
    assert "| Right | 0 of 2 | case 0: wrong_value" in page
    assert f"| twin | {REASON} |" in page
    assert "**0 of 1**" in page


@pytest.fixture
def executor_told() -> FakeExecutor:
    return FakeExecutor(FakeExecutorArgs(tracks=(Track.DYNAMIC,)))


def test_the_formula_without_the_scale_is_the_other_one_where_the_scale_is_one(tasks):
    task = tasks["GroupNormSwishGrad"]
    assert load_dispatch().rule(task.name).formula.endswith(":group_norm_swish_grad")
    case = next(one for one in task.cases if one.id == "0")
    inputs = {name: np.asarray(value, np.float64) for name, value in generate_inputs(task, case, 1).items()}
    same = [f(**inputs, **case.attributes) for f in (group_norm_swish_grad, norm_grad.group_norm_swish_grad)]
    for ours, theirs in zip(*same, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    scaled = {**case.attributes, "swish_scale": 0.5}
    other = [f(**inputs, **scaled)[0] for f in (group_norm_swish_grad, norm_grad.group_norm_swish_grad)]
    assert np.abs(other[0] - other[1]).max() > 1e-3


def test_a_rule_whose_formula_is_not_there_is_refused():
    rule = Rule(formula="npukb_conformance.formulas:nothing", reason="r")
    (problem,) = Dispatch({"Right": rule}).problems({"Right": TASK})
    assert "there is no function" in problem


def test_formulas_on_half_tensors_round_after_every_operation_and_others_do_not():
    """Against NumPy's own operations on float16; tensors of bfloat16 and float32 are computed in double precision."""
    chance = np.random.default_rng(1)
    drawn = [chance.uniform(0.5, 2.0, 500) for _ in range(3)]
    x, y, z = halves = [values.astype(np.float16) for values in drawn]
    scalar = np.array([0.75], np.float16)
    wide = [values.astype(np.float64) for values in (*halves, scalar)]
    assert np.array_equal(formulas.addcdiv(*wide), x + y / z * scalar)
    [listed] = formulas.addcdiv_list([wide[0]], [wide[1]], [wide[2]], wide[3])
    assert np.array_equal(listed, x + y / z * scalar)
    [difference] = formulas.sub_list([wide[0]], [wide[1]], wide[3])
    assert np.array_equal(difference, x - y * scalar)
    assert not np.array_equal(difference, wide[0] - wide[1] * 0.75)
    brain = [(values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32) for values in drawn]
    for other in (brain, [values.astype(np.float32) for values in drawn]):
        a, b, c = (values.astype(np.float64) for values in other)
        assert np.array_equal(formulas.addcdiv(a, b, c, wide[3]), a + b / c * 0.75)
    for name in ("Addcdiv", "ForeachAddcdivList", "ForeachAddcdivScalarList", "ForeachSubList"):
        assert load_dispatch().rule(name).formula
