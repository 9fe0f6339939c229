"""The rows of moves (which move, gather, sort, transpose, multiply) are true: what they say of operands happens.

Calls of rows whose operands lie in UB are generated: one that begins where its row does not allow it, and ones whose
result shares memory with a source. Every row has a test of what it computes, every function of the headers that
reaches the runtime as an instruction has a row.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from npukb_twin.compile.build import source_root
from npukb_twin.compile.instructions import MoveRow, instructions, moves
from npukernelbench.nouns import Outcome
from tests.twin import (
    rows,
    test_cube_loads,
    test_cube_out,
    test_move_copy,
    test_move_gather,
    test_move_transpose,
    test_sort,
)
from tests.twin.running import Twin
from tests.twin.test_constraints import first_line, run
from tests.twin.test_instruction_table import DOCUMENTED, OTHER

ROWS = {row.name: row for row in moves()}
#: The test that compares a row's results with NumPy.
PROPERTIES: Mapping[str, Callable[..., None]] = {
    "DataCopy": test_move_copy.test_every_element_type_moves,
    "DataCopyPad": test_move_copy.test_every_element_type_moves,
    "Fixpipe": test_cube_out.test_floats_become_narrower_floats,
    "Gather": test_move_gather.test_gather,
    "GatherMask": test_move_gather.test_gather_mask,
    "Gatherb": test_move_gather.test_gatherb_moves_blocks,
    "LoadData": test_cube_loads.test_fractals_come_from_global_memory_in_any_order,
    "LoadDataWithSparse": test_cube_loads.test_of_four_elements_two_take_part_in_a_sparse_product,
    "LoadDataWithTranspose": test_cube_loads.test_matrices_are_transposed_on_their_way_into_l0a,
    "Mmad": test_cube_out.test_products_begin_with_a_bias_or_go_on,
    "MmadWithSparse": test_cube_loads.test_of_four_elements_two_take_part_in_a_sparse_product,
    "MrgSort": test_sort.test_records_are_sorted_and_merged,
    "MrgSort4": test_sort.test_region_proposals_of_older_chips,
    "ProposalConcat": test_sort.test_region_proposals_of_older_chips,
    "ProposalExtract": test_sort.test_region_proposals_of_older_chips,
    "RpSort16": test_sort.test_region_proposals_of_older_chips,
    "Sort32": test_sort.test_records_are_sorted_and_merged,
    "TransDataTo5HD": test_move_transpose.test_trans_data_to_5hd,
    "Transpose": test_move_transpose.test_sixteen_by_sixteen,
}

_QUEUES = (
    "{{ uint16_t n[4] = {{{n}, {n}, {n}, {n}}}; struct MrgSort4Info info(n, false, 15, 1); "
    "{name}({Dst}, MrgSortSrcList<float>({Src0}, {Src1}, {Src2}, {Src3}), info); }}"
)
#: Calls of rows whose operands lie in UB, on operands by their slots.
CALLS: Mapping[str, str] = {
    "Gather": "Gather({Dst}, {Src0}, {Src1}, 0, 64)",
    "GatherMask": "uint64_t kept; GatherMask({Dst}, {Src0}, {Src1}, false, 0, {{1, 1, 8, 0}}, kept)",
    "Gatherb": "Gatherb({Dst}, {Src0}, {Src1}, 1, GatherRepeatParams(1, 8))",
    "MrgSort": _QUEUES.replace("{n}", "32").replace("{name}", "MrgSort"),
    "MrgSort4": _QUEUES.replace("{n}", "16").replace("{name}", "MrgSort4"),
    "ProposalConcat": "ProposalConcat({Dst}, {Src0}, 1, 0)",
    "ProposalExtract": "ProposalExtract({Dst}, {Src0}, 1, 0)",
    "RpSort16": "RpSort16({Dst}, {Src0}, 1)",
    "Sort32": "Sort32({Dst}, {Src0}, {Src1}, 1)",
    "TransDataTo5HD": "uint64_t to[16], from[16]; "
    "for (int i = 0; i < 16; ++i) {{ to[i] = {Dst}.GetPhyAddr() + 32 * i; from[i] = {Src0}.GetPhyAddr() + 32 * i; }} "
    "TransDataTo5HD<float>(to, from, TransDataTo5HDParams(false, false, 1, 0, 0))",
    "Transpose": "Transpose({Dst}, {Src0})",
}
#: The form with scratch.
WITH_SCRATCH: Mapping[str, str] = {
    "Transpose": "Transpose({Dst}, {Src0}, {Scratch}, "
    "TransposeParamsExt(1, 3, 4, 8, TransposeType::TRANSPOSE_NCHW2NHWC))",
}
#: A buffer of the kernel for each slot.
BUFFERS: Mapping[str, str] = {"Dst": "d", "Src0": "a", "Src1": "b", "Src2": "m", "Src3": "w", "Scratch": "w"}
#: What Src1 holds where it says what is read: offsets of elements or blocks, or bits that are all set.
OFFSETS: Mapping[str, str] = {"Gather": "4 * i", "Gatherb": "32 * i", "GatherMask": "~0u"}
IN_UB = [row for row in ROWS.values() if all(operand.memories == {"Ub"} for operand in row.operands)]


@dataclass(frozen=True)
class Place:
    """Where an operand begins: in which buffer of the kernel, how many bytes behind its beginning."""

    buffer: str
    shift_bytes: int = 0


def kind_of(row: MoveRow, slot: str) -> str:
    """The element type of an operand, in C++."""
    if slot == "Scratch":
        return "uint8_t"
    if slot == "Src1" and row.name in (*OFFSETS, "Sort32"):
        return "uint32_t"
    return "half" if row.name == "Transpose" else "float"


def call(row: MoveRow, moved: str, place: Place) -> str:
    """A call of the row in which the operand ``moved`` lies at ``place`` and every other in the buffer of its slot."""
    text = (WITH_SCRATCH if moved == "Scratch" else CALLS)[row.name]
    operands: dict[str, str] = {}
    for slot in (operand.slot for operand in row.operands):
        kind, at = kind_of(row, slot), place if slot == moved else Place(BUFFERS[slot])
        size = {"uint8_t": 1, "half": 2}.get(kind, 4)
        operands[slot] = f"{at.buffer}.Get<{kind}>()[{at.shift_bytes // size}]"
    return text.format(**operands)


def offsets(row: MoveRow) -> str:
    """What writes the operand that says what is read, where a row has one; every lane of it."""
    if row.name not in OFFSETS:
        return ""
    return f"for (int i = 0; i < 64; ++i) b.Get<uint32_t>().SetValue(i, {OFFSETS[row.name]}); PipeBarrier<PIPE_ALL>(); "


def alignment_bytes(text: str) -> int:
    """What the alignment column says of elements of 32 bits."""
    elements = re.fullmatch(r"Elements\((\d+)\)", text)
    return int(text) if elements is None else 4 * int(elements[1])


def test_operands_begin_where_their_row_allows(twin: Twin) -> None:
    cases = [(row, operand, alignment_bytes(operand.alignment) // 2) for row in IN_UB for operand in row.operands]
    done = run(twin, [call(row, operand.slot, Place(BUFFERS[operand.slot], shift)) for row, operand, shift in cases])
    first = first_line(done)
    said = {(error.line - first, error.rule, error.message.partition(" starts at")[0]) for error in done.errors}
    wanted = {(at, "misaligned", f"{row.name}: {operand.role}") for at, (row, operand, _) in enumerate(cases)}
    assert said == wanted, [str(error) for error in done.errors]


def shared() -> Iterator[tuple[MoveRow, str, bool]]:
    """Calls whose result lies on a source, and whether the row says that it is lost."""
    for row in IN_UB:
        for operand in row.operands[1:]:
            # Offsets that a result replaces lead anywhere.
            if operand.slot == "Scratch" or (operand.slot == "Src1" and operand.sharing == "Free"):
                continue
            source = BUFFERS[operand.slot]
            yield row, offsets(row) + call(row, "Dst", Place(source)), operand.sharing == "Apart"
            if operand.sharing == "Same":
                yield row, offsets(row) + call(row, "Dst", Place(source, 32)), True


def test_results_share_memory_as_their_row_says(twin: Twin) -> None:
    cases = list(shared())
    done = run(twin, [text for _, text, _ in cases])
    first = first_line(done)
    assert done.outcome is Outcome.OK, [str(error) for error in done.errors]
    lost = {diagnostic.line - first for diagnostic in done.diagnostics if diagnostic.rule == "overlap"}
    assert lost == {at for at, (_, _, is_lost) in enumerate(cases) if is_lost}, [
        str(diagnostic) for diagnostic in done.diagnostics
    ]


def test_every_row_has_a_test_of_what_it_computes() -> None:
    assert ROWS.keys() == PROPERTIES.keys()
    for name, test in PROPERTIES.items():
        assert re.search(rf"\b{name}[(<]", inspect.getsource(test)), f"{test.__name__} does not call {name}"
    assert {row.name for row in IN_UB} == CALLS.keys()


def test_columns_agree() -> None:
    text = (source_root() / "include" / "twin" / "instructions.def").read_text(encoding="utf-8")
    assert len(ROWS) == len(moves()) == text.count("\nNPUKB_MOVE(")
    assert not ROWS.keys() & {row.name for row in instructions()}
    for row in ROWS.values():
        slots = [operand.slot for operand in row.operands]
        assert slots[:2] == ["Dst", "Src0"], row
        assert len(set(slots)) == len(slots), row
        assert row.operands[0].sharing == "Free", row
        assert row.pairs, row
        assert {name for pair in row.pairs for name in pair} <= {*rows.TYPES, "I4", "U64"}, row
        assert bool(row.rate16) == bool(row.rate32), row


def test_every_documented_move_has_a_row() -> None:
    """Names in the chapters of rows are rows, or known not to be instructions."""
    chapters = {row.chapter for row in ROWS.values()} & DOCUMENTED["functions"].keys()
    listed = {name for chapter in chapters for name in DOCUMENTED["functions"][chapter]}
    others = {"SetPadValue", "GetMrgSortResult", "TransDataTo5HDParams"}
    structures = {name for name in listed if name.endswith(("Params", "Full", "Info", "List", "Ext", "Config"))}
    assert listed <= OTHER | others | structures
    assert not ROWS.keys() & listed


#: Functions of the headers that reach the runtime and are no instructions of their own: what they are made of, or set.
MADE_OF: Mapping[str, str] = {
    "DataCopyUB2GMImpl": "DataCopy, on pointers",
    "InitOutput": "many DataCopy",
    "Fill": "many DataCopy to global memory; in L0 and L1 a fill",
    "Concat": "the library's, on Sort32",
    "Sort": "the library's, on Sort32 and MrgSort",
    "Extract": "the library's",
    "TopK": "the library's",
    "TransDataTo5HDImpl": "TransDataTo5HD, on pointers",
    "GetMrgSortResult": "reads a register",
    "SetFixPipeConfig": "sets a register",
    "SetFmatrix": "sets a register",
    "SetLoadDataRepeat": "sets a register",
    "vbitsort": "Sort32, on pointers",
    "vmrgsort4": "MrgSort, on pointers",
}
#: Entry points of the runtime that an instruction goes through.
_INSTRUCTION = re.compile(r"npukb_((?:copy|gather|sort|merge|region|transpose|cube|topk|vbitsort|vmrgsort4)\w*)\(")
#: Registers, by their entry points.
_REGISTERS = frozenset({"cube_register"})


def test_every_function_that_is_an_instruction_has_a_row() -> None:
    reached: set[str] = set()
    for header in ("copy.h", "gather.h", "sort.h", "transpose.h", "cube/cube.h"):
        text = (source_root() / "include" / "twin" / header).read_text(encoding="utf-8")
        for function in re.split(r"NPUKB_(?:API|ONCE)\b", text)[1:]:
            name = re.search(r"(\w+)\(", function)
            if name is not None and set(_INSTRUCTION.findall(function)) - _REGISTERS:
                reached.add(name[1])
    reached -= {"name"}  # macros that make several functions
    assert reached - ROWS.keys() == MADE_OF.keys()
    assert ROWS.keys() <= reached


def test_no_check_of_a_row_names_its_operands_itself() -> None:
    """Roles, alignments and memories stand in the table, and nowhere else."""
    # Lists of addresses that lie in UB are no operands of the rows.
    named = re.compile(rf'Check(?:Local|CubeOperand)\([^;]*?"(?:{"|".join(ROWS)})", "(?!dstLocal|srcLocal)')
    offenders = [
        f"{path.name}: {found[0]}"
        for folder in ("semantics", "cube")
        for path in sorted((source_root() / "runtime" / folder).glob("*.cpp"))
        for found in named.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not offenders
