"""Jumps to computed addresses: code that has any is found, and compiled so that the runtime looks at each."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from npukb_twin.compile import build, toolchain
from npukb_twin.compile.elf import EXECUTABLE, X86_64, Elf
from npukb_twin.compile.imports import computes_jumps
from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Twin

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 code is looked over for jumps")

#: What a compiler makes of these jumps to a computed address, and of those jumps to none.
COMPUTED = {
    "a pointer to a function": "int f(int (*g)(int)) { return g(1) + 1; }",
    "a pointer in memory": "struct S { int (*g)(int); }; int f(S* s) { return s->g(1) + 1; }",
    "a virtual function": "struct S { virtual int g(); }; int f(S* s) { return s->g() + 1; }",
    "a member pointer": "struct S { int g(); }; int f(S* s, int (S::*g)()) { return (s->*g)() + 1; }",
    "a label": "int f(int i) { static void* to[] = {&&a, &&b}; goto *to[i]; a: return 1; b: return 2; }",
    "a last call": "int f(int (*g)(int)) { return g(1); }",
}
PLAIN = {
    "calls": "int g(int); static int h(int a) { return g(a) - 1; } int f(int a) { return h(a) * g(a + 1); }",
    "a switch": "int f(int a) { switch (a) {"
    + "".join(f"case {i}: return {i * i % 7};" for i in range(40))
    + "default: return -1; } }",
    "halves far from a register": "struct S { int before[40]; short at; }; void g(S&); int f(short a, S* p) {"
    "volatile short v[200]; S s; g(s); v[9] = a; v[60] = s.at; v[150] = v[9]; p[-1].at = v[60]; p[-2].at = a;"
    " return v[150] > 3 ? v[9] : s.at; }",
    "distances of conditional jumps": "int g(int); int f(int a) { if (a > 0) {"
    + " a = g(a) + a * 3;" * 260
    + "} return a; }",
    "a loop": "int f(int n) { int sum = 0; for (int i = 0; i < n; ++i) sum += i ^ n; return sum; }",
}


def unit(source: str, folder: Path, *more: str) -> Elf:
    """``source`` as kernels are compiled, with ``more`` flags."""
    chosen = toolchain.find()
    if not chosen.is_clang:
        pytest.skip("other compilers have no thunks")
    (folder / "one.cc").write_text(source)
    command = (*chosen.compile, *build.kernel_flags(chosen), *more, "-c", "one.cc", "-o", "one.o")
    subprocess.run(command, cwd=folder, env=toolchain.clean_environment(folder), check=True)
    return Elf(folder / "one.o")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("source", COMPUTED.values(), ids=COMPUTED.keys())
def test_computed_jumps_are_found(tmp_path: Path, source: str, level: str) -> None:
    assert computes_jumps(unit(source, tmp_path, level))


@pytest.mark.parametrize("source", COMPUTED.values(), ids=COMPUTED.keys())
def test_thunks_leave_none(tmp_path: Path, source: str) -> None:
    assert not computes_jumps(unit(source, tmp_path, *build.thunk_flags(toolchain.find())))


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN.keys())
def test_plain_code_is_compiled_once(tmp_path: Path, source: str) -> None:
    assert not computes_jumps(unit(source, tmp_path))


class Code:
    """An image with nothing but these instructions."""

    machine = X86_64

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.sections = (SimpleNamespace(flags=EXECUTABLE),)

    def contents(self, section: object) -> bytes:
        return self.code


@pytest.mark.parametrize("register", [0x85, 0x88, 0x92], ids=["rbp", "rax", "rdx"])
def test_a_call_behind_any_place_in_a_frame_is_found(register: int) -> None:
    """The last bytes of such a place look like the first of a call."""
    load, call, rest = bytes([0x8B, register]), b"\xff\xd0", b"\x90" * 4
    for place in range(-(1 << 15), -(1 << 7)):
        before = load + place.to_bytes(4, "little", signed=True)
        assert computes_jumps(cast(Elf, Code(rest + before + call + rest)))
        if place % 2 == 0:
            assert not computes_jumps(cast(Elf, Code(rest + before + b"\x66\x8b\x45\x08")))


CALL = """
auto* to = (__gm__ int32_t*)y;
volatile Step step = Twice;
to[0] = step(((__gm__ int32_t*)x)[0]);
{more}
"""
STEP = "typedef int32_t (*Step)(int32_t);\n__aicore__ int32_t Twice(int32_t a) { return 2 * a; }\n"


def test_pointers_lead_to_functions_only(twin: Twin) -> None:
    inputs, outputs = {"x": np.full(8, 21, np.int32)}, {"y": ((8,), DType.INT32)}
    assert twin.run(CALL.replace("{more}", ""), inputs, outputs, before=STEP).output()[0] == 42
    inside = "step = (Step)((uint64_t)step + 1);\nto[1] = step(1);  // here"
    finished = twin.run(CALL.replace("{more}", inside), inputs, outputs, before=STEP)
    assert finished.outcome is Outcome.CRASH
    assert finished.found == [("crash", finished.marked)]
