"""What the repository's interface does between caller and kernel: the names exist, and rules do what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukb_conformance.dispatch import Dispatch, Rule, as_judged, as_launched, load_dispatch, with_limits
from npukb_conformance.scale import MOST_ELEMENTS, elements
from npukernelbench.nouns import Case, DType, Task, TensorCase, TensorShape, ValueSpec
from npukernelbench.tasks import TaskRegistry
from npukernelbench.testing import tiny_case, tiny_task
from tests.suite import suite


@pytest.fixture(scope="module")
def tasks() -> TaskRegistry:
    return suite()


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
        (Rule(room={"nothing": "x"}, reason="r"), "no tensor 'nothing'"),
        (Rule(room={"y": "nothing[:-1]"}, reason="r"), "no tensor 'nothing'"),
        (Rule(real=("nothing",), reason="r"), "no tensor 'nothing'"),
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


def case(dtype: DType, x: tuple[int, ...], y: tuple[int, ...]) -> Case:
    return Case("0", {"x": TensorCase(TensorShape(x, dtype), ValueSpec())}, {"y": TensorShape(y, DType.FLOAT32)}, {})


def test_room_is_made_for_outputs_that_the_task_leaves_empty():
    empty = case(DType.FLOAT16, (6, 4), (0,))
    assert as_launched(empty, Rule(room={"y": "x"})).outputs["y"] == TensorShape((6, 4), DType.FLOAT32)
    assert as_launched(empty, Rule(room={"y": "x[:-1]"})).outputs["y"] == TensorShape((6,), DType.FLOAT32)
    full = case(DType.FLOAT16, (6, 4), (6, 4))
    assert as_launched(full, Rule(room={"y": "x[:-1]"})) is full


def test_complex_inputs_give_complex_outputs_where_a_rule_says_so():
    rule = Rule(real=("y",))
    assert as_launched(case(DType.COMPLEX64, (3,), (3,)), rule).outputs["y"] == TensorShape((3,), DType.COMPLEX64)
    plain = case(DType.FLOAT32, (3,), (3,))
    assert as_launched(plain, rule) is plain


def test_a_kernel_of_fixed_extents_is_judged_on_whole_cases():
    large = case(DType.FLOAT32, (96 << 20, 1), (96 << 20, 1))
    assert as_judged(TASK, large, Rule(whole=True)).case is large
    assert elements(as_judged(TASK, large, Rule()).case) <= MOST_ELEMENTS


def test_every_public_case_can_be_scaled(tasks):
    dispatch = load_dispatch()
    scaled = 0
    for task in tasks.values():
        if task.suite != "npukernelbench":
            continue
        rule = dispatch.rule(task.name)
        for case in dispatch.send(task, task.cases).cases:
            found = as_judged(task, case, rule)
            assert rule.whole or elements(found.case) <= MOST_ELEMENTS
            scaled += found.is_smaller
    assert scaled > 0


def test_wider_limits_are_for_conformance_only() -> None:
    rule = Rule(limits={DType.FLOAT32: {"atol": 0.5, "rtol": 0.25}}, reason="r")
    wider = with_limits(TASK, rule)
    assert (wider.tolerance.limits[DType.FLOAT32].atol, wider.tolerance.limits[DType.FLOAT32].rtol) == (0.5, 0.25)
    assert wider.tolerance.policy == TASK.tolerance.policy
    assert with_limits(TASK, Rule()) is TASK
