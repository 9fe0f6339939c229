"""The alphabet of generated operators: what each operation means, how a formula says it, how the tile language does.

One table drives all three, so that a program and its reference cannot say different things by accident. Templates name
``{a}`` and ``{b}`` operands, ``{c}`` a constant, and in the tile language ``{zero}`` and ``{one}`` in its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BIG", "OPERATIONS", "REDUCTIONS", "Interval", "Operation", "Reduction"]

#: Values of a generated operator stay below this in magnitude, so that no type of theirs overflows.
BIG = 2000.0

_Array = NDArray[Any]


class Interval(NamedTuple):
    """Where the values of a tensor lie."""

    low: float
    high: float

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    def holds(self, limit: float = BIG) -> bool:
        """Whether every value is a number of moderate size."""
        return math.isfinite(self.low) and math.isfinite(self.high) and self.size <= limit


class Operation(NamedTuple):
    """One element-wise operation.

    ``arity`` counts tensors; ``constant`` says whether there is a constant, ``choices`` are the ones to draw from.
    ``tile`` is the operation in the tile language. ``interval`` gives the result's interval, or None where the
    operation must not be applied. ``integers``: defined on int32, too.
    """

    name: str
    word: str
    arity: int
    text: str
    tile: str
    compute: Callable[..., _Array]
    interval: Callable[..., Interval | None]
    constant: bool = False
    choices: tuple[float, ...] = ()
    integers: bool = False


class Reduction(NamedTuple):
    """One reduction of a row. ``tile`` is its function in the tile language, ``start`` the number that a search through
    parts begins with, ``merge`` how a part's result ``{new}`` joins ``{own}``. ``mean``: divided by the length.
    """

    name: str
    word: str
    text: str
    tile: str
    start: str
    merge: str
    compute: Callable[[_Array], _Array]
    interval: Callable[[Interval, int], Interval]
    mean: bool = False


def _monotone(function: Callable[[float], float]) -> Callable[[Interval], Interval | None]:
    return lambda a: Interval(function(a.low), function(a.high))


def _span(values: list[float]) -> Interval:
    return Interval(min(values), max(values))


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high)


def _sub(a: Interval, b: Interval) -> Interval:
    return Interval(a.low - b.high, a.high - b.low)


def _mul(a: Interval, b: Interval) -> Interval:
    return _span([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])


def _div(a: Interval, b: Interval) -> Interval | None:
    # A divisor near 0 gives values of any size.
    if b.low < 0.1 and b.high > -0.1:
        return None
    return _span([a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high])


def _abs(a: Interval) -> Interval:
    return Interval(0.0 if a.low <= 0.0 <= a.high else min(abs(a.low), abs(a.high)), a.size)


def _square(a: Interval) -> Interval:
    inner = _abs(a)
    return Interval(inner.low**2, inner.high**2)


def _within(low: float, high: float, result: Callable[[Interval], Interval | None]) -> Callable[..., Interval | None]:
    """``result`` where the operand lies between ``low`` and ``high``, else not allowed."""
    return lambda a: result(a) if low <= a.low and a.high <= high else None


def _point(c: float) -> Interval:
    return Interval(c, c)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _pick(a: _Array, b: _Array, c: float) -> _Array:
    return np.where(a > c, a, b)


def _nearer(a: _Array, b: _Array) -> _Array:
    return np.where(np.abs(a) < np.abs(b), a, b)


def _extreme(name: str, compute: Callable[..., _Array], choose: Callable[[float, float], float]) -> Operation:
    """The larger or the smaller of two tensors."""
    word = name.capitalize()
    return Operation(
        name,
        word,
        2,
        name + "({a}, {b})",
        name + "({a}, {b})",
        compute,
        lambda a, b: Interval(choose(a.low, b.low), choose(a.high, b.high)),
        integers=True,
    )


_POSITIVE = (0.5, 2.0, 3.0, 1.5, 0.25, 4.0)
_ANY = (0.5, -0.5, 2.0, -2.0, 1.5, -1.5, 3.0, -3.0, 0.25, 1.0, -1.0, 0.1, 0.75, 5.0)
_WHOLE = (1.0, 2.0, 3.0, -1.0, -2.0, 5.0, 7.0, -4.0)

# With other rows, or in another order, the same seed draws other questions: VERSION in build.py rises then.
_TABLE = (
    Operation("abs", "Abs", 1, "|{a}|", "abs({a})", np.abs, _abs),
    Operation("exp", "Exp", 1, "exp({a})", "exp({a})", np.exp, _within(-9.0, 6.0, _monotone(math.exp))),
    Operation("ln", "Ln", 1, "ln({a})", "ln({a})", np.log, _within(0.1, BIG, _monotone(math.log))),
    Operation("sqrt", "Sqrt", 1, "sqrt({a})", "sqrt({a})", np.sqrt, _within(0.0, BIG, _monotone(math.sqrt))),
    Operation(
        "relu",
        "Relu",
        1,
        "max({a}, 0)",
        "max({a}, {zero})",
        lambda a: np.maximum(a, 0),
        _monotone(lambda v: max(v, 0.0)),
    ),
    Operation(
        "neg",
        "Neg",
        1,
        "-{a}",
        "-{a}",
        np.negative,
        lambda a: Interval(-a.high, -a.low),
        integers=True,
    ),
    Operation("square", "Square", 1, "{a}^2", "{a} * {a}", np.square, _square, integers=True),
    Operation(
        "sigmoid",
        "Sigmoid",
        1,
        "1 / (1 + exp(-{a}))",
        "{one} / (exp(-{a}) + {one})",
        lambda a: 1 / (1 + np.exp(-a)),
        _within(-30.0, 30.0, _monotone(_sigmoid)),
    ),
    Operation(
        "silu",
        "Silu",
        1,
        "{a} / (1 + exp(-{a}))",
        "{a} / (exp(-{a}) + {one})",
        lambda a: a / (1 + np.exp(-a)),
        # The least value of silu is about -0.28.
        _within(-30.0, 30.0, lambda a: Interval(-0.3, max(a.high, 0.0))),
    ),
    Operation(
        "tanh",
        "Tanh",
        1,
        "tanh({a})",
        "tanh({a})",
        np.tanh,
        _within(-20.0, 20.0, _monotone(math.tanh)),
    ),
    Operation(
        "softplus",
        "Softplus",
        1,
        "ln(1 + exp({a}))",
        "ln(exp({a}) + {one})",
        lambda a: np.log1p(np.exp(a)),
        _within(-8.0, 10.0, _monotone(lambda v: math.log1p(math.exp(v)))),
    ),
    Operation(
        "rsqrt",
        "InvSqrt",
        1,
        "1 / sqrt({a})",
        "{one} / sqrt({a})",
        lambda a: 1 / np.sqrt(a),
        _within(0.05, BIG, lambda a: Interval(a.high**-0.5, a.low**-0.5)),
    ),
    Operation(
        "adds",
        "AddConst",
        1,
        # In brackets, as it may become an operand of a product.
        "({a} + {c})",
        "{a} + {c}",
        lambda a, c: a + c,
        lambda a, c: _add(a, _point(c)),
        True,
        _ANY,
        True,
    ),
    Operation(
        "muls",
        "Scale",
        1,
        "{c} * {a}",
        "{a} * {c}",
        lambda a, c: a * c,
        lambda a, c: _mul(a, _point(c)),
        True,
        _ANY,
        True,
    ),
    Operation(
        "maxs",
        "Floor",
        1,
        "max({a}, {c})",
        "max({a}, {c})",
        np.maximum,
        lambda a, c: Interval(max(a.low, c), max(a.high, c)),
        True,
        _ANY,
        True,
    ),
    Operation(
        "mins",
        "Cap",
        1,
        "min({a}, {c})",
        "min({a}, {c})",
        np.minimum,
        lambda a, c: Interval(min(a.low, c), min(a.high, c)),
        True,
        _ANY,
        True,
    ),
    Operation(
        "leaky",
        "Leaky",
        1,
        "({a} if {a} > 0 else {c} * {a})",
        "where({a} > {zero}, {a}, {a} * {c})",
        lambda a, c: np.where(a > 0, a, a * c),
        lambda a, c: Interval(min(a.low, a.low * c), max(a.high, 0.0)),
        True,
        (0.01, 0.1, 0.2, 0.25),
    ),
    Operation(
        "rsubs",
        "ConstSub",
        1,
        "({c} - {a})",
        "{c} - {a}",
        lambda a, c: c - a,
        lambda a, c: _sub(_point(c), a),
        True,
        _ANY,
        True,
    ),
    Operation(
        "rdivs",
        "ConstDiv",
        1,
        "{c} / {a}",
        "{c} / {a}",
        lambda a, c: c / a,
        lambda a, c: _div(_point(c), a),
        True,
        _POSITIVE,
    ),
    Operation(
        "threshold",
        "Threshold",
        1,
        "({a} if {a} > {c} else 0)",
        "where({a} > {c}, {a}, {zero})",
        lambda a, c: np.where(a > c, a, 0.0),
        # 0 may be among the results, wherever the operand lies.
        lambda a, c: Interval(min(a.low, 0.0), max(a.high, 0.0)),
        True,
        (0.5, 0.25, -0.5, 1.0, 0.1),
    ),
    Operation("add", "Add", 2, "({a} + {b})", "{a} + {b}", np.add, _add, integers=True),
    Operation("sub", "Sub", 2, "({a} - {b})", "{a} - {b}", np.subtract, _sub, integers=True),
    Operation("mul", "Mul", 2, "{a} * {b}", "{a} * {b}", np.multiply, _mul, integers=True),
    Operation("div", "Div", 2, "{a} / {b}", "{a} / {b}", np.divide, _div),
    _extreme("max", np.maximum, max),
    _extreme("min", np.minimum, min),
    Operation(
        "pick",
        "Pick",
        2,
        "({a} if {a} > {c} else {b})",
        "where({a} > {c}, {a}, {b})",
        _pick,
        lambda a, b, c: _span([a.low, a.high, b.low, b.high]),
        True,
        (0.5, 0.0, -0.5, 1.0),
    ),
    Operation(
        "smaller_abs",
        "Nearer",
        2,
        "({a} if |{a}| < |{b}| else {b})",
        "where(abs({a}) < abs({b}), {a}, {b})",
        _nearer,
        lambda a, b: _span([a.low, a.high, b.low, b.high]),
    ),
)

#: Element-wise operations by name.
OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _TABLE}

#: Constants that integers may be combined with.
WHOLE_CHOICES = _WHOLE


def _sum(a: Interval, length: int) -> Interval:
    return Interval(a.low * length, a.high * length)


#: Reductions of the last axis by name.
REDUCTIONS: Mapping[str, Reduction] = {
    operation.name: operation
    for operation in (
        Reduction("rsum", "Sum", "sum_j {a}", "row_sum", "0.0", "{own} + {new}", lambda a: a.sum(axis=-1), _sum),
        Reduction(
            "rmean",
            "Mean",
            "mean_j {a}",
            "row_sum",
            "0.0",
            "{own} + {new}",
            lambda a: a.mean(axis=-1),
            lambda a, _: a,
            mean=True,
        ),
        Reduction(
            "rmax",
            "Max",
            "max_j {a}",
            "row_max",
            "-3.0e38",
            "max({own}, {new})",
            lambda a: a.max(axis=-1),
            lambda a, _: a,
        ),
        Reduction(
            "rmin",
            "Min",
            "min_j {a}",
            "row_min",
            "3.0e38",
            "min({own}, {new})",
            lambda a: a.min(axis=-1),
            lambda a, _: a,
        ),
    )
}
