"""Is a task fit to grade with? Checks what a schema cannot: that right answers exist and wrong ones are refused.

Per task: a smoke case, a golden kernel, a known numeric policy with limits, a prompt for every case. Per case: the
reference runs and its outputs are finite and vary, every input and attribute matters, and answers that took no work
are refused: zeros, ones, an input passed through, the last row left out, the arithmetic of a smaller type. A finding
that is right for an operator is waived in the task file, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from npukernelbench.errors import NpukbError, TaskError
from npukernelbench.nouns import AttributeValue, Case, DType, Severity, Task, TensorShape, Track
from npukernelbench.reference import expected_outputs, resolve
from npukernelbench.tasks.inputs import generate_inputs

if TYPE_CHECKING:
    from npukernelbench.judge.check import Checker
    from npukernelbench.nouns.execution import Argument, Array
    from npukernelbench.prompts import PromptStyle
    from npukernelbench.registry import Registry

__all__ = ["DEFAULT_MAX_ELEMENTS", "Finding", "validate_task"]

#: Cases with more input and output elements than this are not run unless no smaller one exists.
DEFAULT_MAX_ELEMENTS = 1 << 19

#: Significand bits of the arithmetic that must not pass for an output type's own.
_FEWER_BITS = {DType.FLOAT64: 24, DType.FLOAT32: 11, DType.FLOAT16: 8, DType.BFLOAT16: 5}
#: Outputs smaller than this may be right in a smaller type by luck.
_ENOUGH = 16

_Outputs = dict[str, "Array | list[Array]"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect, or its waiver. ``code`` is stable; ``case`` is empty when the finding is about the whole task."""

    severity: Severity
    code: str
    message: str
    task: str
    case: str = ""

    def __str__(self) -> str:
        place = f"{self.task}:{self.case}" if self.case else self.task
        return f"{place}: {self.severity.value}: {self.message} [{self.code}]"


def validate_task(
    task: Task,
    checkers: Registry,
    styles: Iterable[PromptStyle] = (),
    *,
    seed: int = 0,
    max_elements: int = DEFAULT_MAX_ELEMENTS,
) -> tuple[Finding, ...]:
    """Every finding on one task: errors make it unfit, warnings weaken it, notes are waived findings with their
    reasons.

    ``checkers`` resolves the task's policy, ``styles`` are the prompts to render. An answer that took no work is an
    error when every case that was run accepts it, and a warning in the cases that do.
    """
    found = [*_interface(task, checkers), *_prompts(task, styles)]
    if not any(item.severity is Severity.ERROR for item in found):
        found += _numerics(task, cast("Checker", checkers.find(task.tolerance.policy).load()), seed, max_elements)
    waivers = _waivers(task)
    return tuple(_waived(item, waivers) for item in found)


def _waivers(task: Task) -> Mapping[str, Mapping[str, str]]:
    if not task.path.is_file():
        return {}
    from npukernelbench.tasks.load import read_waivers

    return read_waivers(task.path)


def _waived(finding: Finding, waivers: Mapping[str, Mapping[str, str]]) -> Finding:
    reason = waivers.get(finding.case, {}).get(finding.code) or waivers.get("", {}).get(finding.code)
    if reason is None:
        return finding
    return replace(finding, severity=Severity.NOTE, message=f"{finding.message}; waived: {reason}")


def _interface(task: Task, checkers: Registry) -> Iterator[Finding]:
    """What is wrong without running anything."""
    smoke = sum("smoke" in case.profiles for case in task.cases)
    if smoke != 1:
        yield Finding(Severity.WARNING, "smoke", f"{smoke} cases have the profile smoke; have exactly one", task.name)
    if not any(golden.track is Track.STATIC for golden in task.goldens):
        yield Finding(Severity.WARNING, "golden", "there is no golden kernel for the static track", task.name)
    for name in _problems(lambda: checkers.find(task.tolerance.policy)):
        yield Finding(Severity.ERROR, "policy", name, task.name)
    for name in _problems(lambda: resolve(task.reference)):
        yield Finding(Severity.ERROR, "reference", name, task.name)
    judged = {t.dtype for case in task.cases for value in case.outputs.values() for t in _tensors(value)}
    for dtype in sorted(judged, key=lambda item: item.value):
        if not dtype.is_exact and dtype not in task.tolerance.limits:
            message = f"the tolerance has no limits for the output type {dtype.value}"
            yield Finding(Severity.ERROR, "limits", message, task.name)


