"""Operators compared by what they compute, on the ranges that their inputs are drawn from.

Names and formulas say little: ``max(x, 0)`` of numbers from 1 to 5 is a copy, and a benchmark's operator may be written
in other steps. Values say whether a step or an input decides anything, and whether two operators are the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.program import Kind, Program, Step

__all__ = ["arrays_of", "decides", "function_key", "same_values"]

_ROWS, _COLUMNS = 6, 48
#: A wrong kernel must be wrong by more than the loosest tolerance, on at least this share of the elements.
_ABSOLUTE, _RELATIVE, _SHARE = 2e-2, 2e-2, 0.05
#: Where operators are told apart: numbers of both signs, and positive ones, where roots and logarithms are defined.
_SPANS = (Interval(-2.0, 2.0), Interval(0.6, 1.9))
#: Stands for every constant: operators that differ in constants alone are one.
_CONSTANT = 0.7310585786

_Array = NDArray[Any]


def arrays_of(kinds: Sequence[Kind], ranges: Sequence[Interval], *, whole_numbers: bool, seed: int = 0) -> list[_Array]:
    """Inputs of a program, the same for equal arguments."""
    rng = np.random.default_rng(seed)
    drawn = [
        rng.uniform(low, high, (_COLUMNS,) if kind is Kind.COL else (_ROWS, _COLUMNS))
        for kind, (low, high) in zip(kinds, ranges, strict=True)
    ]
    return [np.rint(array) for array in drawn] if whole_numbers else drawn


def decides(program: Program, ranges: Sequence[Interval], *, whole_numbers: bool = False) -> str | None:
    """Why a question would reward a wrong kernel: a step or an input that hardly changes the result. None if all do.

    A step counts as idle when the result stays the same with one of its operands in its place, an input when it stays
    the same with other values of that input.
    """
    with np.errstate(all="ignore"):
        arrays = arrays_of(program.inputs, ranges, whole_numbers=whole_numbers)
        result = program.evaluate(arrays)
        # From the upper part alone: another draw of the whole range has the same sums and means.
        upper = [Interval(low + (high - low) * 2 / 3, high) for low, high in ranges]
        others = arrays_of(program.inputs, upper, whole_numbers=whole_numbers, seed=1)
        for index in range(len(arrays)):
            changed = [others[at] if at == index else array for at, array in enumerate(arrays)]
            if not _differs(result, program.evaluate(changed)):
                return f"input {index} decides nothing"
        for index, shorter in _without_a_step(program):
            if not _guards_exponential(program, index) and not _differs(
                result, _spread(shorter.evaluate(arrays), result.shape)
            ):
                return f"step {index} changes nothing"
    return None


def _without_a_step(program: Program) -> Iterator[tuple[int, Program]]:
    """The program with a step replaced by one of its operands of the same extent, for every step and operand."""
    kinds, first = program.kinds(), len(program.inputs)
    for index, step in enumerate(program.steps):
        # Each once: a step may take the same value twice.
        for operand in dict.fromkeys(step.operands):
            if kinds[operand] is kinds[first + index]:
                # Adding nothing is a step that hands a value on.
                idle = Step("adds", (operand,), 0.0)
                yield index, replace(program, steps=(*program.steps[:index], idle, *program.steps[index + 1 :]))


def _guards_exponential(program: Program, index: int) -> bool:
    """Whether a step takes a row's maximum away before an exponential: it changes no share, and prevents overflow."""
    step, first = program.steps[index], len(program.inputs)
    if step.operation != "sub" or step.operands[1] < first:
        return False
    taken = program.steps[step.operands[1] - first]
    after = [other.operation for other in program.steps if first + index in other.operands]
    return taken == Step("rmax", (step.operands[0],)) and after == ["exp"]


def _spread(array: _Array, shape: tuple[int, ...]) -> _Array:
    return np.broadcast_to(array, shape) if array.shape != shape else array


def _differs(left: _Array, right: _Array) -> bool:
    """Whether a judge would tell the two apart on enough elements; what is not finite tells nothing."""
    near = np.abs(left - right) <= _ABSOLUTE + _RELATIVE * np.abs(left)
    told = np.isfinite(left) & np.isfinite(right) & ~near
    return bool(told.mean() >= _SHARE)


def same_values(left: _Array, right: _Array) -> bool:
    """Whether two results are equal but for rounding."""
    a, b = np.asarray(left, np.float64).reshape(-1), np.asarray(right, np.float64).reshape(-1)
    if a.size != b.size or not np.isfinite(a).all() or not np.isfinite(b).all():
        return False
    scale = float(np.abs(a).max(initial=0.0))
    return bool(np.all(np.abs(a - b) <= 1e-5 * scale + 1e-9))


def function_key(program: Program) -> str:
    """What a program computes, whatever its steps, constants and order of inputs: equal functions have equal keys."""
    steps = tuple(step if step.constant is None else step._replace(constant=_CONSTANT) for step in program.steps)
    return _key(replace(program, steps=steps))


@cache
def _key(program: Program) -> str:
    count, digests = len(program.inputs), []
    for order in permutations(range(count)):
        # An input can take the place only of one of its own extent.
        if any(program.inputs[at] is not program.inputs[index] for index, at in enumerate(order)):
            continue
        # Kinds are part of the key: the same steps on other extents are another operator.
        digest = hashlib.sha256(str([kind.value for kind in program.inputs]).encode())
        for span in _SPANS:
            drawn = arrays_of(program.inputs, [span] * count, whole_numbers=False)
            with np.errstate(all="ignore"):
                result = np.asarray(program.evaluate([drawn[at] for at in order]), np.float64)
            # Six digits: orders of evaluation differ in the last ones only. Adding zero removes its sign.
            digest.update(" ".join(f"{value + 0.0:.5e}" for value in result.reshape(-1)[:96]).encode())
        digests.append(digest.hexdigest())
    # The least stands for all orders of the inputs.
    return min(digests)
