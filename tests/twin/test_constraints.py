"""The constraints ledger holds: every instruction has its entries, and every entry does what it says.

Breaking kernels of instructions are generated from the table. One kernel tries a constraint on all of them: a block
each, because a rule that is broken ends its block only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from npukb_twin.compile.instructions import LibraryRow, Row, instructions, library
from npukb_twin.constraints import Constraint, function_constraints, library_constraints, page, row_constraints
from npukernelbench.nouns import Outcome, Severity
from tests.twin import rows
from tests.twin.breaches import breaches_of_objects, broken_calls
from tests.twin.mistakes import mistakes
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


def cut(row: Row) -> str:
    """A call with 256 repeats, of which nothing is left in 8 bits."""
    pair = next(pair for pair in row.pairs if "I4" not in pair)
    names = Tensors(tensor("d", pair[0]), tensor("a", pair[1]), tensor("b", pair[1]), tensor("m", "U8"))
    return f"int n = 256; {rows.by_repeats(row, pair, 'n', names)}"


#: How a call breaks a constraint of its row.
BROKEN = {
    "source alignment": lambda row: call(row, src="[1]"),
    "result alignment": lambda row: call(row, dst="[1]"),
    "room": wide,
    "position": lambda row: re.sub(r"d\.Get<(.*?)>\(\)", r"LocalTensor<\1>()", call(row), count=1),
    "count": lambda row: call(row, count=-1),
    "repeats": repeated,
    "repeats by type": cut,
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
        said = {error.line - first: error.rule for error in done.errors}
        assert {row.name: said.get(i) for i, row in enumerate(some)} == {row.name: rule for row in some}, [
            str(error) for error in done.errors
        ]


def test_every_instruction_accepts_what_breaks_nothing(twin: Twin) -> None:
    for some in chunks(list(ROWS.values()), BLOCKS):
        done = run(twin, [f"SetDeqScale((half)1.0f); {call(row)}" for row in some])
        assert (done.outcome, [str(diagnostic) for diagnostic in done.diagnostics]) == (Outcome.OK, [])


def test_every_instruction_refuses_other_types(twin: Twin) -> None:
    """A compiler gives up after 20 errors: a few instructions at a time."""
    for some in chunks(list(ROWS.values()), 7):
        lines = [re.sub(r"(?<=\bGet<)(?!uint8_t)\w+(?=>)", "double", call(row)) for row in some]
        done = run(twin, lines)
        assert done.outcome is Outcome.COMPILE_ERROR
        first = first_line(done)
        assert {error.line - first for error in done.errors} >= set(range(len(some)))


#: How a call asks for what is undefined, and elements of the result that then hold all ones.
UNDEFINED = {
    "rounding": f"Cast({tensor('d', 'I32')}, {tensor('a', 'F32')}, RoundMode::CAST_ODD, 64)",
    "shift": f"ShiftLeft({tensor('d', 'I32')}, {tensor('a', 'I32')}, 33, 64)",
    "partial overlap": f"Abs({tensor('a', 'F32', '[8]')}, {tensor('a', 'F32')}, 64); PipeBarrier<PIPE_V>();"
    f"DataCopy({tensor('d', 'F32')}, {tensor('a', 'F32', '[8]')}, 64)",
    "overlap between repeats": f"Adds({tensor('a', 'F32', '[64]')}, {tensor('a', 'F32')}, 1.0f, 64, 2, {{1, 1, 8, 8}});"
    f"PipeBarrier<PIPE_V>(); DataCopy({tensor('d', 'F32')}, {tensor('a', 'F32', '[64]')}, 64)",
    "overlap of blocks": f"Brcb({tensor('a', 'F32')}, {tensor('a', 'F32')}, 1, {{1, 8}}); PipeBarrier<PIPE_V>();"
    f"DataCopy({tensor('d', 'F32')}, {tensor('a', 'F32')}, 64)",
    "choice": f"Select({tensor('d', 'F32')}, {tensor('m', 'U8')}, {tensor('a', 'F32')}, 1.0f, "
    "SELMODE::VSEL_TENSOR_TENSOR_MODE, 64)",
    "scale": f"AddDeqRelu({tensor('d', 'F16')}, {tensor('a', 'I32')}, {tensor('b', 'I32')}, 64)",
    "block stride": f"Duplicate({tensor('d', 'F32')}, 0.0f, 64, 1, 0, 8)",
    "overlap of results": f"Duplicate({tensor('a', 'F32')}, 0.0f, 128); WholeReduceSum({tensor('a', 'F32', '[64]')}, "
    f"{tensor('a', 'F32')}, 64, 2, 1, 1, 8); PipeBarrier<PIPE_V>();"
    f"DataCopy({tensor('d', 'F32')}, {tensor('a', 'F32', '[64]')}, 64)",
    "wide comparison": f"Compare({tensor('d', 'U8')}, {tensor('a', 'I32')}, {tensor('b', 'I32')}, CMPMODE::LT, 64)",
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_undefined_is_of_no_use(twin: Twin, name: str) -> None:
    [rule] = {entry.constraint.rule for row in ROWS.values() for entry in row_constraints(row) if entry.name == name}
    zero = f"Duplicate({tensor('a', 'F32')}, 0.0f, 64); Duplicate({tensor('b', 'F32')}, 0.0f, 64)"
    seen = f"assert({tensor('d', 'U32')}.GetValue(1) == 0xffffffffu)"
    done = run(twin, [f"{zero}; PipeBarrier<PIPE_ALL>(); {UNDEFINED[name]}; PipeBarrier<PIPE_ALL>(); {seen}"])
    assert (done.outcome, [diagnostic.rule for diagnostic in done.diagnostics]) == (Outcome.OK, [rule])


#: Calls of library functions that are not ``Name(dst, sources, sharedTmpBuffer, count)``.
_LIBRARY_CALLS = {
    "ClampMax": "ClampMax({d}, {a}, {t}, {scalar}, {n})",
    "ClampMin": "ClampMin({d}, {a}, {t}, {scalar}, {n})",
    "Silu": "Silu({d}, {a}, {n})",
    "SwiGLU": "SwiGLU({d}, {a}, {b}, 1.0f, {t}, {n})",
    "Swish": "Swish({d}, {a}, {n}, {scalar})",
}


def library_call(
    row: LibraryRow, *, at: str = "", dst: str = "", src: str = "", scratch: str = "w.Get<uint8_t>()", count: int = 64
) -> str:
    """A right call of a function of the library but for what is given: where the result begins, the tensors."""
    kind = row.dtypes[0]
    two = row.kind == "BINARY" or row.name in ("Power", "ReduceXorSum")
    form = _LIBRARY_CALLS.get(row.name, "{name}({d}, {a}, {b}, {t}, {n})" if two else "{name}({d}, {a}, {t}, {n})")
    names = {"name": row.name, "d": dst or tensor("d", kind, at), "a": src or tensor("a", kind), "b": tensor("b", kind)}
    return form.format(**names, t=scratch, n=count, scalar=f"static_cast<{rows.ctype(kind)}>(1)")


#: How a call of a library function breaks a constraint.
LIBRARY_BROKEN = {
    "alignment": lambda row: library_call(row, at="[1]"),
    "room": lambda row: library_call(row, count=1 << 20),
    "position": lambda row: library_call(row, dst=f"LocalTensor<{rows.ctype(row.dtypes[0])}>()"),
    "scratch": lambda row: library_call(row, scratch="m.GetWithOffset<uint8_t>(16, 0)"),
    "scratch apart": lambda row: library_call(row, scratch="a.Get<uint8_t>()"),
    "size of scratch": lambda row: library_call(row, scratch="m.GetWithOffset<uint8_t>(32, 0)", count=2048),
    "own tensor": lambda row: library_call(row, src=f"a.GetWithOffset<{rows.ctype(row.dtypes[0])}>(16, 0)"),
    "apart": lambda row: library_call(row, dst=tensor("a", row.dtypes[0])),
    "domain": lambda row: f"Duplicate({tensor('a', 'F16')}, (half)1e9f, 64); {library_call(row)}",
}


def library_of(name: str) -> list[LibraryRow]:
    return [row for row in library() if any(entry.name == name for entry in library_constraints(row))]


@pytest.mark.parametrize("name", LIBRARY_BROKEN)
def test_every_library_function_says_what_breaks_it(twin: Twin, name: str) -> None:
    having = library_of(name)
    [constraint] = {entry.constraint for row in having for entry in library_constraints(row) if entry.name == name}
    done = run(twin, [LIBRARY_BROKEN[name](row) for row in having])
    first = first_line(done)
    said = {
        (diagnostic.line - first, diagnostic.rule, diagnostic.severity is Severity.ERROR)
        for diagnostic in done.diagnostics
    }
    wanted = {(i, constraint.rule, constraint.status == "enforced") for i in range(len(having))}
    assert {having[i].name for i, *_ in wanted - said} == set(), [str(diagnostic) for diagnostic in done.diagnostics]


#: Calls whose scratch buffer lies on another operand, and what they make.
LOST = {
    "a source": "Tanh(d.Get<float>(), a.Get<float>(), a.Get<uint8_t>(), 64)",
    "the result": "Tanh(d.Get<float>(), a.Get<float>(), d.Get<uint8_t>(), 64)",
    "a row": "SoftMax<float>(d.Get<float>(), b.Get<float>(), m.Get<float>(), a.Get<float>(), a.Get<uint8_t>(), {}, "
    "{1, 64, 1, 64})",
    "one repeat": "Add(a.Get<float>()[8], a.Get<float>(), b.Get<float>(), 64, 1, {1, 1, 1, 8, 8, 8});"
    "PipeBarrier<PIPE_V>(); DataCopy(d.Get<float>(), a.Get<float>()[8], 64)",
}


def test_what_shares_memory_is_lost(twin: Twin) -> None:
    zero = "Duplicate(a.Get<float>(), 0.0f, 128); Duplicate(b.Get<float>(), 0.0f, 64); PipeBarrier<PIPE_V>()"
    seen = "PipeBarrier<PIPE_ALL>(); float f = d.Get<float>().GetValue(1); assert(f != f)"
    done = run(twin, [f"{zero}; {call}; {seen}" for call in LOST.values()])
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]
    assert [diagnostic.rule for diagnostic in done.diagnostics] == ["overlap"] * len(LOST)


def test_every_library_function_accepts_what_breaks_nothing(twin: Twin) -> None:
    lines = [
        f"Duplicate({tensor('a', 'F16')}, (half){1.0 if row.name == 'Acosh' else 0.5}f, 64); {library_call(row)}"
        for row in library()
    ]
    done = run(twin, lines)
    assert (done.outcome, [str(diagnostic) for diagnostic in done.diagnostics]) == (Outcome.OK, [])


def test_every_library_function_refuses_other_types(twin: Twin) -> None:
    for at in range(0, len(library()), 7):
        some = library()[at : at + 7]
        lines = [re.sub(r"(?<=\bGet<)(?!uint8_t)\w+(?=>)", "double", library_call(row)) for row in some]
        done = run(twin, lines)
        first = first_line(done)
        assert {error.line - first for error in done.errors} >= set(range(len(some)))


def test_every_constraint_of_the_library_is_tried() -> None:
    names = {entry.name for row in library() for entry in library_constraints(row)}
    assert names == {*LIBRARY_BROKEN, "types"}
    assert not {row.name for row in library()} & function_constraints().keys()


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


#: What breaks a rule in the tests, by lines that name functions: rule, whether it is a warning, the text.
BROKEN_LINES = [
    *(
        (breach.rule, breach.warning, "\n".join(re.findall(r".*// here$", breach.body, re.MULTILINE)) or breach.body)
        for breach in (*BREACHES, *breaches_of_objects())
    ),
    *((broken_call.rule, False, broken_call.call) for broken_call in broken_calls()),
    *((mistake.rule, mistake.warns, mistake.broken_line) for mistake in (*mistakes("wrong"), *mistakes("cube"))),
]


@pytest.mark.parametrize("function", function_constraints())
def test_a_kernel_breaks_every_constraint_of(function: str) -> None:
    """One of its own: a rule has as many breaking lines of the function as the function has constraints under it."""
    lines = Counter((rule, warning) for rule, warning, text in BROKEN_LINES if re.search(rf"\b{function}\b", text))
    constraints = [constraint for constraint in function_constraints()[function] if constraint.status != "not_modelled"]
    wanted = Counter((constraint.rule, constraint.status != "enforced") for constraint in constraints)
    assert not wanted - lines


def test_the_page_is_written_from_the_ledger() -> None:
    path = Path(__file__).parents[2] / "docs" / "constraints.md"
    assert path.read_text(encoding="utf-8") == page(), "run python -m npukb_twin.constraints"
