"""What the repository's interface does between caller and kernel: the names exist, and rules do what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukernelbench.conformance.dispatch import Dispatch, Rule, load_dispatch, with_limits
from npukernelbench.conformance.scale import MOST_ELEMENTS, elements, scale
from npukernelbench.nouns import DType, Task, TensorShape
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import TaskRegistry, load_registry
from npukernelbench.testing import tiny_case, tiny_task


@pytest.fixture(scope="module")
def tasks() -> TaskRegistry:
    return load_registry(Plugins.load(autoload=False))


def sent(rule: Rule, task: Task):
    return Dispatch({task.name: rule}).send(task, task.cases)


TASK = tiny_task(cases=tuple(tiny_case(str(number)) for number in range(3)))


def test_every_name_in_our_rules_exists(tasks):
    assert list(load_dispatch().problems(tasks)) == []


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (Rule(only=("9",), reason="r"), "no case '9'"),
        (Rule(without={"9": "r"}), "no case '9'"),
        (Rule(shapes={"9": {}}, reason="r"), "no case '9'"),
        (Rule(along=("nothing",), reason="r"), "no tensor 'nothing'"),
        (Rule(shapes={"0": {"nothing": (1,)}}, reason="r"), "no tensor 'nothing'"),
        (Rule(only=("0",)), "no reason"),
    ],
)
def test_a_rule_about_something_that_is_not_there_is_a_problem(rule, problem):
    assert problem in "\n".join(Dispatch({TASK.name: rule}).problems({TASK.name: TASK}))


def test_a_rule_for_no_task_is_a_problem():
    assert list(Dispatch({"Nobody": Rule(none="r")}).problems({})) == ["Nobody: there is no such task"]


def test_without_a_rule_every_case_arrives_unchanged():
    found = Dispatch({}).send(TASK, TASK.cases)
    assert found.cases == TASK.cases
    assert found.kept_back == {}


def test_nothing_arrives_where_the_interface_never_calls_the_kernel():
    found = sent(Rule(none="elsewhere"), TASK)
    assert found.cases == ()
    assert found.kept_back == dict.fromkeys("012", "elsewhere")


def test_only_and_without_keep_cases_back_with_their_reasons():
    found = sent(Rule(only=("0", "1"), reason="too long", without={"1": "wrong type"}), TASK)
    assert [case.id for case in found.cases] == ["0"]
    assert found.kept_back == {"1": "wrong type", "2": "too long"}


def test_types_and_shapes_arrive_as_the_interface_makes_them():
    rule = Rule(dtypes={DType.FLOAT32: DType.FLOAT16}, shapes={"1": {"x": (20,), "y": (20,)}}, reason="cast")
    first, second, _ = sent(rule, TASK).cases
    assert first.outputs == {"y": TensorShape((4, 5), DType.FLOAT16)}
    assert second.outputs == {"y": TensorShape((20,), DType.FLOAT16)}
    assert second.inputs["x"] == replace(TASK.cases[1].inputs["x"], tensor=TensorShape((20,), DType.FLOAT16))


def test_every_public_case_can_be_scaled(tasks):
    dispatch = load_dispatch()
    scaled = 0
    for task in tasks.values():
        if task.suite != "npukernelbench":
            continue
        for case in dispatch.send(task, task.cases).cases:
            found = scale(case, along=dispatch.rule(task.name).along)
            assert elements(found.case) <= MOST_ELEMENTS
            scaled += found.is_smaller
    assert scaled > 0


def test_wider_limits_are_for_conformance_only() -> None:
    rule = Rule(limits={DType.FLOAT32: {"atol": 0.5, "rtol": 0.25}}, reason="r")
    wider = with_limits(TASK, rule)
    assert (wider.tolerance.limits[DType.FLOAT32].atol, wider.tolerance.limits[DType.FLOAT32].rtol) == (0.5, 0.25)
    assert wider.tolerance.policy == TASK.tolerance.policy
    assert with_limits(TASK, Rule()) is TASK
