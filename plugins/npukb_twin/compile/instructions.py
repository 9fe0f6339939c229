"""The tables of the twin's headers as Python reads them: one row per instruction, one per pair that Cast takes.

``include/twin/instructions.def`` says what the columns mean. Machine files take the documented rates from here,
messages the names that exist; tests are generated from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from npukb_twin.compile.build import source_root

__all__ = [
    "CastRow",
    "LibraryRow",
    "MoveOperand",
    "MoveRow",
    "Row",
    "casts",
    "instructions",
    "library",
    "moves",
    "type_name",
    "types",
]

_ROW = re.compile(r"^NPUKB_INSTRUCTION\((.*?)\)$", re.MULTILINE | re.DOTALL)
_MOVE = re.compile(
    r"^NPUKB_MOVE\((\w+),\s*\((.*?\))\),\s*([^\"]+?),\s*(\d+),\s*(\d+),\s*([\w ]+)\)$", re.MULTILINE | re.DOTALL
)
_OPERAND = re.compile(r'(\w+)\("(\w+)", (\w+(?:\(\d+\))?), ([\w| ]+), (\w+)(, Decides)?\)')
_CAST = re.compile(r"^NPUKB_CAST\((\w+), (\w+), ([\w| ]+)\)$", re.MULTILINE)
_LIBRARY = re.compile(r"^NPUKB_LIBRARY_(UNARY|BINARY|OTHER)\((\w+), ([\w| ]+), \d+, (\w+)\)$", re.MULTILINE)
_DOMAIN = re.compile(r"^NPUKB_LIBRARY_DOMAIN\((\w+),", re.MULTILINE)
#: Types of the tables as C++ calls them.
_TYPES: Mapping[str, str] = {
    "F16": "half", "F32": "float", "BF16": "bfloat16_t", "I4": "int4b_t", "I8": "int8_t", "U8": "uint8_t",
    "I16": "int16_t", "U16": "uint16_t", "I32": "int32_t", "U32": "uint32_t", "I64": "int64_t", "U64": "uint64_t",
}  # fmt: skip
# each of the first types goes with each of the second
_PAIRS = re.compile(r"Into\(([\w| ]+), ([\w| ]+)\)")


class Row(NamedTuple):
    """One instruction. Sets of bits are sets of their names; ``pairs`` are types of dst and of the sources."""

    name: str
    call: str
    unit: str
    operands: frozenset[str]
    pairs: tuple[tuple[str, str], ...]
    span: str
    flow: str
    bits: frozenset[str]
    cost: str
    rate16: int
    rate32: int
    chapter: str

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Types that dst and sources can have alike."""
        return tuple(dst for dst, src in self.pairs if dst == src)


class MoveOperand(NamedTuple):
    """An operand of a move: what messages call it, where it begins and lies, what of dst it may share, and whether its
    values decide what is moved where.
    """

    slot: str
    role: str
    alignment: str
    memories: frozenset[str]
    sharing: str
    decides: bool


class MoveRow(NamedTuple):
    """An instruction that moves, gathers, sorts, transposes or multiplies. ``pairs`` as those of :class:`Row`."""

    name: str
    operands: tuple[MoveOperand, ...]
    pairs: tuple[tuple[str, str], ...]
    rate16: int
    rate32: int
    chapter: str


class LibraryRow(NamedTuple):
    """An element-wise function of the high-level library. ``bounded``: the page gives a domain for its arguments."""

    name: str
    kind: str
    dtypes: tuple[str, ...]
    sharing: str
    bounded: bool


class CastRow(NamedTuple):
    """A pair of types that Cast converts between, and the rounding modes that are documented for it."""

    dst: str
    src: str
    modes: frozenset[str]


def types() -> tuple[str, ...]:
    """Element types by the names that the tables call them."""
    return tuple(_TYPES)


def type_name(bits: str) -> str:
    """A type of the tables as C++ calls it."""
    return _TYPES.get(bits, bits)


def _text(name: str) -> str:
    return (source_root() / "include" / "twin" / name).read_text(encoding="utf-8")


def _set(column: str) -> frozenset[str]:
    # the tables write an empty set as None
    return frozenset(word.strip() for word in column.split("|")) - {"None"}


def _words(column: str) -> list[str]:
    return [word.strip() for word in column.split("|")]


def _pairs(column: str) -> tuple[tuple[str, str], ...]:
    if column == "Casts":
        return tuple((row.dst, row.src) for row in casts())
    if "Into(" not in column:
        return tuple((name, name) for name in _words(column))
    return tuple((dst, src) for into, of in _PAIRS.findall(column) for dst in _words(into) for src in _words(of))


def _operands(column: str) -> Iterator[MoveOperand]:
    for slot, role, alignment, memories, sharing, decides in _OPERAND.findall(column):
        yield MoveOperand(slot, role, alignment, frozenset(_words(memories)), sharing, bool(decides))


@cache
def instructions() -> tuple[Row, ...]:
    """Every row of the instruction table, in its order."""
    rows = []
    for text in _ROW.findall(_text("instructions.def")):
        # commas inside of brackets part no columns
        columns = [column.strip() for column in re.split(r",(?![^(]*\))", text)]
        name, call, unit, operands, types, span, flow, bits, cost, rate16, rate32, chapter = columns
        rows.append(
            Row(
                name,
                call,
                unit,
                _set(operands),
                _pairs(types),
                span,
                flow,
                _set(bits),
                cost,
                int(rate16),
                int(rate32),
                chapter,
            )
        )
    return tuple(rows)


@cache
def moves() -> tuple[MoveRow, ...]:
    """Every row of the same table that is no vector instruction by lanes."""
    return tuple(
        # a row may go over several lines
        MoveRow(name, tuple(_operands(operands)), _pairs(" ".join(types.split())), int(rate16), int(rate32), chapter)
        for name, operands, types, rate16, rate32, chapter in _MOVE.findall(_text("instructions.def"))
    )


@cache
def casts() -> tuple[CastRow, ...]:
    """Every pair of types that Cast takes."""
    return tuple(CastRow(dst, src, _set(modes)) for dst, src, modes in _CAST.findall(_text("casts.def")))


@cache
def library() -> tuple[LibraryRow, ...]:
    """Element-wise functions of the high-level library that no instruction shares its name with."""
    text = _text("library.def")
    bounded = set(_DOMAIN.findall(text))
    taken = {row.name for row in instructions()}
    return tuple(
        LibraryRow(name, kind, tuple(_words(types)), sharing, name in bounded)
        for kind, name, types, sharing in _LIBRARY.findall(text)
        if name not in taken
    )
