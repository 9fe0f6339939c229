"""The walk over lists that golden kernels of Foreach operators share: long lists, empty tensors, and mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.outcomes import Outcome, Severity
from npukernelbench.nouns.sample import Verdict
from npukernelbench.nouns.task import Case, CaseInput, Presence, Task, TensorCase, TensorShape, ValueSpec
from tests.goldens.test_dynamic_goldens import SUITE, judge
from tests.goldens.test_goldens import assert_faultless
from tests.judging import all_said
from tests.tables import read_table

__all__ = ["judge"]

#: 50 tensors, as many as the interface allows: empty ones, single elements, tails, several tiles for every core.
MANY = (*(0, 1, 2, 15, 0, 129, 301, 8191, 128, 257, 20011, 1) * 4, 0, 1_000_003)
EMPTY = (0, 0)
OPERATORS = ("ForeachAbs", "ForeachSubList", "ForeachDivScalarList", "ForeachAddcmulScalarList", "ForeachSign")
OWN_WALK = ("ForeachCopy", "ForeachZeroInplace", "ForeachNorm", "ForeachNonFiniteCheckAndUnscale")


def of_list(task: Task, case: Case, sizes: tuple[int, ...]) -> Case:
    """The case with lists of tensors of these sizes."""
    inputs: dict[str, CaseInput] = {}
    for spec in task.inputs:
        value = case.inputs[spec.name]
        if spec.presence is Presence.DYNAMIC:
            assert isinstance(value, tuple)
            inputs[spec.name] = tuple(_sized(value[0], size) for size in sizes)
        elif spec.name == "scalars":
            assert isinstance(value, TensorCase)
            few = ValueSpec("choice", {"values": value.values.args["values"]})
            inputs[spec.name] = replace(_sized(value, len(sizes)), values=few)
        else:
            inputs[spec.name] = value
    outputs = dict(case.outputs)
    for output in task.outputs:
        expected = case.outputs[output.name]
        if isinstance(expected, tuple):
            shapes = [(size,) if output.shape_like else () for size in sizes]
            outputs[output.name] = tuple(TensorShape(shape, expected[0].dtype) for shape in shapes)
    return replace(case, id=f"list{len(sizes)}", inputs=inputs, outputs=outputs)


def _sized(item: TensorCase, size: int) -> TensorCase:
    return replace(item, tensor=TensorShape((size,), item.tensor.dtype))


def case_of(task: Task, dtype: DType) -> Case:
    """A public case whose lists have this element type."""
    lists = [spec.name for spec in task.inputs if spec.presence is Presence.DYNAMIC]
    return next(case for case in task.cases if case.inputs[lists[0]][0].tensor.dtype is dtype)  # type: ignore[index]


@pytest.mark.parametrize("name", OPERATORS + OWN_WALK)
def test_lists(judge: Callable[..., Verdict], name: str) -> None:
    task = SUITE[name]
    dtypes = [dtype for dtype in (DType.BFLOAT16, DType.INT64) if dtype in task.inputs[0].dtypes]
    cases = [replace(of_list(task, case_of(task, dtype), MANY), id=dtype.value) for dtype in dtypes]
    cases.append(of_list(task, task.case("smoke"), EMPTY))
    assert_faultless(judge(task, cases))


MISTAKES = read_table(Path(__file__).with_name("foreach_mistakes.yaml"))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(judge: Callable[..., Verdict], mistake: str) -> None:
    file, old, new = MISTAKES[mistake].values()

    def edit(files: Mapping[str, str]) -> Mapping[str, str]:
        assert old in files[file]
        return {**files, file: files[file].replace(old, new)}

    task = SUITE["ForeachSubList"]
    case = case_of(task, DType.BFLOAT16)
    alpha = case.inputs["alpha"]
    assert isinstance(alpha, TensorCase)
    case = replace(case, inputs={**case.inputs, "alpha": replace(alpha, values=ValueSpec("constant", {"value": 1.5}))})
    verdict = judge(task, [of_list(task, case, MANY)], edit)
    said = all_said(verdict)
    assert verdict.outcome in (Outcome.WRONG_VALUE, Outcome.NON_FINITE, Outcome.RULE_VIOLATION), said
    assert any(diagnostic.severity is Severity.ERROR for diagnostic in said)
