"""Drawing operators: random programs whose values stay finite and of moderate size, by intervals."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from kernelgen_lm.corpus.operations import BIG, OPERATIONS, REDUCTIONS, WHOLE_CHOICES, Interval, Operation
from kernelgen_lm.corpus.program import Kind, Program, Step

__all__ = ["Drawn", "draw_elementwise", "draw_rows", "draw_whole"]

# Some are positive: roots, logarithms and quotients are drawn only where their intervals allow it.
_RANGES = ((-1.0, 1.0), (-2.0, 2.0), (-4.0, 4.0), (0.1, 3.0), (0.5, 2.0), (0.0, 1.0), (1.0, 5.0))
_WHOLE_RANGES = ((-20.0, 20.0), (0.0, 50.0), (-100.0, 100.0))
_UNARY = tuple(name for name, operation in OPERATIONS.items() if operation.arity == 1)
_BINARY = tuple(name for name, operation in OPERATIONS.items() if operation.arity == 2)
#: Operations that take a row's or a column's values beside those of the tensor.
_SPREAD = ("add", "sub", "mul", "div", "max", "min")
#: Operations on one number per row.
_ON_ROWS = ("abs", "sqrt", "relu", "neg", "square", "ln", "adds", "muls", "maxs", "mins", "rsqrt", "rdivs")
_ATTEMPTS = 40


class Drawn(NamedTuple):
    """A program with the ranges its inputs are drawn from."""

    program: Program
    ranges: tuple[Interval, ...]


class _Builder:
    """A program as it grows; every value knows its interval."""

    def __init__(self, rng: Random, integers: bool) -> None:
        self.rng, self.integers = rng, integers
        self.inputs: list[Kind] = []
        self.steps: list[Step] = []
        self.intervals: list[Interval] = []
        self.kinds: list[Kind] = []

    def input(self, kind: Kind = Kind.FULL) -> int:
        """A further input; all inputs come before the first step."""
        self.inputs.append(kind)
        self.intervals.append(Interval(*self.rng.choice(_WHOLE_RANGES if self.integers else _RANGES)))
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def apply(self, names: tuple[str, ...], *operands: int) -> int | None:
        """Apply one of the operations that may be applied here; None where none may."""
        # Many operations are refused where the operand's interval reaches.
        for _ in range(_ATTEMPTS):
            operation = OPERATIONS[self.rng.choice(names)]
            step = self._step(operation, operands)
            if step is not None:
                return self._push(*step)
        return None

    def reduce(self, operand: int, length: int, names: tuple[str, ...] = tuple(REDUCTIONS)) -> int:
        """Reduce the rows of a value."""
        name = self.rng.choice(names)
        interval = REDUCTIONS[name].interval(self.intervals[operand], length)
        # A sum over a long row may leave the range of the element types; means and extremes stay inside.
        if not interval.holds(50 * BIG):
            name = self.rng.choice(("rmean", "rmax", "rmin"))
            interval = REDUCTIONS[name].interval(self.intervals[operand], length)
        return self._push(Step(name, (operand,)), interval, Kind.ROW)

    def _step(self, operation: Operation, operands: tuple[int, ...]) -> tuple[Step, Interval, Kind] | None:
        if self.integers and not operation.integers:
            return None
        constant = None
        if operation.constant:
            constant = self.rng.choice(WHOLE_CHOICES if self.integers else operation.choices)
        arguments = [self.intervals[operand] for operand in operands]
        interval = operation.interval(*arguments, *([] if constant is None else [constant]))
        # A result that hardly varies would let a kernel pass that computes a constant.
        if interval is None or not interval.holds() or interval.high - interval.low < 1e-3:
            return None
        if interval == arguments[0] and operation.arity == 1:
            return None  # changes nothing
        kinds = {self.kinds[operand] for operand in operands}
        kind = next((candidate for candidate in (Kind.FULL, Kind.COL) if candidate in kinds), Kind.ROW)
        return Step(operation.name, operands, constant), interval, kind

    def _push(self, step: Step, interval: Interval, kind: Kind) -> int:
        self.steps.append(step)
        self.intervals.append(interval)
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def done(self, whole: bool = False) -> Drawn | None:
        """The program, or None when a value or an input would go unused."""
        program = Program(tuple(self.inputs), tuple(self.steps), whole)
        # The last value is the result, which no step takes.
        if not self.steps or any(count == 0 for count in program.uses()[:-1]):
            return None
        return Drawn(program, tuple(self.intervals[: len(self.inputs)]))


def draw_elementwise(rng: Random, *, integers: bool = False, longest: int = 6) -> Drawn:
    """One to three tensors of the same shape, combined element by element."""
    while True:
        builder = _Builder(rng, integers)
        open_values = [builder.input() for _ in range(rng.choices((1, 2, 3), (5, 4, 2))[0])]
        length = rng.randint(1, longest)
        for _ in range(length):
            _grow(builder, open_values)
        while len(open_values) > 1:
            merged = builder.apply(_BINARY, open_values[0], open_values[1])
            # Two results remain, so that the whole draw begins anew.
            if merged is None:
                break
            # In place of both: what is left open in the end is the one result.
            open_values[:2] = [merged]
        drawn = builder.done()
        # Merging what was left open took steps beyond those that were asked for.
        fits = len(open_values) == 1 and len(builder.steps) <= longest + 2
        if drawn is not None and fits and _is_new(drawn.program):
            return drawn


def _is_new(program: Program) -> bool:
    """Whether it is more than one named operation, which a benchmark might ask for; a constant of ours makes it new."""
    return len(program.steps) > 1 or program.steps[0].constant not in (None, 0.0, 1.0, -1.0)


def _grow(builder: _Builder, open_values: list[int]) -> None:
    """One more step on an open value: unary, with another open value, or with a tensor that was used before."""
    rng = builder.rng
    position = rng.randrange(len(open_values))
    value = open_values[position]
    if rng.random() < 0.2 and len(builder.kinds) > 1:
        other = rng.randrange(len(builder.inputs))
        # In either order, which decides what a difference or a quotient is.
        result = builder.apply(_BINARY, *rng.sample((value, other), 2)) if other != value else None
    elif rng.random() < 0.25 and len(open_values) > 1:
        other_position = rng.choice([index for index in range(len(open_values)) if index != position])
        other = open_values[other_position]
        result = builder.apply(_BINARY, value, other)
        if result is not None:
            open_values.remove(other)
            open_values[open_values.index(value)] = result
        return
    else:
        result = builder.apply(_UNARY, value)
    if result is not None:
        open_values[position] = result


def draw_rows(rng: Random, length: int) -> Drawn:
    """A reduction of every row, a normalisation, or a tensor combined with one row. ``length``: that of a row."""
    while True:
        builder = _Builder(rng, False)
        form = rng.choices((_reduced, _normalised, _spread), (4, 5, 2))[0]
        if form(builder, length) and (drawn := builder.done()) is not None:
            return drawn


def _chain(builder: _Builder, value: int, names: tuple[str, ...], most: int) -> int:
    for _ in range(builder.rng.randint(0, most)):
        result = builder.apply(names, value)
        value = value if result is None else result
    return value


def _reduced(builder: _Builder, length: int) -> bool:
    """One number per row."""
    tensors = [builder.input() for _ in range(builder.rng.choices((1, 2), (4, 1))[0])]
    value: int | None = _chain(builder, tensors[0], _UNARY, 2)
    if len(tensors) > 1 and value is not None:
        value = builder.apply(_BINARY, value, tensors[1])
    if value is None:
        return False
    reduced: int | None = builder.reduce(value, length)
    if builder.rng.random() < 0.25 and reduced is not None:
        reduced = builder.apply(("add", "sub", "max", "min", "mul"), reduced, builder.reduce(value, length))
    if reduced is None:
        return False
    _chain(builder, reduced, _ON_ROWS, 2)
    return True


def _normalised(builder: _Builder, length: int) -> bool:
    """Every row changed by numbers of that row: one or two rounds of reduce and combine, then columns."""
    rng = builder.rng
    columns = rng.choices((0, 1, 2), (5, 2, 2))[0]
    tensor = builder.input()
    weights = [builder.input(Kind.COL) for _ in range(columns)]
    value: int = _chain(builder, tensor, _UNARY, 1)
    for _ in range(rng.choices((1, 2), (2, 1))[0]):
        numbers = _chain(builder, builder.reduce(_chain(builder, value, _UNARY, 1), length), _ON_ROWS, 2)
        combined = builder.apply(_SPREAD, value, numbers)
        if combined is None:
            return False
        value = _chain(builder, combined, _UNARY, 1)
    return _with_columns(builder, value, weights)


def _spread(builder: _Builder, length: int) -> bool:
    """A tensor combined with one or two rows."""
    # All three forms are called alike.
    del length
    value = builder.input()
    weights = [builder.input(Kind.COL) for _ in range(builder.rng.choice((1, 1, 2)))]
    return _with_columns(builder, _chain(builder, value, _UNARY, 1), weights)


def _with_columns(builder: _Builder, value: int, weights: list[int]) -> bool:
    for weight in weights:
        combined = builder.apply(_SPREAD, value, weight)
        if combined is None:
            return False
        value = combined
    _chain(builder, value, _UNARY, 1)
    return True


def draw_whole(rng: Random, total: int) -> Drawn:
    """One number out of whole tensors."""
    while True:
        builder = _Builder(rng, False)
        tensors = [builder.input() for _ in range(rng.choices((1, 2), (3, 2))[0])]
        value: int | None = _chain(builder, tensors[0], _UNARY, 2)
        if len(tensors) > 1 and value is not None:
            value = builder.apply(_BINARY, value, tensors[1])
        if value is None:
            continue
        value = _chain(builder, value, _UNARY, 1)
        _chain(builder, builder.reduce(value, total), _ON_ROWS, 1)
        drawn = builder.done(whole=True)
        if drawn is not None:
            return drawn