def _problems(action: Callable[[], object]) -> Iterator[str]:
    try:
        action()
    except NpukbError as error:
        yield error.message


def _prompts(task: Task, styles: Iterable[PromptStyle]) -> Iterator[Finding]:
    for style in styles:
        for case in task.cases:
            try:
                text = "".join(message.content for message in style.render(task, case, Track.STATIC).messages)
            except Exception as error:  # noqa: BLE001 - boundary: styles may come from plugins
                message = f"the prompt does not render: {type(error).__name__}: {error}"
                yield Finding(Severity.ERROR, "prompt", message, task.name, case.id)
                continue
            missing = [name for name in (task.kernel, *task.arguments) if not re.search(rf"\b{name}\b", text)]
            if missing:
                yield Finding(Severity.ERROR, "prompt", f"the prompt does not name {missing[0]}", task.name, case.id)


def _numerics(task: Task, checker: Checker, seed: int, max_elements: int) -> list[Finding]:
    """Run the reference on the affordable cases and look at what it says."""
    found: list[Finding] = []
    accepted: list[set[str]] = []
    for case in _affordable(task, max_elements):
        try:
            inputs = generate_inputs(task, case, seed)
            expected = expected_outputs(task, case, inputs)
        except TaskError as error:
            found.append(Finding(Severity.ERROR, "reference", error.message, task.name, case.id))
            continue
        found += _values(task, case, expected)
        found += _dependence(task, case, inputs, expected, seed)
        mine = list(_accepted_wrong_answers(task, case, inputs, expected, checker))
        found += mine
        accepted.append({item.code for item in mine})
    for code in sorted(set.intersection(*accepted)) if accepted else ():
        found.append(Finding(Severity.ERROR, code, "every case that was run accepts this wrong answer", task.name))
    return found


def _affordable(task: Task, max_elements: int) -> Sequence[Case]:
    small = [case for case in task.cases if _elements(case) <= max_elements]
    return small or sorted(task.cases, key=_elements)[:1]


def _elements(case: Case) -> int:
    inputs = [
        item for value in case.inputs.values() if value for item in (value if isinstance(value, tuple) else (value,))
    ]
    outputs = [tensor for value in case.outputs.values() for tensor in _tensors(value)]
    return sum(item.tensor.size for item in inputs) + sum(tensor.size for tensor in outputs)


def _values(task: Task, case: Case, expected: _Outputs) -> Iterator[Finding]:
    for name, array, tensor in _flat(case, expected):
        rounded = _as_output(array, tensor.dtype)
        if rounded.size and not np.isfinite(rounded.astype(_wide(tensor.dtype))).all():
            message = f"the expected {name} holds NaN or infinity in {tensor.dtype.value}"
            yield Finding(Severity.ERROR, "non_finite", message, task.name, case.id)
        elif rounded.size > 1 and (rounded == rounded.reshape(-1)[0]).all():
            message = f"the expected {name} is the same value everywhere"
            yield Finding(Severity.ERROR, "constant_output", message, task.name, case.id)


def _dependence(
    task: Task, case: Case, inputs: Mapping[str, Argument], expected: _Outputs, seed: int
) -> Iterator[Finding]:
    """Inputs and attributes whose change changes nothing."""
    redrawn = generate_inputs(task, case, seed + 1)
    for name, value in inputs.items():
        if value is None or (isinstance(value, list) and not value):
            continue
        changed = {**inputs, name: _other(value, redrawn[name])}
        if not _differs(task, case, changed, expected):
            yield Finding(Severity.ERROR, "input_unused", f"the input {name} does not matter", task.name, case.id)
    for attribute in task.attributes:
        others = _other_attributes(task, case, attribute.name)
        cases = [replace(case, attributes={**case.attributes, attribute.name: other}) for other in others]
        if cases and not any(_differs(task, item, inputs, expected) for item in cases):
            message = f"the attribute {attribute.name} does not matter"
            yield Finding(Severity.ERROR, "attribute_unused", message, task.name, case.id)


def _differs(task: Task, case: Case, inputs: Mapping[str, Argument], expected: _Outputs) -> bool:
    """Whether the reference says something else; failing or another shape counts."""
    try:
        actual = expected_outputs(task, case, inputs)
    except TaskError:
        return True
    pairs = zip(_flat(case, actual), _flat(case, expected), strict=True)
    return not all(np.array_equal(new, old, equal_nan=new.dtype.kind in "fc") for (_, new, _), (_, old, _) in pairs)


