"""What the passes decided, in words: storage, temporaries, instructions, and the numbers of a case."""

from __future__ import annotations

from npukb_tile.checking import case_attributes, case_facts
from npukb_tile.instructions import spell
from npukb_tile.invariants import check_unified_buffer, slot_bytes
from npukb_tile.ir import Program, Stage, walk_blocks
from npukb_tile.kernel import block_instructions
from npukb_tile.launching import UB_BYTES, buffer_bytes, numbers_of, plan
from npukb_tile.lowering import lower_parts
from npukernelbench.nouns import Case

__all__ = ["explain_case", "explain_program"]


def explain_program(program: Program) -> list[str]:
    """Buffers and where they live, and the instructions of every compute block."""
    # Without a case no number is known, so that what is shown holds for all of them.
    parts = lower_parts(program, {}, {})
    lines = ["Buffers"]
    for name, storage in parts.storage.items():
        buffer = program.buffers[name]
        lines.append(f"  {name:16} {buffer.dtype:9} {storage.value}, depth {buffer.depth}, line {buffer.line}")
    lines.append(f"Temporaries: {len(parts.computed.slots)}")
    for block in walk_blocks(program.kernel):
        if block.stage is Stage.COMPUTE:
            lines.append(f"{block.name}, line {block.line}")
            for instruction in block_instructions(block.body, parts.computed):
                lines += [f"  {text}" for text in spell(instruction)]
    return lines


def explain_case(program: Program, case: Case) -> list[str]:
    """The launch of a case: cores, numbers, bytes."""
    attributes = case_attributes(program, case)
    planned = plan(program, case_facts(program, case), attributes)
    names = numbers_of(attributes, planned)
    # With the case's numbers, which decide which copies are plain.
    parts = lower_parts(program, planned.types, names)
    total = check_unified_buffer(parts, planned, names)
    lines = [f"Case {case.id}: {planned.cores} cores"]
    lines += [f"  {name} = {value}" for name, value in planned.numbers.items()]
    lines += [f"  {name}: {size} bytes" for name, size in buffer_bytes(program, planned, names).items()]
    lines += [f"  temporary {number}: {size} bytes" for number, size in enumerate(slot_bytes(parts, planned, names))]
    lines.append(f"  {total} of {UB_BYTES} bytes of the unified buffer")
    return lines
