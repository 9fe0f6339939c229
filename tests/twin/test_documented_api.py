"""The documented API is complete: every name is declared or named as a gap, every form of a call compiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from npukb_twin.compile.driver import _optional_headers
from npukb_twin.compile.instructions import Row, instructions, moves
from npukb_twin.compile.messages import foreign_names, gap_names
from npukb_twin.operator.host_messages import known_gaps
from npukernelbench.nouns import Outcome
from tests.tables import read_yaml
from tests.twin import library_models, rows
from tests.twin.hosting import Hosting
from tests.twin.running import HEAD, Twin

PATH = Path(__file__).with_name("documented_api.yaml")
ENTRY = 'extern "C" __global__ __aicore__ void probe(GM_ADDR y, GM_ADDR workspace) {'
LOCALS = {"h": "half", "f": "float", "i": "int32_t", "s": "int16_t", "u": "uint8_t", "w": "uint32_t", "b": "bfloat16_t"}
LOCALS |= {"c": "int8_t", "l": "int64_t"}


@cache
def documented() -> dict[str, object]:
    table = read_yaml(PATH)
    assert isinstance(table, dict)
    return table


def functions() -> list[str]:
    """Every documented name of the device's side: the rows of the tables, their other names, and what no table has."""
    tables = {row.name for row in instructions()} | {row.name for row in moves()}
    tables |= {row.name for row in library_models.functions()}
    return sorted({*tables, *entries("aliases"), *entries("functions")})


def generated_forms(row: Row) -> Iterator[str]:
    """Calls of a row by count, lane bits and lane count, on tensors of its own."""
    for dst, src in row.pairs:
        tensors = rows.Tensors(*(f"LocalTensor<{rows.ctype(kind)}>()" for kind in (dst, src, src, "U8", src)))
        count = rows.lanes_of((dst, src), row)
        yield rows.by_count(row, (dst, src), count, tensors)
        if row in rows.MASKED:
            yield from (rows.by_lanes(row, (dst, src), mask, tensors) for mask in ("bits", count))


def entries(key: str) -> Iterator[str]:
    """All names under ``key``, whatever their chapter."""
    value = documented()[key]
    if key == "aliases":
        value = list(value) if isinstance(value, dict) else []
    for names in value.values() if isinstance(value, dict) else [value]:
        yield from names


def missing(twin: Twin, lines: dict[str, str]) -> list[str]:
    """The names among ``lines`` whose line does not compile. A compiler gives up after 20 errors, so this repeats."""
    absent: list[str] = []
    left = dict(lines)
    while left:
        source = f"{HEAD}\n" + "\n".join(left.values()) + f"\n{ENTRY}}}\n// TransData\n"
        done = twin.compile(source)
        if done.outcome is Outcome.OK:
            break
        names = list(left)
        first = HEAD.count("\n") + 2
        wrong = {
            diagnostic.line - first for diagnostic in done.diagnostics if 0 <= diagnostic.line - first < len(names)
        }
        assert wrong, [str(diagnostic) for diagnostic in done.diagnostics]
        for at in sorted(wrong, reverse=True):
            absent.append(names[at])
            del left[names[at]]
    return absent


def known_gap(name: str) -> bool:
    return name in gap_names() or name in foreign_names()


def test_every_documented_name_is_declared_or_named_as_a_gap(twin: Twin) -> None:
    lines = {name: f"using AscendC::{name};" for name in functions() if not known_gap(name)}
    lines |= {f"Std::{name}": f"using AscendC::Std::{name};" for name in entries("std")}
    assert missing(twin, lines) == []


def test_no_gap_is_declared_after_all(twin: Twin) -> None:
    gaps = {name: f"using AscendC::{name};" for name in functions() if known_gap(name)}
    assert sorted(missing(twin, gaps)) == sorted(gaps)


def test_macros(twin: Twin) -> None:
    names = [name for name in entries("macros") if not known_gap(name)]
    tests = "\n".join(f"#ifndef {name}\n#error {name}\n#endif" for name in names)
    done = twin.compile(f"{HEAD}{tests}\n{ENTRY}}}\n")
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]


