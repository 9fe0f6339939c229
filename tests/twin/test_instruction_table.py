"""The instruction table is the whole truth: every instruction has a row, every row tests of what it computes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from npukb_twin.compile.build import source_root
from npukb_twin.compile.instructions import casts, instructions
from tests.tables import read_yaml
from tests.twin import models, rows, test_api_convert, test_api_fused, test_api_reduce

ROWS = {row.name: row for row in instructions()}
DOCUMENTED = read_yaml(Path(__file__).with_name("documented_api.yaml"))

#: What chapters of vector instructions have beside instructions: registers, types, and sequences of many instructions.
OTHER = {
    "BilinearInterpolation",
    *("BrcbRepeatParams", "GatherMaskParams", "ReduceOrder", "RoundMode", "VdeqInfo"),
    *("GetCmpMask", "SetCmpMask", "SetDeqScale", "GetAccVal", "GetReduceMaxMinCount", "GetReduceRepeatMaxMinSpr"),
    "GetReduceRepeatSumSpr",
}

#: The test that compares a row's results with NumPy. Elementwise rows are tested by their models (models.py).
PROPERTIES: Mapping[str, Callable[..., None]] = {
    "AddDeqRelu": test_api_fused.test_dequantisation_to_half,
    "AddReluCast": test_api_fused.test_compute_and_cast,
    "BlockReduceMax": test_api_reduce.test_block_and_pair_reductions,
    "BlockReduceMin": test_api_reduce.test_block_and_pair_reductions,
    "BlockReduceSum": test_api_reduce.test_block_and_pair_reductions,
    "Brcb": test_api_convert.test_duplicate_brcb_and_copy,
    "Cast": test_api_convert.test_cast,
    "CastDequant": test_api_fused.test_dequantisation_to_half,
    "Compare": test_api_convert.test_compare_packs_bits_and_select_reads_them,
    "Compares": test_api_convert.test_compare_packs_bits_and_select_reads_them,
    "Copy": test_api_convert.test_duplicate_brcb_and_copy,
    "CreateVecIndex": test_api_convert.test_create_vec_index,
    "Duplicate": test_api_convert.test_duplicate_brcb_and_copy,
    "MulCast": test_api_fused.test_compute_and_cast,
    "PairReduceSum": test_api_reduce.test_block_and_pair_reductions,
    "ReduceMax": test_api_reduce.test_reductions_of_a_tensor,
    "ReduceMin": test_api_reduce.test_reductions_of_a_tensor,
    "ReduceSum": test_api_reduce.test_reductions_of_a_tensor,
    "Select": test_api_convert.test_compare_packs_bits_and_select_reads_them,
    "SubReluCast": test_api_fused.test_compute_and_cast,
    "WholeReduceMax": test_api_reduce.test_whole_reductions_and_their_layouts,
    "WholeReduceMin": test_api_reduce.test_whole_reductions_and_their_layouts,
    "WholeReduceSum": test_api_reduce.test_whole_reductions_and_their_layouts,
}


def test_every_instruction_has_a_row() -> None:
    """Names in chapters of instructions are rows, other names of rows, or known not to be instructions."""
    chapters = {row.chapter for row in ROWS.values()}
    listed = {
        name for chapter in chapters & DOCUMENTED["functions"].keys() for name in DOCUMENTED["functions"][chapter]
    }
    assert listed <= OTHER
    assert set(DOCUMENTED["aliases"].values()) <= ROWS.keys()
    assert not ROWS.keys() & (listed | DOCUMENTED["aliases"].keys())


def test_every_row_has_a_test_of_what_it_computes() -> None:
    modelled = {*models.UNARY, *models.BINARY, *models.SCALAR, *models.SHIFT, *models.ACCUMULATE}
    assert {name for name, row in ROWS.items() if row.unit == "Elementwise"} == modelled
    assert {name for name, row in ROWS.items() if row.unit != "Elementwise"} == PROPERTIES.keys()
    for name, test in PROPERTIES.items():
        generated = test is test_api_fused.test_compute_and_cast and name in {case[0] for case in test_api_fused.FUSED}
        assert generated or f"{name}(" in inspect.getsource(test), f"{test.__name__} does not call {name}"


def test_every_row_can_be_called() -> None:
    """What is generated from rows covers all of them, in every pair of types."""
    own = {row.name for row in ROWS.values() if row.call == "OWN"}
    assert own == rows.OWN.keys()
    for row in ROWS.values():
        for pair in row.pairs:
            assert rows.by_count(row, pair, rows.lanes_of(pair, row)).startswith(row.name)


def test_columns_agree() -> None:
    for row in ROWS.values():
        assert row.pairs, row
        assert (row.flow == "Never") == (not row.operands & {"Src0", "Src1", "Dst"}), row
        assert (row.flow == "Decides") == (row.unit == "Reduce"), row
        assert (row.cost == "Sequence") == ("Scratch" in row.operands), row
        assert ("Part" in row.operands) == (row.span == "HalfBlocks"), row
        sizes = {4 if rows.width(src) > 2 or rows.width(dst) > 2 else 2 for dst, src in row.pairs if row.unit != "Cast"}
        assert all(row.rate32 if size == 4 else row.rate16 for size in sizes), row


def test_the_table_of_casts_is_read_whole() -> None:
    text = (source_root() / "include" / "twin" / "casts.def").read_text(encoding="utf-8")
    assert len(casts()) == text.count("\nNPUKB_CAST(")
    text = (source_root() / "include" / "twin" / "instructions.def").read_text(encoding="utf-8")
    assert len(ROWS) == text.count("\nNPUKB_INSTRUCTION(")


def test_no_fact_about_an_instruction_stands_in_code() -> None:
    """Outside of the functions that compute, the runtime asks a row instead of naming instructions."""
    naming = {
        str(path.relative_to(source_root()))
        for path in sorted((source_root() / "runtime").rglob("*.*"))
        if path.suffix in {".cpp", ".h"} and "Op::" in path.read_text(encoding="utf-8").replace("LibraryOp::", "")
    }
    computing = {f"runtime/semantics/{name}.cpp" for name in ("elementwise", "fused", "reduce", "select")}
    assert naming <= computing
