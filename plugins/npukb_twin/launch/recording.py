"""Asking a launch what one core does, and reading what the runtime wrote (runtime/check/recording.cpp)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from npukb_twin.compile.lines import Place
from npukb_twin.launch.tracing import dtype_of, value_of
from npukernelbench.nouns import Operand, Recorded, Recording

__all__ = ["ROOM_BYTES", "read_recording", "record_line"]

#: What a record may take. The file has holes: it takes what is written.
ROOM_BYTES = 256 << 20

# "<" aligns nothing by itself: what C++ leaves free is written as x
_HEAD = struct.Struct("<8sQQQQ8s")
_ENTRY = struct.Struct("<QQQbB6x8s40s48s")
_OPERAND = struct.Struct("<16s64sQQQIbBBx")
_MAGIC = b"npukbrec"


def record_line(recorded: tuple[int, int], file: Path) -> str:
    """The directive for it. Makes the file."""
    with file.open("wb") as made:
        made.truncate(ROOM_BYTES)
    block, core = recorded
    return f"record {block} {core} {ROOM_BYTES} {file}"


def read_recording(file: Path, place: Callable[[int], Place]) -> Recording | None:
    """What the core did; None when the launch ended before it was written."""
    with file.open("rb") as read:
        magic, size, count, lost, cut, kind = _HEAD.unpack(read.read(_HEAD.size))
        # the file is made with a hole, which a launch that ends early leaves as it is
        if magic != _MAGIC:
            return None
        data = memoryview(read.read(size - _HEAD.size))
    return Recording(_text(kind), tuple(_entries(data, count, place)), lost, bool(cut))


def _entries(data: memoryview, count: int, place: Callable[[int], Place]) -> Iterator[Recorded]:
    at = 0
    for _ in range(count):
        sequence, pc, scalar, scalar_type, operand_count, pipe, name, note = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        operands = []
        for _ in range(operand_count):
            operand, at = _operand(data, at)
            operands.append(operand)
        source = place(pc)
        value = value_of(scalar, dtype_of(scalar_type)) if scalar_type >= 0 else None
        yield Recorded(
            sequence, _text(name), _text(pipe), source.file, source.line, _text(note), value, tuple(operands)
        )


def _operand(data: memoryview, at: int) -> tuple[Operand, int]:
    role, memory, offset, nbytes, stride, count, number, writes, kept = _OPERAND.unpack_from(data, at)
    at += _OPERAND.size
    total = nbytes * count if kept else 0
    content = bytes(data[at : at + total]) if kept else None
    dtype = dtype_of(number)
    operand = Operand(_text(role), _text(memory), offset, nbytes, stride, count, dtype, bool(writes), content)
    return operand, at + total


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")
