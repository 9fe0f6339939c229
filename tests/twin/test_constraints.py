"""The constraints ledger holds: every instruction has its entries, and every entry does what it says.

Breaking kernels of instructions are generated from the table. One kernel tries a constraint on all of them: a block
each, because a rule that is broken ends its block only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from npukb_twin.compile.instructions import Row, instructions
from npukb_twin.constraints import Constraint, function_constraints, page, row_constraints
from npukernelbench.nouns import Outcome
from tests.twin import rows
from tests.twin.rows import Tensors
from tests.twin.running import HEAD, Finished, Twin
from tests.twin.test_rules import BREACHES

#: Vector cores of a launch, each of which tries a call of its own.
BLOCKS = 48
ROWS = {row.name: row for row in instructions()}
#: A buffer for each operand, of which calls take as much as they want.
SETUP = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> d, a, b, m, w;
    pipe.InitBuffer(d, 16384);
    pipe.InitBuffer(a, 16384);
    pipe.InitBuffer(b, 16384);
    pipe.InitBuffer(m, 1024);
    pipe.InitBuffer(w, 16384);
"""


def of(name: str) -> list[Row]:
    """Instructions that have the constraint of that name."""
    return [row for row in ROWS.values() if any(entry.name == name for entry in row_constraints(row))]


def tensor(buffer: str, kind: str, at: str = "") -> str:
    return f"{buffer}.Get<{rows.ctype(kind)}>(){at}"


def call(row: Row, *, dst: str = "", src: str = "", count: int | None = None) -> str:
    """A right call of a row but for what is given: where its result or source begins, or how many elements it has."""
    pair = next(pair for pair in row.pairs if "I4" not in pair)
    names = Tensors(
        tensor("d", pair[0], dst),
        tensor("a", pair[1], src),
        tensor("b", pair[1]),
        tensor("m", "U8"),
        tensor("w", pair[1]),
    )
    return rows.by_count(row, pair, rows.lanes_of(pair, row) if count is None else count, names)


def repeated(row: Row) -> str:
    """A call with 256 repeats."""
    first = "256, " if row.call == "REPEATS_FIRST" else ""
    middle = "" if first else "256, "
    pair = row.pairs[0]
    return f"{row.name}({tensor('d', pair[0])}, {tensor('a', pair[1])}, {first}16, {middle}1, 1, 8)"


def wide(row: Row) -> str:
    """A call that takes more than UB holds."""
    if row.call in ("REPEATS", "REPEATS_FIRST", "REPEATS_ORDER"):
        return repeated(row).replace("256, ", "255, ").replace("1, 8)", "1, 1000)")
    if row.name == "Brcb":
        return f"Brcb({tensor('d', 'F32')}, {tensor('a', 'F32')}, 255, BrcbRepeatParams(1, 1000))"
    if row.name == "Copy":
        return f"Copy({tensor('d', 'F32')}, {tensor('a', 'F32')}, 64, 255, CopyRepeatParams(1, 1, 1000, 8))"
    return call(row, count=1 << 20)


#: How a call breaks a constraint of its row.
BROKEN = {
    "source alignment": lambda row: call(row, src="[1]"),
    "result alignment": lambda row: call(row, dst="[1]"),
    "room": wide,
    "position": lambda row: re.sub(r"d\.Get<(.*?)>\(\)", r"LocalTensor<\1>()", call(row), count=1),
    "count": lambda row: call(row, count=-1),
    "repeats": repeated,
}


def chunks(having: list[Row], size: int) -> Iterator[list[Row]]:
    return (having[at : at + size] for at in range(0, len(having), size))


def run(twin: Twin, lines: list[str]) -> Finished:
    """A kernel whose block ``i`` executes the line ``i``."""
    body = "".join(f"    if (GetBlockIdx() == {i}) {{ {line}; }}\n" for i, line in enumerate(lines))
    entry = 'extern "C" __global__ __aicore__ void probe(GM_ADDR y, GM_ADDR workspace) {'
    return twin.run_source(f"{HEAD}{entry}{SETUP}{body}}}\n")


def first_line(done: Finished) -> int:
    return next(i for i, line in enumerate(done.source.splitlines(), 1) if "GetBlockIdx() == 0" in line)


