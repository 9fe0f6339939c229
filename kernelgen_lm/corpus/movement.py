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
    ``value`` where there is no source. ``row`` is the source's row as C++ text in terms of ``{r}``, that of the result.
    """

    to: int
    length: int
    source: int | None = None
    begin: int = 0
    row: str = "{r}"
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Movement:
    """One operator: which form, with which whole numbers."""

    form: str
    numbers: tuple[int, ...] = ()

    def inputs(self) -> int:
        """How many tensors it takes."""
        return 2 if self.form == "concat" else 1

    def shape(self, rows: int, columns: int) -> tuple[int, int]:
        """The result's shape."""
        return MOVEMENTS[self.form].shape(rows, columns, self.numbers)

    def pieces(self, rows: int, columns: int) -> tuple[Piece, ...]:
        """What every row of the result consists of."""
        return MOVEMENTS[self.form].pieces(rows, columns, self.numbers)

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
    shape: Callable[[int, int, tuple[int, ...]], tuple[int, int]]
    pieces: Callable[[int, int, tuple[int, ...]], tuple[Piece, ...]]
    compute: Callable[[Sequence[_Array], tuple[int, ...]], _Array]


def _slice(rng: Random, rows: int, columns: int) -> tuple[int, ...]:
    del rows
    # In the left half, so that some columns are left.
    begin = rng.randrange(columns // 2)
    return begin, rng.randint(begin + 1, columns)


def _pad(rng: Random, rows: int, columns: int) -> tuple[int, ...]:
    del rows, columns
    return rng.randint(1, 40), rng.randint(1, 40), rng.choice((0, 1, -1))


def _padded(arrays: Sequence[_Array], numbers: tuple[int, ...]) -> _Array:
    return np.pad(arrays[0], ((0, 0), (numbers[0], numbers[1])), constant_values=numbers[2])


#: Forms by name.
MOVEMENTS: Mapping[str, _Form] = {
    "slice": _Form(
        "SliceColumns",
        "{out}_ij = {x}_i,j+{0} for 0 <= j < {1} - {0}",
        _slice,
        lambda r, c, n: (r, n[1] - n[0]),
        lambda r, c, n: (Piece(0, n[1] - n[0], 0, n[0]),),
        lambda a, n: a[0][:, n[0] : n[1]],
    ),
    "concat": _Form(
        "JoinColumns",
        "{out}_i = {x}_i followed by {y}_i",
        lambda rng, r, c: (),
        lambda r, c, n: (r, 2 * c),
        lambda r, c, n: (Piece(0, c, 0), Piece(c, c, 1)),
        lambda a, n: np.concatenate(list(a), axis=1),
    ),
    "pad": _Form(
        "PadColumns",
        "{out}_i = {0} times {2}, then {x}_i, then {1} times {2}",
        _pad,
        lambda r, c, n: (r, c + n[0] + n[1]),
        lambda r, c, n: (Piece(0, n[0], value=n[2]), Piece(n[0], c, 0), Piece(n[0] + c, n[1], value=n[2])),
        _padded,
    ),
    "reverse": _Form(
        "ReverseRows",
        "{out}_i = {x}_(R-1-i) with R rows",
        lambda rng, r, c: (),
        lambda r, c, n: (r, c),
        lambda r, c, n: (Piece(0, c, 0, row=f"{r - 1} - {{r}}"),),
        lambda a, n: a[0][::-1],
    ),
    "roll": _Form(
        "RollRows",
        "{out}_i = {x}_((i + {0}) mod R) with R rows",
        lambda rng, r, c: (rng.randint(1, max(1, r - 1)),),
        lambda r, c, n: (r, c),
        lambda r, c, n: (Piece(0, c, 0, row=f"({{r}} + {n[0]}) % {r}"),),
        lambda a, n: np.roll(a[0], -n[0], axis=0),
    ),
    "repeat": _Form(
        "RepeatRows",
        "{out}_i = {x}_(i mod R) with R rows, for {0} * R rows",
        lambda rng, r, c: (rng.randint(2, 4),),
        lambda r, c, n: (r * n[0], c),
        lambda r, c, n: (Piece(0, c, 0, row=f"{{r}} % {r}"),),
        lambda a, n: np.tile(a[0], (n[0], 1)),
    ),
    "stretch": _Form(
        "StretchRows",
        "{out}_i = {x}_(i / {0}), the quotient rounded down",
        lambda rng, r, c: (rng.randint(2, 4),),
        lambda r, c, n: (r * n[0], c),
        lambda r, c, n: (Piece(0, c, 0, row=f"{{r}} / {n[0]}"),),
        lambda a, n: np.repeat(a[0], n[0], axis=0),
    ),
    "swap": _Form(
        "SwapColumns",
        "{out}_i = the last C - {0} elements of {x}_i, then its first {0}, with C columns",
        lambda rng, r, c: (rng.randint(1, c - 1),),
        lambda r, c, n: (r, c),
        lambda r, c, n: (Piece(0, c - n[0], 0, n[0]), Piece(c - n[0], n[0], 0, 0)),
        lambda a, n: np.roll(a[0], -n[0], axis=1),
    ),
    "double": _Form(
        "DoubleColumns",
        "{out}_i = {x}_i followed by {x}_i",
        lambda rng, r, c: (),
        lambda r, c, n: (r, 2 * c),
        lambda r, c, n: (Piece(0, c, 0), Piece(c, c, 0)),
        lambda a, n: np.concatenate([a[0], a[0]], axis=1),
    ),
    "frame": _Form(
        "MaskEdges",
        "{out}_ij = {x}_ij for {0} <= j < C - {1}, else 0, with C columns",
        lambda rng, r, c: (rng.randint(1, c // 3), rng.randint(1, c // 3)),
        lambda r, c, n: (r, c),
        lambda r, c, n: (Piece(0, n[0]), Piece(n[0], c - n[0] - n[1], 0, n[0]), Piece(c - n[1], n[1])),
        lambda a, n: np.pad(a[0][:, n[0] : a[0].shape[1] - n[1]], ((0, 0), (n[0], n[1]))),
    ),
    "every": _Form(
        "StrideRows",
        "{out}_i = {x}_({0} * i)",
        lambda rng, r, c: (rng.randint(2, 3),),
        lambda r, c, n: ((r + n[0] - 1) // n[0], c),
        lambda r, c, n: (Piece(0, c, 0, row=f"{{r}} * {n[0]}"),),
        lambda a, n: a[0][:: n[0]],
    ),
}


def draw_movement(rng: Random, rows: int, columns: int) -> Movement:
    """A form with numbers that fit the shape."""
    form = rng.choice(sorted(MOVEMENTS))
    return Movement(form, MOVEMENTS[form].draw(rng, rows, columns))
