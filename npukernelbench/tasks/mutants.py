"""Wrong answers to try on a task's checker: those that took no work, and right ones with one mistake.

An answer without work (zeros, an input handed through, the last row left out) counts as a survivor even where it
happens to be right, since then the case cannot tell. A mistake (shifted, swapped, sign flipped, scaled, one element)
that changes nothing is no mistake and is not tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npukernelbench.nouns import Case, DType, Task, TensorShape

if TYPE_CHECKING:
    from npukernelbench.judge.check import Checker
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["CODES", "Mutant", "Output", "as_output", "flat_outputs", "mutants", "survives"]

#: What the codes of findings mean; see docs/tasks.md.
CODES = (
    "zeros",
    "ones",
    "constant",
    "passthrough",
    "tail_dropped",
    "low_precision",
    "truncated",
    "shifted",
    "swapped",
    "sign_flipped",
    "scaled",
    "one_wrong",
)

#: Significand bits of the arithmetic that must not pass for an output type's own.
# Those of the next smaller type: 24, 11 and 8 are what float32, float16 and bfloat16 have.
_FEWER_BITS = {DType.FLOAT64: 24, DType.FLOAT32: 11, DType.FLOAT16: 8, DType.BFLOAT16: 5}
#: Outputs smaller than this may be right in a smaller type by luck.
_ENOUGH = 16
#: How far beyond the tolerance an answer is scaled.
_BEYOND = 10.0
#: The ragged tail that a kernel may forget: what is left after whole blocks of this many bytes.
_BLOCK_BYTES = 32


class Output(NamedTuple):
    """One output tensor: what is expected (float64 or complex128, or exact) and what the case declares."""

    name: str
    expected: Array
    tensor: TensorShape


class Mutant(NamedTuple):
    """A wrong answer for one output. ``code`` names its kind for findings, ``words`` says what it is."""

    code: str
    words: str
    answer: Array


def flat_outputs(case: Case, outputs: Mapping[str, Array | list[Array]]) -> Iterator[Output]:
    """Every output tensor; those of lists are named ``y[0]``."""
    for name, declared in case.outputs.items():
        value = outputs[name]
        if isinstance(value, list):
            tensors = declared if isinstance(declared, tuple) else (declared,)
            for index, (array, tensor) in enumerate(zip(value, tensors, strict=True)):
                yield Output(f"{name}[{index}]", array, tensor)
        elif isinstance(declared, TensorShape):
            yield Output(name, value, declared)


def as_output(values: Array, dtype: DType) -> Array:
    """Rounded to the output's type, to the nearest integer where it is one; overflow to infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(values) if dtype.is_exact and values.dtype.kind == "f" else values
        return np.asarray(rounded.astype(dtype.numpy()))


def survives(task: Task, checker: Checker, output: Output, answer: Array) -> bool:
    """Whether the task's checker takes ``answer`` for right."""
    from npukernelbench.judge.check import exact

    dtype = output.tensor.dtype
    policy = exact if dtype.is_exact else checker
    return policy(answer, output.expected, dtype, task.tolerance.limits.get(dtype)).passed


def mutants(task: Task, output: Output, outputs: Sequence[Output], inputs: Mapping[str, Argument]) -> Iterator[Mutant]:
    """Everything worth trying on one of ``outputs``; empty ones have nothing to be wrong."""
    if not output.expected.size:
        return
    right = as_output(output.expected, output.tensor.dtype)
    yield from _without_work(output, right, inputs)
    # No other shape or type can be written in its place.
    alike = [other for other in outputs if other.name != output.name and other.tensor == output.tensor]
    for mutant in _mistakes(task, output, right, next(iter(alike), None)):
        if not _same(mutant.answer, right, output.tensor.dtype):
            yield mutant


