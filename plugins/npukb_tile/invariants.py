"""What every pass promises, checked after it. A fault here names the program's line where it can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from npukb_tile.compute import Computed, Operand
from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.ir import Program
from npukb_tile.launching import UB_BYTES, Number, Planned, buffer_bytes, evaluate
from npukb_tile.storage import Storage, uses_of

if TYPE_CHECKING:
    from npukb_tile.kernel import DeviceParts

__all__ = ["check_computed", "check_storage", "check_unified_buffer", "slot_bytes"]


def check_storage(program: Program, storage: Mapping[str, Storage]) -> None:
    """Every buffer has a place, and every queue one block at either end."""
    uses = uses_of(program)
    for name in program.buffers:
        ends = {
            Storage.INPUT_QUEUE: (uses[name].loads, uses[name].reads),
            Storage.OUTPUT_QUEUE: (uses[name].writes, uses[name].stores),
            Storage.THROUGH_QUEUE: (uses[name].loads, uses[name].stores),
        }.get(storage[name])
        if ends and any(len(set(end)) != 1 for end in ends):
            raise ProgramError("lowering", f"the queue {name} has more than one end", line=program.buffers[name].line)


def check_computed(program: Program, computed: Computed) -> None:
    """Instructions use buffers of the program and temporaries that exist, and library functions write apart."""
    for instructions in computed.instructions.values():
        for instruction in instructions:
            for operand in (instruction.target, *instruction.operands, *instruction.work):
                if not isinstance(operand, Operand):
                    continue
                known = operand.name in program.buffers if operand.slot < 0 else operand.slot < len(computed.slots)
                if not known:
                    raise ProgramError("lowering", f"{operand.name} has no memory", line=instruction.line)
            places = [
                operand.slot if operand.slot >= 0 else operand.name
                for operand in (instruction.target, *instruction.work)
            ]
            if len(set(places)) != len(places):
                raise ProgramError("lowering", f"{instruction.operation} works where it writes", line=instruction.line)


def slot_bytes(parts: DeviceParts, planned: Planned, names: Mapping[str, Number]) -> list[int]:
    """Bytes of every temporary."""
    sizes = []
    # The sizes that `_slot_bytes` writes into the kernel: a change here needs the same one there.
    for slot in parts.computed.slots:
        most = slot.least_bytes
        for name, dtype, rows_only in slot.tiles:
            buffer = parts.program.buffers[name]
            rows, cols = (int(evaluate(extent, names, {})) for extent in (buffer.rows, buffer.cols))
            unit = parts.aligned.unit
            elements = rows * (-(-cols // unit) * unit) if buffer.rank == 2 and not buffer.column else rows * cols
            elements = rows if rows_only else elements
            # Masks are bits: 0 bytes here leads to an eighth of a byte per element below.
            itemsize = DTYPES[planned.types.get(dtype, dtype)].itemsize if dtype != "mask" else 0
            most = max(most, elements * itemsize or -(-elements // 8))
        # As the kernel's own Bytes rounds: instructions write whole repeats of 256 bytes.
        sizes.append(-(-most // 256) * 256)
    return sizes


def check_unified_buffer(parts: DeviceParts, planned: Planned, names: Mapping[str, Number]) -> int:
    """The bytes that buffers and temporaries take together; a fault if they do not fit."""
    sizes = buffer_bytes(parts.program, planned, names)
    temporaries = slot_bytes(parts, planned, names)
    total = sum(sizes.values()) + sum(temporaries)
    if total > UB_BYTES:
        listing = ", ".join(
            [
                *(f"{name} {size}" for name, size in sizes.items()),
                *(f"temporary {n} {size}" for n, size in enumerate(temporaries)),
            ]
        )
        raise ProgramError(
            "ub_budget",
            f"buffers and temporaries take {total} bytes ({listing}), the unified buffer has {UB_BYTES}",
            line=parts.program.launch.line,
            remedy=f"a tile of {UB_BYTES / total:.2f} times the length fits; less nesting needs fewer temporaries",
        )
    return total
