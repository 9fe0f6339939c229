"""Operators that only move data: every row of the result is put together from pieces of rows of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOVEMENTS", "Movement", "Piece", "draw_movement"]

_Array = NDArray[Any]


class Piece(NamedTuple):
    """``length`` elements of a result's row from column ``to`` on: out of ``source`` from column ``begin`` on, or
    ``value`` where there is no source. ``row`` is the source's row, ``first`` being that of the result.

    Texts are expressions of the tile language, of ``n`` rows and ``d`` columns of the inputs.
    """

    to: str
    length: str
    source: int | None = None
    begin: str = "0"
    row: str = "first"
    value: str = "0"

    def filled(self, numbers: Sequence[int]) -> Piece:
        """With the operator's own numbers in their places."""
        to, length, begin, row, value = (
            text.format(*numbers) for text in (self.to, self.length, self.begin, self.row, self.value)
        )
        return Piece(to, length, self.source, begin, row, value)


@dataclass(frozen=True, slots=True)
class Movement:
    """One operator: which form, with which whole numbers."""

    form: str
    numbers: tuple[int, ...] = ()

    def inputs(self) -> int:
        """How many tensors it takes."""
        return 2 if self.form == "concat" else 1

    def shape(self, rows: int, columns: int) -> tuple[int, ...]:
        """The result's shape."""
        # One byte an element: the shape alone counts.
        return self.evaluate([np.empty((rows, columns), np.bool_)] * self.inputs()).shape

    def extents(self) -> tuple[str, str]:
        """Rows and columns of the result, as texts like a piece's."""
        form = MOVEMENTS[self.form]
        return form.rows.format(*self.numbers), form.columns.format(*self.numbers)

    def pieces(self) -> tuple[Piece, ...]:
        """What every row of the result consists of."""
        return tuple(piece.filled(self.numbers) for piece in MOVEMENTS[self.form].pieces)

    def evaluate(self, arrays: Sequence[_Array]) -> _Array:
        """The result."""
        return MOVEMENTS[self.form].compute(arrays, self.numbers)

    def formula(self, names: Sequence[str], result: str) -> str:
        """The result in words and symbols."""
        text = MOVEMENTS[self.form].text
        return text.format(*self.numbers, x=names[0], y=names[-1], out=result)

    def to_json(self) -> Mapping[str, object]:
        """As JSON values."""
        return {"form": self.form, "numbers": list(self.numbers)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Movement:
        """The reverse of :meth:`to_json`."""
        return cls(data["form"], tuple(data["numbers"]))


class _Form(NamedTuple):
    word: str
    text: str
    draw: Callable[[Random, int, int], tuple[int, ...]]
    pieces: tuple[Piece, ...]
    compute: Callable[[Sequence[_Array], tuple[int, ...]], _Array]
    rows: str = "n"
    columns: str = "d"


def _slice(rng: Random, rows: int, columns: int) -> tuple[int, ...]:
    del rows
    # In the left half, so that some columns are left.
    begin = rng.randrange(columns // 2)
    return begin, rng.randint(begin + 1, columns)


def _pad(rng: Random, rows: int, columns: int) -> tuple[int, ...]:
    del rows, columns
    # Constants that each of the types that movements are drawn with holds exactly.
    return rng.randint(1, 40), rng.randint(1, 40), rng.choice((0, 1, -1))


def _padded(arrays: Sequence[_Array], numbers: tuple[int, ...]) -> _Array:
    return np.pad(arrays[0], ((0, 0), (numbers[0], numbers[1])), constant_values=numbers[2])


#: Forms by name.
MOVEMENTS: Mapping[str, _Form] = {
    "slice": _Form(
        "SliceColumns",
        "{out}_ij = {x}_i,j+{0} for 0 <= j < {1} - {0}",
        _slice,
        (Piece("0", "{1} - {0}", 0, "{0}"),),
        lambda a, n: a[0][:, n[0] : n[1]],
        columns="{1} - {0}",
    ),
    "concat": _Form(
        "JoinColumns",
        "{out}_i = {x}_i followed by {y}_i",
        lambda rng, r, c: (),
        (Piece("0", "d", 0), Piece("d", "d", 1)),
        lambda a, n: np.concatenate(list(a), axis=1),
        columns="2 * d",
    ),
    "pad": _Form(
        "PadColumns",
        "{out}_i = {0} times {2}, then {x}_i, then {1} times {2}",
        _pad,
        (Piece("0", "{0}", value="{2}"), Piece("{0}", "d", 0), Piece("{0} + d", "{1}", value="{2}")),
        _padded,
        columns="{0} + d + {1}",
    ),
    "reverse": _Form(
        "ReverseRows",
        "{out}_i = {x}_(R-1-i) with R rows",
        lambda rng, r, c: (),
        (Piece("0", "d", 0, row="(n - 1 - first)"),),
        lambda a, n: a[0][::-1],
    ),
    "roll": _Form(
        "RollRows",
        "{out}_i = {x}_((i + {0}) mod R) with R rows",
        lambda rng, r, c: (rng.randint(1, max(1, r - 1)),),
        (Piece("0", "d", 0, row="((first + {0}) % n)"),),
        # NumPy moves elements towards higher indices; the formula takes them from there.
        lambda a, n: np.roll(a[0], -n[0], axis=0),
    ),
    "repeat": _Form(
        "RepeatRows",
        "{out}_i = {x}_(i mod R) with R rows, for {0} * R rows",
        lambda rng, r, c: (rng.randint(2, 4),),
        (Piece("0", "d", 0, row="(first % n)"),),
        lambda a, n: np.tile(a[0], (n[0], 1)),
        rows="n * {0}",
    ),
    "stretch": _Form(
        "StretchRows",
        "{out}_i = {x}_(i / {0}), the quotient rounded down",
        lambda rng, r, c: (rng.randint(2, 4),),
        (Piece("0", "d", 0, row="(first // {0})"),),
        lambda a, n: np.repeat(a[0], n[0], axis=0),
        rows="n * {0}",
    ),
    "swap": _Form(
        "SwapColumns",
        "{out}_i = the last C - {0} elements of {x}_i, then its first {0}, with C columns",
        lambda rng, r, c: (rng.randint(1, c - 1),),
        (Piece("0", "d - {0}", 0, "{0}"), Piece("d - {0}", "{0}", 0)),
        lambda a, n: np.roll(a[0], -n[0], axis=1),
    ),
    "double": _Form(
        "DoubleColumns",
        "{out}_i = {x}_i followed by {x}_i",
        lambda rng, r, c: (),
        (Piece("0", "d", 0), Piece("d", "d", 0)),
        lambda a, n: np.concatenate([a[0], a[0]], axis=1),
        columns="2 * d",
    ),
    "frame": _Form(
        "MaskEdges",
        "{out}_ij = {x}_ij for {0} <= j < C - {1}, else 0, with C columns",
        lambda rng, r, c: (rng.randint(1, c // 3), rng.randint(1, c // 3)),
        (Piece("0", "{0}"), Piece("{0}", "d - {0} - {1}", 0, "{0}"), Piece("d - {1}", "{1}")),
        lambda a, n: np.pad(a[0][:, n[0] : a[0].shape[1] - n[1]], ((0, 0), (n[0], n[1]))),
    ),
    "every": _Form(
        "StrideRows",
        "{out}_i = {x}_({0} * i)",
        lambda rng, r, c: (rng.randint(2, 3),),
        (Piece("0", "d", 0, row="(first * {0})"),),
        lambda a, n: a[0][:: n[0]],
        rows="ceil_div(n, {0})",
    ),
}


def draw_movement(rng: Random, rows: int, columns: int) -> Movement:
    """A form with numbers that fit the shape."""
    # Sorted, so that the same seed gives the same form when the table is put in another order.
    form = rng.choice(sorted(MOVEMENTS))
    return Movement(form, MOVEMENTS[form].draw(rng, rows, columns))