@pytest.mark.parametrize("name", BROKEN)
def test_every_instruction_refuses_what_breaks_it(twin: Twin, name: str) -> None:
    having = of(name)
    [rule] = {entry.constraint.rule for row in having for entry in row_constraints(row) if entry.name == name}
    for some in chunks(having, BLOCKS):
        done = run(twin, [BROKEN[name](row) for row in some])
        first = first_line(done)
        said = {found.line - first: found.rule for found in done.errors}
        assert {row.name: said.get(i) for i, row in enumerate(some)} == {row.name: rule for row in some}, [
            str(found) for found in done.errors
        ]


def test_every_instruction_accepts_what_breaks_nothing(twin: Twin) -> None:
    for some in chunks(list(ROWS.values()), BLOCKS):
        done = run(twin, [call(row) for row in some])
        assert (done.outcome, [str(found) for found in done.diagnostics]) == (Outcome.OK, [])


def test_every_instruction_refuses_other_types(twin: Twin) -> None:
    """A compiler gives up after 20 errors: a few instructions at a time."""
    for some in chunks(list(ROWS.values()), 7):
        lines = [re.sub(r"(?<=\bGet<)(?!uint8_t)\w+(?=>)", "double", call(row)) for row in some]
        done = run(twin, lines)
        assert done.outcome is Outcome.COMPILE_ERROR
        first = first_line(done)
        assert {found.line - first for found in done.errors} >= set(range(len(some)))


#: How a call asks for what is undefined, and elements of the result that then hold all ones.
UNDEFINED = {
    "rounding": f"Cast({tensor('d', 'I32')}, {tensor('a', 'F32')}, RoundMode::CAST_ODD, 64)",
    "shift": f"ShiftLeft({tensor('d', 'I32')}, {tensor('a', 'I32')}, 33, 64)",
    "wide comparison": f"Compare({tensor('d', 'U8')}, {tensor('a', 'I32')}, {tensor('b', 'I32')}, CMPMODE::LT, 64)",
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_undefined_is_of_no_use(twin: Twin, name: str) -> None:
    [rule] = {entry.constraint.rule for row in ROWS.values() for entry in row_constraints(row) if entry.name == name}
    zero = f"Duplicate({tensor('a', 'F32')}, 0.0f, 64); Duplicate({tensor('b', 'F32')}, 0.0f, 64)"
    seen = f"assert({tensor('d', 'U32')}.GetValue(1) == 0xffffffffu)"
    done = run(twin, [f"{zero}; PipeBarrier<PIPE_ALL>(); {UNDEFINED[name]}; PipeBarrier<PIPE_ALL>(); {seen}"])
    assert (done.outcome, [found.rule for found in done.diagnostics]) == (Outcome.OK, [rule])


def names_of_rows() -> dict[str, Constraint]:
    return {entry.name: entry.constraint for row in ROWS.values() for entry in row_constraints(row)}


def test_every_constraint_of_the_table_is_tried() -> None:
    for name, constraint in names_of_rows().items():
        if constraint.status == "enforced" and name != "types":
            assert name in BROKEN or any(breach.rule == constraint.rule for breach in BREACHES), name
        if constraint.status == "undefined":
            assert name in UNDEFINED, name
        if constraint.status == "warned":
            assert any(breach.warning and breach.rule == constraint.rule for breach in BREACHES), name


def test_every_instruction_has_entries() -> None:
    assert not [row.name for row in ROWS.values() if not row_constraints(row)]
    assert not function_constraints().keys() & ROWS.keys()


@pytest.mark.parametrize("function", function_constraints())
def test_a_kernel_breaks_every_constraint_of(function: str) -> None:
    lines = [
        (breach.rule, breach.warning)
        for breach in BREACHES
        if re.search(rf"\b{function}\b", "\n".join(re.findall(r".*// here$", breach.body, re.MULTILINE)) or breach.body)
    ]
    for constraint in function_constraints()[function]:
        if constraint.status != "not_modelled":
            assert (constraint.rule, constraint.status == "warned") in lines, constraint.says


def test_the_page_is_written_from_the_ledger() -> None:
    path = Path(__file__).parents[2] / "docs" / "constraints.md"
    assert path.read_text(encoding="utf-8") == page(), "run python -m npukb_twin.constraints"
