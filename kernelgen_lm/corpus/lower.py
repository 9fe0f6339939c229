"""From a program to vector instructions on tensors in the unified buffer, with as few temporaries as it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kernelgen_lm.corpus.operations import OPERATIONS, REDUCTIONS
from kernelgen_lm.corpus.program import Kind, Program, Step

__all__ = ["Layout", "Lowered", "lower"]

_PLACES = {"add": "Adds", "sub": "Adds", "mul": "Muls", "div": "Muls", "max": "Maxs", "min": "Mins"}


class Layout(NamedTuple):
    """What the instructions are about.

    ``work`` is the C++ type of the arithmetic, ``extent`` the elements of a tile. With rows: ``rows`` their number in
    the tile, ``pitch`` their distance, ``columns`` their length, ``stat`` the distance between the numbers of two rows.
    """

    work: str
    extent: str
    temporary: str
    rows: str = ""
    pitch: str = ""
    columns: str = ""
    stat: str = ""


@dataclass(slots=True)
class Lowered:
    """Instructions with the temporaries that they use: full tensors, row numbers, and what else there is."""

    lines: list[str] = field(default_factory=list)
    full: list[str] = field(default_factory=list)
    stats: list[str] = field(default_factory=list)
    scratch: bool = False
    stat_scratch: bool = False
    mask: bool = False
    reduces: bool = False
    result: str = ""


def lower(program: Program, places: Sequence[str], layout: Layout, *, output: str = "", reuse: bool = True) -> Lowered:
    """Instructions for ``program`` on inputs that lie in ``places``, in the type of the arithmetic.

    The result goes to ``output`` if given (a tensor of that type), else to a temporary. With ``reuse`` inputs and the
    output serve as temporaries, too.
    """
    lowering = _Lowering(program, list(places), layout, output, reuse)
    return lowering.run()


class _Lowering:
    def __init__(self, program: Program, places: list[str], layout: Layout, output: str, reuse: bool) -> None:
        self._program, self._layout, self._output = program, layout, output
        self._places, self._reuse = places, reuse
        self._kinds, self._last = program.kinds(), program.last_uses()
        self._free: dict[Kind, list[str]] = {Kind.FULL: [], Kind.ROW: []}
        self._kept = {
            place for place, kind in zip(places, program.inputs, strict=True) if kind is Kind.COL or not reuse
        }
        self._lowered = Lowered()

    def run(self) -> Lowered:
        for index, step in enumerate(self._program.steps):
            last = index == len(self._program.steps) - 1
            value = len(self._program.inputs) + index
            target = self._output if last and self._output else self._target(index, step, self._kinds[value])
            self._emit(step, target, self._kinds[value])
            self._release(index, step, target)
            self._places.append(target)
        self._lowered.result = self._places[-1]
        return self._lowered

    def _target(self, index: int, step: Step, kind: Kind) -> str:
        """Where the result goes: on an operand that is not needed any more, on a free temporary, or on a new one."""
        operation = OPERATIONS.get(step.operation)
        forbidden = operation.separate if operation else ("a", "b")
        for letter, operand in zip("ab", step.operands, strict=False):
            place = self._places[operand]
            dead = self._last[operand] == index and self._kinds[operand] is kind
            if dead and letter not in forbidden and place not in self._kept:
                return place
        if self._free[kind]:
            return self._free[kind].pop()
        names = self._lowered.stats if kind is Kind.ROW else self._lowered.full
        stem = "stat" if kind is Kind.ROW else self._layout.temporary
        names.append(f"{stem}{len(names)}")
        return names[-1]

    def _release(self, index: int, step: Step, target: str) -> None:
        for operand in set(step.operands):
            place, kind = self._places[operand], self._kinds[operand]
            if self._last[operand] == index and place != target and place not in self._kept and kind in self._free:
                self._free[kind].append(place)

    def _emit(self, step: Step, target: str, kind: Kind) -> None:
        if step.operation in REDUCTIONS:
            self._reduce(step, target)
            return
        kinds = [self._kinds[operand] for operand in step.operands]
        if kind is Kind.FULL and len(kinds) == 2 and kinds[0] is not kinds[1]:
            self._spread(step, target, kinds[1])
            return
        operation = OPERATIONS[step.operation]
        text = " ".join(operation.code)
        row = kind is Kind.ROW
        self._lowered.mask |= "{m}" in text
        if "{t}" in text:
            self._lowered.stat_scratch |= row
            self._lowered.scratch |= not row
        count = self._stat_count() if row else self._layout.extent
        names = {
            "d": target,
            "t": "statScratch" if row else "scratch",
            "m": "mask",
            "n": count,
            "N": _rounded(count, self._layout.work),
            "c": "" if step.constant is None else literal(step.constant, self._layout.work),
            "one": literal(1, self._layout.work),
            "minus_one": literal(-1, self._layout.work),
            "two": literal(2, self._layout.work),
            "minus_two": literal(-2, self._layout.work),
            "zero": literal(0, self._layout.work),
        }
        operands = dict(zip("ab", (self._places[operand] for operand in step.operands), strict=False))
        self._lowered.lines += [line.format(**names, **operands) for line in operation.code]

    def _stat_count(self) -> str:
        return "1" if self._program.whole else f"{self._layout.rows} * {self._layout.stat}"

    def _reduce(self, step: Step, target: str) -> None:
        """One number per row; every instruction leaves its number at the beginning of a block of its own."""
        self._lowered.reduces = True
        source, layout, reduction = self._places[step.operands[0]], self._layout, REDUCTIONS[step.operation]
        self._lowered.lines += [
            # The rest of each row's block is computed with later, and must be defined.
            f"Duplicate({target}, 0.0f, {self._stat_count()});",
            f"for (uint32_t r = 0; r < {layout.rows}; ++r) {{",
            f"    {reduction.instruction}({target}[r * {layout.stat}], {source}[r * {layout.pitch}], reduceWork, "
            f"{layout.columns});",
            "}",
        ]
        if reduction.mean:
            self._lowered.lines.append(f"Muls({target}, {target}, 1.0f / {layout.columns}, {self._stat_count()});")

    def _spread(self, step: Step, target: str, kind: Kind) -> None:
        """Every row with its own number, or with the one row that is the same for all."""
        layout = self._layout
        value, other = (self._places[operand] for operand in step.operands)
        to, of = f"{target}[r * {layout.pitch}]", f"{value}[r * {layout.pitch}]"
        head = f"for (uint32_t r = 0; r < {layout.rows}; ++r) {{"
        if kind is Kind.COL:
            instruction = OPERATIONS[step.operation].code[0].split("(")[0]
            self._lowered.lines += [head, f"    {instruction}({to}, {of}, {other}, {layout.columns});", "}"]
            return
        number = f"{other}.GetValue(r * {layout.stat})"
        scalar = {"sub": "-number", "div": "1.0f / number"}.get(step.operation, "number")
        self._lowered.lines += [
            # The scalar unit does not wait for the vector unit by itself.
            "SetFlag<HardEvent::V_S>(EVENT_ID0);",
            "WaitFlag<HardEvent::V_S>(EVENT_ID0);",
            head,
            f"    const float number = {number};",
            f"    {_PLACES[step.operation]}({to}, {of}, {scalar}, {layout.columns});",
            "}",
        ]


def literal(value: float, work: str) -> str:
    """A constant of the arithmetic's type as C++."""
    if work == "int32_t":
        return f"static_cast<int32_t>({int(value)})"
    text = f"{float(value)!r}f"
    return text if work == "float" else f"static_cast<half>({text})"


def _rounded(count: str, work: str) -> str:
    """The count as whole repeats, which comparisons need."""
    repeat = 256 // (2 if work == "half" else 4)
    return f"({count} + {repeat - 1}) / {repeat} * {repeat}"
