"""What the twin says about names and rules: from its headers, its tables and its page."""

from __future__ import annotations

from npukb_twin import documentation
from npukernelbench.judge.documented import ApiStatus


def entry(name: str):
    api_entry = documentation.api_entry(name)
    assert api_entry is not None
    return api_entry


def test_a_name_is_documented_by_what_declares_it() -> None:
    pad = entry("DataCopyPad")
    assert (pad.status, pad.header) == (ApiStatus.OFFERED, "copy.h")
    assert any("LocalTensor<T>& dst, const GlobalTensor<T>& src" in line for line in pad.declarations)
    [pipe] = entry("TPipe").declarations
    assert "bool InitBuffer(TBuf<position>& buf, uint32_t len)" in pipe
    [rounding] = entry("CAST_RINT").declarations
    assert rounding.startswith("enum class RoundMode")
    assert "uint16_t blockCount = 1;" in "".join(entry("DataCopyExtParams").declarations)


#: What rows of instructions and of moves tell.
NOTES = (
    ("ShiftLeft", "Element types: int16_t, uint16_t, int32_t, uint32_t."),
    ("ShiftLeft", "Elements per cycle: 128 of 16 bits, 64 of 32 bits."),
    ("ShiftLeft", "ShiftLeft(dst, src, scalar, count, round)"),
    ("Sigmoid", "library function with the operands dst, src."),
    ("Cast", "half from int4b_t"),
    ("GatherMask", "GatherMask is an instruction (choice) on dst, src0, src1Pattern."),
    ("GatherMask", "Elements per cycle: 64 of 16 bits, 32 of 32 bits."),
    ("GatherMask", "The result may share no memory with src1Pattern."),
    ("Fixpipe", "half from int32_t"),
)


def test_an_instruction_is_documented_by_its_row() -> None:
    for name, note in NOTES:
        assert note in " ".join(entry(name).notes), name
    assert "Elements per cycle" not in " ".join(entry("Mmad").notes)


def test_what_is_not_there_is_said() -> None:
    assert entry("BatchWrite").status is ApiStatus.GAP
    assert entry("Clamp").status is ApiStatus.OTHER_CHIP
    assert documentation.api_entry("NoSuchName") is None
    assert documentation.api_status("NoSuchName") is None


def test_declarations_name_nothing_of_the_twins_own() -> None:
    for name in ("LocalTensor", "Cast", "ReduceSum", "TQue", "Sort32", "GetBlockIdx", "SetFlag"):
        assert not [line for line in entry(name).declarations if "npukb" in line.lower()], name


def test_every_rule_of_the_page_is_there() -> None:
    rules = {rule_entry.rule: rule_entry for rule_entry in documentation.rule_entries()}
    assert len(rules) > 50
    assert rules["misaligned"].severity == "error"
    assert "UB operands start on 32 bytes" in rules["misaligned"].consequence
    assert rules["queue_leak"].severity == "warning"
