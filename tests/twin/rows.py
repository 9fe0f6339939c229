"""Calls of every row of the instruction table: what tests generate from it.

A call is written for tensors that a test names, by count, or in mask form on the first lanes of one repeat. Rows whose
header is written out (``OWN``) have their calls here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from npukb_twin.compile.instructions import Row, casts, instructions, moves
from npukernelbench.nouns import DType

TYPES: Mapping[str, DType] = {
    "F16": DType.FLOAT16,
    "BF16": DType.BFLOAT16,
    "F32": DType.FLOAT32,
    "I8": DType.INT8,
    "U8": DType.UINT8,
    "I16": DType.INT16,
    "U16": DType.UINT16,
    "I32": DType.INT32,
    "U32": DType.UINT32,
    "I64": DType.INT64,
}
REPEAT_BYTES, BLOCK_BYTES = 256, 32


@dataclass(frozen=True)
class Tensors:
    """Names of the tensors of a call, in C++: two sources, dst, bits that choose, and scratch."""

    dst: str = "d"
    src0: str = "a"
    src1: str = "b"
    choices: str = "m"
    scratch: str = "w"


def ctype(name: str) -> str:
    """The element type of the table in C++."""
    return "int4b_t" if name == "I4" else TYPES[name].ascend_c


def types_of(name: str) -> tuple[DType, ...]:
    """The element types that the row of a move has for dst and source alike."""
    [row] = [row for row in moves() if row.name == name]
    return tuple(TYPES[dst] for dst, src in row.pairs if dst == src and dst in TYPES)


def width(name: str) -> float:
    """Bytes of an element."""
    return 0.5 if name == "I4" else TYPES[name].itemsize


def lanes_of(pair: tuple[str, str], row: Row) -> int:
    """Lanes of a repeat: the widest operand counts, but not the bits of a comparison; int4b_t counts as half."""
    counted = pair[1:] if row.span == "Packed" else pair
    return REPEAT_BYTES // max(2 if name == "I4" else TYPES[name].itemsize for name in counted)


def _cast_mode(pair: tuple[str, str]) -> str:
    [modes] = [row.modes for row in casts() if (row.dst, row.src) == pair]
    return "RoundMode::CAST_NONE" if "Exact" in modes else "RoundMode::CAST_RINT"


#: By count of rows with a header of their own.
OWN: Mapping[str, Callable[[Tensors, tuple[str, str], int], str]] = {
    "Brcb": lambda t, pair, n: f"Brcb({t.dst}, {t.src0}, 1, BrcbRepeatParams(1, 8))",
    "Cast": lambda t, pair, n: f"Cast({t.dst}, {t.src0}, {_cast_mode(pair)}, {n})",
    "CastDequant": lambda t, pair, n: (
        f"CastDequant<{ctype(pair[0])}, {ctype(pair[1])}, false, false>({t.dst}, {t.src0}, {n})"
    ),
    "Compare": lambda t, pair, n: f"Compare({t.dst}, {t.src0}, {t.src1}, CMPMODE::EQ, {n})",
    "Compares": lambda t, pair, n: f"Compares({t.dst}, {t.src0}, ({ctype(pair[1])})1, CMPMODE::EQ, {n})",
    "Copy": lambda t, pair, n: f"Copy({t.dst}, {t.src0}, {n}, 1, CopyRepeatParams(1, 1, 8, 8))",
    "CreateVecIndex": lambda t, pair, n: f"CreateVecIndex({t.dst}, ({ctype(pair[0])})1, {n})",
    "Duplicate": lambda t, pair, n: f"Duplicate({t.dst}, ({ctype(pair[0])})1, {n})",
    "ReduceSum": lambda t, pair, n: f"ReduceSum({t.dst}, {t.src0}, {t.scratch}, {n})",
    "Select": lambda t, pair, n: (
        f"Select({t.dst}, {t.choices}, {t.src0}, {t.src1}, SELMODE::VSEL_TENSOR_TENSOR_MODE, {n})"
    ),
}


def _operands(row: Row, t: Tensors, pair: tuple[str, str]) -> str:
    if "SCALAR" in row.call or row.call == "SHIFT":
        return f"{t.dst}, {t.src0}, ({ctype(pair[1])})1"
    return f"{t.dst}, {t.src0}, {t.src1}" if "Src1" in row.operands else f"{t.dst}, {t.src0}"


def by_count(row: Row, pair: tuple[str, str], count: int, tensors: Tensors | None = None) -> str:
    """A call on the first ``count`` elements; of reductions by repeats, on one repeat."""
    t = tensors or Tensors()
    if row.call == "OWN":
        return OWN[row.name](t, pair, count)
    if row.call in ("REPEATS", "REPEATS_ORDER"):
        return f"{row.name}({t.dst}, {t.src0}, {count}, 1, 1, 1, 8)"
    if row.call == "REPEATS_FIRST":
        return f"{row.name}({t.dst}, {t.src0}, 1, {count}, 1, 1, 8)"
    if row.call == "TENSOR_EXTREME":
        return f"{row.name}({t.dst}, {t.src0}, {t.scratch}, {count})"
    return f"{row.name}({_operands(row, t, pair)}, {count})"


def by_lanes(row: Row, pair: tuple[str, str], mask: object, tensors: Tensors | None = None) -> str:
    """The mask form of a call on one repeat whose operands have no gaps. Rows with a header of their own have none."""
    lanes = lanes_of(pair, row)
    dst, src = (int(lanes * width(name)) // BLOCK_BYTES for name in pair)
    two = "Src1" in row.operands
    strides = f"BinaryRepeatParams(1, 1, 1, {dst}, {src}, {src})" if two else f"UnaryRepeatParams(1, 1, {dst}, {src})"
    return f"{row.name}({_operands(row, tensors or Tensors(), pair)}, {mask}, 1, {strides})"


#: In mask form of rows with a header of their own: what follows the operands and the lanes.
_OWN_REPEATS: Mapping[str, str] = {
    "Cast": "UnaryRepeatParams()",
    "CastDequant": "UnaryRepeatParams()",
    "Compare": "BinaryRepeatParams()",
    "Compares": "UnaryRepeatParams()",
    "CreateVecIndex": "1, 8",
    "Duplicate": "1, 8",
    "Select": "BinaryRepeatParams()",
}


def by_repeats(row: Row, pair: tuple[str, str], repeats: str, tensors: Tensors | None = None) -> str:
    """The mask form of a call on the first 16 lanes of so many ``repeats``."""
    if row.call != "OWN":
        return re.sub(r", 1, (?=\w+RepeatParams)", f", {repeats}, ", by_lanes(row, pair, 16, tensors))
    counted = OWN[row.name](tensors or Tensors(), pair, 16)
    if row.name in _OWN_REPEATS:
        counted = re.sub(r"<.*?>(?=\()", "", counted, count=1) if row.name == "CastDequant" else counted
        return f"{counted[:-1]}, {repeats}, {_OWN_REPEATS[row.name]})"
    return re.sub(r", 1, (?=\w+RepeatParams)", f", {repeats}, ", counted)


#: Rows whose mask form :func:`by_lanes` can write.
MASKED = [row for row in instructions() if row.unit in ("Elementwise", "Fused") and row.call != "OWN"]