def _without_work(output: Output, right: Array, inputs: Mapping[str, Argument]) -> Iterator[Mutant]:
    shape, dtype = output.tensor.shape, output.tensor.dtype
    yield Mutant("zeros", "a tensor of zeros", np.zeros(shape, dtype.numpy()))
    yield Mutant("ones", "a tensor of ones", np.ones(shape, dtype.numpy()))
    for name, value in inputs.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None and item.shape == shape and item.dtype == dtype.numpy():
                yield Mutant("passthrough", f"the input {name} itself", item)
    axis = next((axis for axis, extent in enumerate(shape) if extent > 1), None)
    if axis is not None:
        short = right.copy()
        # `moveaxis` gives a view, so that `short` itself changes.
        np.moveaxis(short, axis, 0)[-1] = 0
        yield Mutant("tail_dropped", "a last row of zeros", short)
    # Of quantised outputs only: expected values of others are whole already.
    if dtype.is_exact and output.expected.dtype.kind == "f" and right.size >= _ENOUGH:
        yield Mutant("truncated", "rounding towards zero", np.trunc(output.expected).astype(dtype.numpy()))
    # Flags have no digits to lose.
    if dtype in _FEWER_BITS and right.size >= _ENOUGH and not np.isin(output.expected, (0, 1)).all():
        rounded = _round_to_bits(output.expected, _FEWER_BITS[dtype])
        yield Mutant("low_precision", f"arithmetic of {_FEWER_BITS[dtype]} bits", as_output(rounded, dtype))


def _mistakes(task: Task, output: Output, right: Array, other: Output | None) -> Iterator[Mutant]:
    flat, shape, dtype = right.reshape(-1), output.tensor.shape, output.tensor.dtype
    if right.size >= _ENOUGH:
        middle = np.full(shape, flat[flat.size // 2])
        yield Mutant("constant", "one of its values everywhere", middle)
        tail = flat.size - flat.size % max(1, _BLOCK_BYTES // dtype.itemsize)
        if 0 < tail < flat.size:
            yield Mutant(
                "tail_dropped", "a tail of zeros after whole 32-byte blocks", _with(right, slice(tail, None), 0)
            )
    yield Mutant("shifted", "the values one place further", np.roll(flat, 1).reshape(shape))
    if other is not None:
        yield Mutant("swapped", f"the output {other.name} in its place", as_output(other.expected, dtype))
    if right.dtype.kind not in "bu":
        yield Mutant("sign_flipped", "the values with their signs flipped", _negated(right))
    if not dtype.is_exact:
        factor = 1.0 + _BEYOND * _relative_tolerance(task, dtype)
        yield Mutant("scaled", f"the values times {factor:.6g}", as_output(np.multiply(output.expected, factor), dtype))
    yield Mutant("one_wrong", "one wrong element", _with(right, -1, _different(flat[-1], dtype)))


def _relative_tolerance(task: Task, dtype: DType) -> float:
    """The relative error that the task's policy allows a single element, at least half a unit in the last place."""
    from npukernelbench.judge.numerics import DEFAULT_LIMITS, FLOATS

    limits, form = task.tolerance.limits.get(dtype, DEFAULT_LIMITS[dtype]), FLOATS[dtype]
    step = 2.0**-form.digits
    if task.tolerance.policy == "ulp":
        return max(limits.rtol, 0.5) * step
    if task.tolerance.policy == "cann":
        # The policy lets single errors reach ten times its threshold.
        return form.threshold * 10.0
    return max(limits.rtol, step / 2)


def _different(value: Any, dtype: DType) -> Any:
    """A value that no tolerance confuses with ``value``."""
    if dtype is DType.BOOL:
        return not value
    if dtype.is_exact:
        # Towards zero: one more than the largest number would wrap around.
        return int(value) - 1 if int(value) > 0 else int(value) + 1
    if not np.isfinite(value):
        return 0.0
    # Near zero the negated value may be within the absolute limit.
    return 1.0 if abs(value) < 0.5 else -value


def _with(values: Array, place: int | slice, value: Any) -> Array:
    changed = np.array(values)
    changed.reshape(-1)[place] = value
    return changed


def _negated(values: NDArray[Any]) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(-values)


def _same(answer: Array, right: Array, dtype: DType) -> bool:
    # Not by the array's own type: of bfloat16 NumPy does not know that it has NaN.
    return bool(np.array_equal(answer, right, equal_nan=not dtype.is_exact))


def _round_to_bits(values: Array, bits: int) -> Array:
    """Float64 values rounded to a significand of that many bits, exponent unlimited."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2.0**bits) / 2.0**bits, exponent)
