"""Generated operators as small programs: a list of steps over tensors, each the result of an operation on earlier ones.

A value is ``full`` (the whole tensor), ``row`` (one number per row) or ``col`` (one row for all). A program can be
evaluated in NumPy, written as a formula, and packed into a name, so that a task can refer to it as its reference.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from numpy.typing import NDArray

from kernelgen_lm.corpus.operations import OPERATIONS, REDUCTIONS

__all__ = ["Kind", "Program", "Step", "constant_text"]


class Kind(str, Enum):
    """The extent of a value."""

    FULL = "full"
    ROW = "row"
    COL = "col"


class Step(NamedTuple):
    """One operation: its name, the values it takes (inputs first, then results of earlier steps), its constant."""

    operation: str
    operands: tuple[int, ...]
    constant: float | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Inputs and steps; the last step is the result. ``whole``: its reductions go over the whole tensor."""

    inputs: tuple[Kind, ...]
    steps: tuple[Step, ...]
    whole: bool = False

    def kinds(self) -> list[Kind]:
        """The kind of every value: inputs, then steps."""
        kinds = list(self.inputs)
        for step in self.steps:
            kinds.append(_kind(step, kinds))
        return kinds

    @property
    def result(self) -> Kind:
        """The kind of the result."""
        return self.kinds()[-1]

    @property
    def is_flat(self) -> bool:
        """Whether every value is as large as the tensor, so that rows do not matter."""
        return all(kind is Kind.FULL for kind in self.kinds())

    def uses(self) -> list[int]:
        """How often every value is taken."""
        counts = [0] * (len(self.inputs) + len(self.steps))
        for step in self.steps:
            for operand in step.operands:
                counts[operand] += 1
        return counts

    def mentions(self) -> list[int]:
        """How often a formula in one line would mention every value."""
        counts = [0] * (len(self.inputs) + len(self.steps))
        for step in self.steps:
            for letter, operand in zip("ab", step.operands, strict=False):
                # The text of an operation may mention an operand twice, as x and x in x * sigmoid(x).
                operation = OPERATIONS.get(step.operation)
                counts[operand] += operation.text.count("{" + letter + "}") if operation else 1
        return counts

    def evaluate(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The result in the arrays' own precision. ``row`` results have the shape of a column."""
        values: list[NDArray[Any]] = [
            array.reshape(1, -1) if kind is Kind.COL else array for array, kind in zip(arrays, self.inputs, strict=True)
        ]
        for step in self.steps:
            operands = [values[operand] for operand in step.operands]
            if step.operation in REDUCTIONS:
                flat = operands[0].reshape(1, -1) if self.whole else operands[0]
                values.append(REDUCTIONS[step.operation].compute(flat).reshape(-1, 1))
                continue
            constants = [] if step.constant is None else [_exact_constant(step.constant, operands[0])]
            values.append(OPERATIONS[step.operation].compute(*operands, *constants))
        return values[-1]

    def formula(self, names: Sequence[str], result: str) -> str:
        """What the program computes, one line per value that is used more than once."""
        return _Formula(self, names).lines(result)

    def signature(self) -> str:
        """What makes an operator: the steps without their constants."""
        steps = [[step.operation, *map(str, step.operands)] for step in self.steps]
        return json.dumps([[kind.value for kind in self.inputs], steps, self.whole], separators=(",", ":"))

    def words(self) -> list[str]:
        """The operations in words, in order."""
        words = []
        for step in self.steps:
            reduction = REDUCTIONS.get(step.operation)
            words.append(f"Row{reduction.word}" if reduction else OPERATIONS[step.operation].word)
        return [word.replace("Row", "Total") for word in words] if self.whole else words

    def to_json(self) -> Mapping[str, object]:
        """As JSON values."""
        return {
            "inputs": [kind.value for kind in self.inputs],
            "steps": [[step.operation, list(step.operands), step.constant] for step in self.steps],
            "whole": self.whole,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Program:
        """The reverse of :meth:`to_json`."""
        steps = tuple(Step(name, tuple(operands), constant) for name, operands, constant in data["steps"])
        return cls(tuple(Kind(kind) for kind in data["inputs"]), steps, bool(data["whole"]))


def pack(data: Mapping[str, object]) -> str:
    """JSON as a name that C++ and Python allow."""
    # Sorted and without spaces, so that equal programs have equal names.
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    # Base 32 needs letters and digits alone; names have no equals sign.
    return base64.b32encode(text).decode().rstrip("=").lower()


def unpack(name: str) -> Mapping[str, Any]:
    """The reverse of :func:`pack`. ValueError when the name is none of ours."""
    # b32decode takes whole groups of eight characters.
    padded = name.upper() + "=" * (-len(name) % 8)
    unpacked: Mapping[str, Any] = json.loads(base64.b32decode(padded))
    return unpacked


def constant_text(value: float) -> str:
    """A constant in a formula."""
    return str(int(value)) if value == int(value) else repr(value)


def _exact_constant(value: float, operand: NDArray[Any]) -> float | int:
    # NumPy would give floats for whole numbers with a float.
    return int(value) if operand.dtype.kind in "iu" else value


def _kind(step: Step, kinds: Sequence[Kind]) -> Kind:
    if step.operation in REDUCTIONS:
        return Kind.ROW
    taken = {kinds[operand] for operand in step.operands}
    return next((kind for kind in (Kind.FULL, Kind.COL) if kind in taken), Kind.ROW)


class _Formula:
    """Writes a program as text; values that are used once stand where they are used."""

    def __init__(self, program: Program, names: Sequence[str]) -> None:
        self._program, self._kinds, self._uses = program, program.kinds(), program.mentions()
        flat = program.is_flat
        self._index = dict.fromkeys(Kind, "_i") if flat else {Kind.FULL: "_ij", Kind.ROW: "_i", Kind.COL: "_j"}
        if program.whole:
            self._index = {Kind.FULL: "_i", Kind.ROW: "", Kind.COL: "_i"}
        self._texts = [name + self._index[kind] for name, kind in zip(names, program.inputs, strict=True)]

    def lines(self, result: str) -> str:
        """Intermediate values, then the result."""
        statements: list[str] = []
        first = len(self._program.inputs)
        for position, step in enumerate(self._program.steps):
            value, last = first + position, position == len(self._program.steps) - 1
            text = self._text(step)
            name = (result if last else f"t{len(statements) + 1}") + self._index[self._kinds[value]]
            if last or self._uses[value] > 1:
                statements.append(f"{name} = {text}")
                text = name
            self._texts.append(text)
        return "\n".join(statements)

    def _text(self, step: Step) -> str:
        operands = [self._texts[operand] for operand in step.operands]
        if step.operation in REDUCTIONS:
            text = REDUCTIONS[step.operation].text.replace("_j", "_i") if self._program.whole else None
            text = text or REDUCTIONS[step.operation].text
            return f"({text.format(a=operands[0])})"
        values = dict(zip("ab", (_bracket(text) for text in operands), strict=False))
        constant = "" if step.constant is None else constant_text(step.constant)
        return OPERATIONS[step.operation].text.format(**values, c=constant)


def _bracket(text: str) -> str:
    """The text, in brackets unless it is a name, a call or bracketed already."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char in "(|") - (char == ")")
        # One sign opens and closes a magnitude: where something is open, it closes.
        if char == "|" and depth > 1:
            depth -= 2
        if depth == 0 and char in " +-/*" and position < len(text) - 1:
            return f"({text})"
    return text