def _other(value: Array | list[Array], redrawn: Argument) -> Argument:
    """Different values of the same shape and type."""
    if isinstance(value, list):
        rest = redrawn if isinstance(redrawn, list) else []
        return [cast("Array", _other(old, new)) for old, new in zip(value, rest, strict=True)]
    if isinstance(redrawn, np.ndarray) and redrawn.tobytes() != value.tobytes():
        return redrawn
    if value.dtype.kind == "b":
        return np.logical_not(value)
    return (value + np.ones((), dtype=value.dtype)).astype(value.dtype)


def _other_attributes(task: Task, case: Case, name: str) -> list[AttributeValue]:
    value = case.attributes[name]
    others = [item.attributes[name] for item in task.cases if item.attributes[name] != value]
    if isinstance(value, bool):
        return [*others, not value]
    if isinstance(value, (int, float)):
        return [*others, value + 1, value - 1]
    if isinstance(value, tuple):
        return [*others, tuple(item + 1 for item in value)]
    return list(others)


def _accepted_wrong_answers(
    task: Task, case: Case, inputs: Mapping[str, Argument], expected: _Outputs, checker: Checker
) -> Iterator[Finding]:
    """Answers that took no work, one output wrong at a time, that the task's checker lets through."""
    for name, array, tensor in _flat(case, expected):
        for code, what, wrong in _wrong_answers(array, tensor, inputs):
            if _accepts(task, checker, wrong, array, tensor.dtype):
                message = f"{what} passes for the output {name}"
                yield Finding(Severity.WARNING, code, message, task.name, case.id)


def _wrong_answers(
    expected: Array, tensor: TensorShape, inputs: Mapping[str, Argument]
) -> Iterator[tuple[str, str, Array]]:
    """``(code, words, output)`` for everything worth trying on one output; empty outputs have nothing to be wrong."""
    if not expected.size:
        return
    dtype = tensor.dtype
    yield "zeros", "a tensor of zeros", np.zeros(tensor.shape, dtype.numpy())
    yield "ones", "a tensor of ones", np.ones(tensor.shape, dtype.numpy())
    for name, value in inputs.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None and item.shape == tensor.shape and item.dtype == dtype.numpy():
                yield "passthrough", f"the input {name} itself", item
    axis = next((axis for axis, extent in enumerate(tensor.shape) if extent > 1), None)
    if axis is not None:
        short = _as_output(expected, dtype).copy()
        np.moveaxis(short, axis, 0)[-1] = 0
        yield "tail_dropped", "a last row of zeros", short
    if dtype.is_exact and expected.dtype.kind == "f" and expected.size >= _ENOUGH:
        yield "truncated", "rounding towards zero", np.trunc(expected).astype(dtype.numpy())
    if dtype in _FEWER_BITS and expected.size >= _ENOUGH:
        rounded = _round_to_bits(expected, _FEWER_BITS[dtype])
        yield "low_precision", f"arithmetic of {_FEWER_BITS[dtype]} bits", _as_output(rounded, dtype)


def _accepts(task: Task, checker: Checker, actual: Array, expected: Array, dtype: DType) -> bool:
    from npukernelbench.judge.check import exact

    if dtype.is_exact:
        return exact(actual, expected, dtype, task.tolerance.limits.get(dtype)).passed
    return checker(actual, expected, dtype, task.tolerance.limits.get(dtype)).passed


def _flat(case: Case, outputs: _Outputs) -> Iterator[tuple[str, Array, TensorShape]]:
    """``(name, array, declared)`` for every output tensor; those of lists are named ``y[0]``."""
    for name, declared in case.outputs.items():
        value = outputs[name]
        if isinstance(value, list):
            for index, pair in enumerate(zip(value, _tensors(declared), strict=True)):
                yield (f"{name}[{index}]", *pair)
        else:
            yield name, value, _tensors(declared)[0]


def _tensors(value: TensorShape | tuple[TensorShape, ...]) -> tuple[TensorShape, ...]:
    return value if isinstance(value, tuple) else (value,)


def _as_output(values: Array, dtype: DType) -> Array:
    """Rounded to the output's type, to the nearest integer where it is one; overflow to infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.rint(values) if dtype.is_exact and values.dtype.kind == "f" else values).astype(dtype.numpy())


def _wide(dtype: DType) -> np.dtype[Any]:
    return np.dtype(np.complex128 if dtype.is_complex else np.float64)


def _round_to_bits(values: Array, bits: int) -> Array:
    """Float64 values rounded to a significand of that many bits, exponent unlimited."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2.0**bits) / 2.0**bits, exponent)
