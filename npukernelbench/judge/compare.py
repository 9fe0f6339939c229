"""Comparing a case's outputs with the reference: count, shape and type first, then the task's numeric policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from npukernelbench.errors import ExecutorError, TaskError
from npukernelbench.judge.check import Checker, CheckResult, exact
from npukernelbench.judge.precision import downgrade
from npukernelbench.nouns import Case, Diagnostic, DType, Outcome, Severity, Task, TensorShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Argument, Array

    Tensors: TypeAlias = Mapping[str, Array | list[Array]]

__all__ = ["Comparison", "Mismatch", "compare", "mismatches"]

_SMALLEST = frozenset({"pcl_pass", "cann_pass"})
_WEIGHTED = frozenset({"mean_rel_error", "mismatch_fraction"})


class Comparison(NamedTuple):
    """The word on all outputs of a case: the first failure in output order, metrics over all outputs."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]
    metrics: Mapping[str, float]


class Mismatch(NamedTuple):
    """An output with wrong elements: what it holds, and which of its elements are wrong (flat)."""

    output: str
    dtype: DType
    actual: Array
    wrong: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Output:
    """One buffer: a whole output, or a member of a tensor list, which is then named ``y[0]``."""

    name: str
    spec: TensorShape
    actual: Array
    expected: Array


def compare(
    task: Task,
    case: Case,
    checker: Checker,
    outputs: Tensors,
    expected: Tensors,
    *,
    inputs: Mapping[str, Argument],
    seed: int,
    blocks: int,
) -> Comparison:
    """Compare what the executor returned with the reference.

    ``seed`` is that of the run request: it tells what the buffers held before. Raises ExecutorError when an output is
    missing and TaskError when the reference does not fit the case: neither is the candidate's fault.
    """
    results: list[tuple[int, CheckResult]] = []
    diagnostics: list[Diagnostic] = []
    for output in _pair(case, outputs, expected):
        result = _check_form(output) or _check_values(task, case, output, checker)
        results.append((output.spec.size, result))
        if not result.passed:
            diagnostics.append(_describe(output, result, inputs, seed, blocks))
        elif said := downgrade(output.actual, output.expected, output.spec.dtype):
            diagnostics.append(_narrow(output, said))
    outcome = next((result.outcome for _, result in results if not result.passed), Outcome.OK)
    return Comparison(outcome, tuple(diagnostics), _merge(results))


def mismatches(task: Task, case: Case, checker: Checker, outputs: Tensors, expected: Tensors) -> Iterator[Mismatch]:
    """The outputs of which single elements are wrong, in output order. Raises what :func:`compare` raises."""
    for output in _pair(case, outputs, expected):
        result = _check_form(output) or _check_values(task, case, output, checker)
        if result.wrong is not None and result.wrong.any():
            yield Mismatch(output.name, output.spec.dtype, output.actual, result.wrong)


def _pair(case: Case, outputs: Tensors, expected: Tensors) -> Iterator[_Output]:
    for name, spec in case.outputs.items():
        if name not in outputs:
            raise ExecutorError(f"the executor returned no output '{name}'")
        if name not in expected:
            raise TaskError(f"the reference yields no output '{name}'", field=f"cases.{case.id}")
        if isinstance(spec, TensorShape):
            yield _output(case, name, spec, outputs[name], expected[name])
            continue
        actual, wanted = outputs[name], expected[name]
        if not isinstance(actual, list) or len(actual) != len(spec):
            raise ExecutorError(f"the executor did not return the {len(spec)} tensors of output '{name}'")
        if not isinstance(wanted, list) or len(wanted) != len(spec):
            raise TaskError(f"the reference does not yield the {len(spec)} tensors of output '{name}'")
        for i, member in enumerate(spec):
            yield _output(case, f"{name}[{i}]", member, actual[i], wanted[i])


def _output(case: Case, name: str, spec: TensorShape, actual: object, expected: object) -> _Output:
    import numpy as np

    wanted = np.asarray(expected)
    if wanted.shape != spec.shape:
        raise TaskError(
            f"the reference yields shape {wanted.shape} for output '{name}', the case declares {spec.shape}",
            field=f"cases.{case.id}",
        )
    return _Output(name, spec, np.asarray(actual), wanted)


def _check_form(output: _Output) -> CheckResult | None:
    """A failed result if shape or type are wrong, None if both are right."""
    if output.actual.shape != output.spec.shape:
        reason = f"the shape is {_shape(output.actual.shape)}, expected {_shape(output.spec.shape)}"
        return CheckResult(False, Outcome.WRONG_SHAPE, {}, reason)
    if output.actual.dtype != output.spec.dtype.numpy():
        reason = f"the element type is {output.actual.dtype}, expected {output.spec.dtype.value}"
        return CheckResult(False, Outcome.WRONG_DTYPE, {}, reason)
    return None


def _check_values(task: Task, case: Case, output: _Output, checker: Checker) -> CheckResult:
    dtype = output.spec.dtype
    # Decided here, so that a plugin's policy need not know integers.
    policy = exact if dtype.is_exact else checker
    return policy(output.actual, output.expected, dtype, case.limits.get(dtype) or task.tolerance.limits.get(dtype))


def _describe(
    output: _Output, result: CheckResult, inputs: Mapping[str, Argument], seed: int, blocks: int
) -> Diagnostic:
    rule = result.outcome.value
    headline = f"output {output.name}: {result.reason or result.outcome.meaning}"
    if result.wrong is None or not result.wrong.any():
        return Diagnostic(Severity.ERROR, rule, headline, details={"output": output.name})
    import numpy as np

    from npukernelbench.judge.explain import explain
    from npukernelbench.judge.patterns import Surroundings
    from npukernelbench.judge.poison import poison

    # No pattern compares an output with a list of tensors.
    tensors = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    around = Surroundings(poison(output.spec.nbytes, seed, output.name), tensors, blocks)
    words = explain(output.name, output.actual, output.expected, output.spec.dtype, result.wrong, around)
    message = f"{headline}\n{words.text}"
    return Diagnostic(Severity.ERROR, rule, message, remedy=words.remedy, details=words.details)


def _narrow(output: _Output, said: str) -> Diagnostic:
    message = f"output {output.name} looks as if computed in a narrower type than float32: {said}"
    remedy = "Keep float32 from the inputs to the outputs."
    return Diagnostic(Severity.WARNING, "precision_downgrade", message, remedy=remedy, details={"output": output.name})


def _merge(results: list[tuple[int, CheckResult]]) -> dict[str, float]:
    """Metrics over all outputs: verdicts by their minimum, shares and means by size, everything else by its maximum."""
    names = sorted({name for _, result in results for name in result.metrics})
    merged: dict[str, float] = {}
    for name in names:
        having = [(size, result.metrics[name]) for size, result in results if name in result.metrics]
        values = [value for _, value in having]
        # 0 where all outputs are empty: then nothing can be weighed.
        total = sum(size for size, _ in having)
        if name in _SMALLEST:
            merged[name] = min(values)
        elif name in _WEIGHTED and total:
            merged[name] = sum(size * value for size, value in having) / total
        else:
            merged[name] = max(values)
    return merged


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(str(extent) for extent in shape)}]"