def test_members(twin: Twin) -> None:
    table = documented()["members"]
    assert isinstance(table, dict)
    # An overloaded member has no address: naming it in a class derived from its own is what shows that it is there.
    lines = {
        f"{owner}::{name}": f"struct D{at}_{which} : {owner} {{ using {owner}::{re.sub('<.*', '', name)}; }};"
        for at, (owner, names) in enumerate(table.items())
        for which, name in enumerate(names)
        if not known_gap(name)
    }
    assert missing(twin, lines) == []


@pytest.mark.parametrize("at", range(2))
def test_every_form_compiles(twin: Twin, at: int) -> None:
    generated = [form for row in instructions() for form in generated_forms(row)]
    forms = [*entries("forms"), *generated][at::2]
    body = "\n".join(f"    {{ {line.removesuffix(';')}; }}" for line in forms)
    tensors = "\n".join(f"    LocalTensor<{kind}> {name};" for name, kind in LOCALS.items())
    head = (
        f"{HEAD}{ENTRY}\n{tensors}\n    GlobalTensor<half> gh;\n    GlobalTensor<float> gf;\n"
        "    uint64_t bits[2] = {~0ull, ~0ull};\n    uint64_t kept = 0;\n"
        "    uint32_t shape[2] = {8, 8};\n    float beta = 1;\n"
    )
    done = twin.compile(f"{head}{body}\n}}\n")
    first = head.count("\n") + 1
    wrong = [
        (forms[diagnostic.line - first], diagnostic.message)
        for diagnostic in done.diagnostics
        if 0 <= diagnostic.line - first < len(forms)
    ]
    assert done.outcome is Outcome.OK, wrong or [str(diagnostic) for diagnostic in done.diagnostics]


def test_layouts_come_with_who_asks_for_them() -> None:
    assert _optional_headers({"kernel.cpp": "AscendC::MakeLayout(a, b)"}) == ("twin/layout.h",)
    assert _optional_headers({"kernel.cpp": "auto x = tla::MakeLayout(a, b);", "notes.md": "TransData"}) == ()


def host_absent(hosting: Hosting, lines: dict[str, str]) -> list[str]:
    """The names among ``lines`` whose line is an error in host code."""
    absent: list[str] = []
    left = dict(lines)
    head = '#include "register/op_def_registry.h"\n#include "ascendc/host_api/tiling/template_argument.h"\n'
    while left:
        names = list(left)
        done = hosting.compile({"op_host/probe.cpp": head + "\n".join(left.values()) + "\n"})
        if done.outcome is Outcome.OK:
            break
        wrong = {diagnostic.line - 3 for diagnostic in done.diagnostics if 0 <= diagnostic.line - 3 < len(names)}
        assert wrong, [str(diagnostic) for diagnostic in done.diagnostics]
        absent += [names[at] for at in wrong]
        left = {name: line for at, (name, line) in enumerate(left.items()) if at not in wrong}
    return sorted(absent)


def test_the_documented_host_side(hosting: Hosting) -> None:
    gaps = known_gaps()["names"]
    lines = {name: f"using AscendC::{name};" for name in entries("host functions")}
    table = documented()["host members"]
    assert isinstance(table, dict)
    for owner, names in table.items():
        short = owner.rpartition("::")[2]
        for name in names:
            lines[f"{short}::{name}"] = f"struct Uses_{short}_{name} : {owner} {{ using {owner}::{name}; }};"
    wanted = sorted(name for name in lines if name.rpartition("::")[2] in gaps)
    assert host_absent(hosting, lines) == wanted
    tests = "\n".join(f"#ifndef {name}\n#error {name}\n#endif" for name in entries("host macros") if name not in gaps)
    done = hosting.compile({"op_host/probe.cpp": f'#include "ascendc/host_api/tiling/template_argument.h"\n{tests}\n'})
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]
