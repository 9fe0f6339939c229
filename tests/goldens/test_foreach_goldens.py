"""The walk over lists that golden kernels of Foreach operators share: long lists, empty tensors, and mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.outcomes import Outcome, Severity
from npukernelbench.nouns.sample import Verdict
from npukernelbench.nouns.task import Case, CaseInput, Presence, Task, TensorCase, TensorShape, ValueSpec
from tests.goldens.test_dynamic_goldens import SUITE, judge
from tests.goldens.test_goldens import assert_faultless

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


HEADER, KERNEL, HOST = "op_kernel/foreach.h", "op_kernel/foreach_sub_list.cpp", "op_host/foreach_tiling.h"
MISTAKES = {
    "drops the tail": (HEADER, "offset < count;", "offset + TILE <= count;"),
    "every other tile": (HEADER, "offset += TILE", "offset += 2 * TILE"),
    "last tile not cut": (HEADER, "count - offset < TILE ? count - offset : TILE", "TILE"),
    "last share not cut": (HEADER, "total - begin < share ? total - begin : share", "share"),
    "share rounded down": (
        HEADER,
        "(total + stripe - 1) / stripe * GRANULE",
        "(total / stripe + (total < stripe)) * GRANULE",
    ),
    "every core takes the first share": (HEADER, "% cores * share;", "% cores * 0;"),
    "all lists into one tile": (HEADER, "DataCopyPad(x[i * TILE]", "DataCopyPad(x[0]"),
    "the address of another tensor": (HEADER, "sizeof(uint64_t) + k]", "sizeof(uint64_t)]"),
    "elements for bytes": (
        HEADER,
        "DataCopyPad(yGlobal[offset], y, copy)",
        "DataCopyPad(yGlobal[offset], y, {1, length, 0, 0, 0})",
    ),
    "truncates": (HEADER, "RoundMode::CAST_RINT, length", "RoundMode::CAST_TRUNC, length"),
    "x never freed": (HEADER, "xQueue.FreeTensor(x);", ""),
    "y never enqueued": (HEADER, "yQueue.EnQue(y);", ""),
    "more than the unified buffer": (HEADER, "BUFFER_BYTES = 128", "BUFFER_BYTES = 256"),
    "operands swapped": (KERNEL, "Sub(y, x1, x2", "Sub(y, x2, x1"),
    "factor forgotten": (KERNEL, "this->scalar", "1.0f"),
    "sizes of the list's first half": (HOST, "tiling.set_count(count);", "tiling.set_count(count / 2);"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(judge: Callable[..., Verdict], mistake: str) -> None:
    file, old, new = MISTAKES[mistake]

    def edit(files: Mapping[str, str]) -> Mapping[str, str]:
        assert old in files[file]
        return {**files, file: files[file].replace(old, new)}

    task = SUITE["ForeachSubList"]
    case = case_of(task, DType.BFLOAT16)
    alpha = case.inputs["alpha"]
    assert isinstance(alpha, TensorCase)
    case = replace(case, inputs={**case.inputs, "alpha": replace(alpha, values=ValueSpec("constant", {"value": 1.5}))})
    verdict = judge(task, [of_list(task, case, MANY)], edit)
    said = [*verdict.diagnostics, *(diagnostic for case in verdict.cases for diagnostic in case.diagnostics)]
    assert verdict.outcome in (Outcome.WRONG_VALUE, Outcome.NON_FINITE, Outcome.RULE_VIOLATION), said
    assert any(diagnostic.severity is Severity.ERROR for diagnostic in said)
