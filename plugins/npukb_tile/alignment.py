"""Fourth pass, alignment: how rows lie in tiles, and which copies move whole blocks of 32 bytes.

A copy is plain where the numbers of the launch prove that it moves whole blocks, which they can on the static track.
All others are padded copies, which read and write exactly what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from npukb_tile.dtypes import DTYPES
from npukb_tile.ir import (
    Assign,
    Binary,
    Block,
    Call,
    Choice,
    Expr,
    For,
    If,
    Move,
    Name,
    Num,
    Program,
    Statement,
)
from npukb_tile.launching import Number, pitch_unit

__all__ = ["Aligned", "lower_alignment"]

_BLOCK_BYTES = 32


@dataclass(frozen=True, slots=True)
class Aligned:
    """``unit``: rows of a tile begin at multiples of it. ``plain``: the ``id`` of copies of whole blocks."""

    unit: int
    plain: frozenset[int]


def lower_alignment(program: Program, types: Mapping[str, str], numbers: Mapping[str, Number]) -> Aligned:
    """``numbers`` are the launch numbers and attributes that are known, none on the dynamic track."""
    plain: set[int] = set()
    known = {name: int(number) for name, number in numbers.items() if isinstance(number, int)}

    def visit(body: tuple[Statement, ...], divisors: dict[str, int]) -> None:
        for statement in body:
            if isinstance(statement, Assign):
                divisor = _divisor(statement.value, divisors)
                # A variable may be assigned in several places, of which any may count later.
                divisors[statement.name] = math.gcd(divisor, divisors.get(statement.name, divisor))
            elif isinstance(statement, For):
                # A loop's values are its start and multiples of its step away from it.
                divisors[statement.name] = math.gcd(
                    _divisor(statement.start, divisors), _divisor(statement.step, divisors)
                )
                visit(statement.body, divisors)
            elif isinstance(statement, If):
                visit(statement.then, divisors)
                visit(statement.otherwise, divisors)
            elif isinstance(statement, Block):
                # A copy: what a block assigns is its own.
                visit(statement.body, dict(divisors))
            elif isinstance(statement, Move):
                dtype = program.buffers[statement.buffer].dtype
                # One template serves all its types: the copy must move whole blocks for the smallest.
                size = min(DTYPES[member].itemsize for member in program.members(types.get(dtype, dtype)))
                whole = _divisor(statement.cols, divisors) * size % _BLOCK_BYTES == 0
                start = _divisor(statement.start, divisors) * size % _BLOCK_BYTES == 0
                # Only a single run: the rows of a tile lie apart by its pitch.
                if whole and start and isinstance(statement.rows, Num) and statement.rows.value == 1:
                    plain.add(id(statement))

    # On the dynamic track no number is known, so no copy can be proven to move whole blocks.
    if known:
        start = dict(known)
        # Twice: what a loop's body assigns holds at its beginning too.
        visit(program.kernel, start)
        # What the first walk found may rest on divisors that a later assignment takes back.
        plain.clear()
        visit(program.kernel, start)
    return Aligned(pitch_unit(program, types), frozenset(plain))


def _divisor(node: Expr, known: Mapping[str, int]) -> int:
    """A number that certainly divides the value; 0 for the value 0."""
    if isinstance(node, Num):
        # 0 is a multiple of everything: gcd(0, n) is n.
        return abs(int(node.value)) if not isinstance(node.value, float) else 1
    if isinstance(node, Name):
        return abs(known.get(node.name, 1))
    if isinstance(node, Binary) and node.op in ("+", "-"):
        return math.gcd(_divisor(node.left, known), _divisor(node.right, known))
    if isinstance(node, Binary) and node.op == "*":
        return _divisor(node.left, known) * _divisor(node.right, known)
    if isinstance(node, Call) and node.function in ("min", "max"):
        return math.gcd(*(_divisor(argument, known) for argument in node.arguments))
    if isinstance(node, Call) and node.function == "round_up":
        # A number that is rounded up is a multiple of what it is rounded to.
        return _divisor(node.arguments[1], known)
    if isinstance(node, Choice):
        return math.gcd(_divisor(node.yes, known), _divisor(node.no, known))
    return 1
