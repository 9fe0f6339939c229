"""Operations of plain C++ are counted exactly, in a register where the compiler leaves one unused."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from npukb_twin.compile import build, toolchain
from npukb_twin.compile.elf import EXECUTABLE, Elf
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.timing import machine
from npukernelbench.nouns import DType
from tests.twin.running import Twin

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not toolchain.find().is_clang, reason="only this code is read"
)

OPERATION_CYCLES = machine.load("ascend910b2").numbers["scalar_operation_cycles"]

#: So many values at the same time that every register is needed.
DEEP = "n" + "".join(f" + (v[{i}] ^ (k" for i in range(24)) + "))" * 24

#: Loops, helpers in front of them, and the operations of one round. What turns the loop itself is four: an addition, a
#: comparison, and a branch, which counts as two. The compiler's look at bits that get lost is a comparison.
LOOPS = {
    "nothing": ("", "", 4),
    "moves": ("", "uint32_t t = s; s = t", 4),
    "a sum": ("", "s += k", 5),
    "a step that depends on the one before": ("", "s = s * 3 + 1", 6),
    "a choice": ("", "if (s & 1) s += k; else s ^= k", 9),
    "two quotients": ("", "s += k / 7 + k % 5", 8),
    "a quotient that has to be looked at": ("", "s += 9 / (k | 1)", 8),
    "wide numbers": ("", "int64_t w = s; w = w * k - k; ++w; s = w", 8),
    "floats": ("", "float f = k; f = -(f * 1.5f) / 2.0f; if (f > 0.0f) f = 1.0f", 11),
    "halfs": ("", "_Float16 h = 1.0f; h = h * h + h", 6),
    "bits": ("", "s = (s << (k & 3)) | ~(s >> 2)", 9),
    "an array": ("", "uint32_t v[4]; v[k & 3] = s; s = v[k & 3]", 8),
    "members": (
        "struct Pair { uint64_t a, c; };",
        "Pair p, *q = &p; q->c = k; s = q->c",
        5,
    ),
    "a function": (
        "inline uint32_t Apart(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }",
        "s = Apart(s, k)",
        8,
    ),
    "a shift of 64 bits": ("", "uint64_t w = k; w = w << 3; s = w", 6),
    "a sum of 64 bits": ("", "uint64_t w = s; w = w + 24; s = w", 6),
    "a pointer as a number": ("", "uint64_t w = (uint64_t)((uint32_t*)(uint64_t)s + 6); s = w", 6),
    "a pointer that goes on": (
        "",
        "static uint32_t v[4]; uint32_t* p = v; for (int i = 0; i < 3; ++i) ++p; s = *p",
        22,
    ),
    "signs of four floats": (
        "typedef float Four __attribute__((vector_size(16)));",
        "Four v = {1, 2, 3, 4}; v = -v; s += (uint32_t)v[0]",
        8,  # two of them in an integer of 64 bits
    ),
    "four halfs of a vector": (
        "typedef _Float16 Halfs __attribute__((vector_size(8)));\n"
        "typedef float Floats __attribute__((vector_size(16)));",
        "Halfs h = {1, 2, 3, 4}; Floats v = __builtin_convertvector(h, Floats); s += (uint32_t)v[0]",
        10,
    ),
    "a half and back": ("", "_Float16 h = (_Float16)(float)k; s += (uint32_t)(float)h", 7),
    "an inner loop": ("", "for (uint32_t i = 0; i < 3; ++i) s += i", 22),
    "a switch": ("", "switch (k & 3) { case 1: s += 1; break; case 2: s ^= 2; break; default: s *= 3; }", 9),
    "a call of the API": ("", "s += npukb_elsewhere() + k", 6),
    "more than an instruction can add": ("", "; ".join(["s += k"] * 150), 154),
}
#: The same in whole kernels.
KERNELS = {
    "a step that depends on the one before": LOOPS["a step that depends on the one before"],
    "a call of the API": ("", "s += GetBlockIdx() + k", 7),
    "a computed call": (
        "__aicore__ inline uint32_t One(uint32_t a) { return a + 1; }\n"
        "__aicore__ inline uint32_t Two(uint32_t a) { return a + 2; }",
        "uint32_t (*f)(uint32_t) = One; if (k & 1) f = Two; s = f(s)",
        9,
    ),
    "every register": (
        "",
        f"volatile uint32_t v[24] = {{}}; uint32_t n = 1; s += {DEEP}",
        65,
    ),  # twelve of them clear v
}
#: Its code needs every register, so that all announcements of a kernel that holds it stay calls.
UNCOUNTABLE = f"uint32_t Deep(uint32_t k) {{ volatile uint32_t v[24] = {{}}; uint32_t n = 1; return {DEEP}; }}\n"
#: Statements of one operation each.
SINGLE = (
    "s += k",
    "s -= k",
    "s ^= k",
    "s *= k",
    "s |= k",
    "s &= ~0x10u",
    "s <<= 3",
    "s >>= 1",
    "++s",
    "s = -s",
    "s = k % 9",
)


@pytest.fixture(scope="module")
def full() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(profile="full"))
    yield Twin(executor)
    executor.close()


def cycles(twin: Twin, before: str, body: str, rounds: int) -> float:
    """Of the scalar unit, on the longest way through the kernel."""
    loop = f"uint32_t s = 0; for (uint32_t k = 0; k < {rounds}; ++k) {{ {body}; }}\nGlobalTensor<uint32_t> g;"
    store = "g.SetGlobalBuffer((__gm__ uint32_t*)y); g.SetValue(0, s);"
    inputs = {"x": np.zeros(64, np.float16)}
    done = twin.run(loop + store, inputs, {"y": ((64,), DType.UINT32)}, before=before, block=0)
    assert done.seen is not None, done.compiled
    assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
    return done.seen.profile.counters["path_scalar_time"] * 1.8e3


@pytest.mark.parametrize("name", KERNELS)
def test_operations_take_time_in_whole_kernels(full: Twin, name: str) -> None:
    """Whether their announcements stay calls or not."""
    before, body, count = KERNELS[name]
    for helpers in (before, UNCOUNTABLE + before):
        few, many = (cycles(full, helpers, body, rounds) for rounds in (1000, 21000))
        assert (many - few) / 20000 / OPERATION_CYCLES == pytest.approx(count, rel=1e-4)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are built: the compiler keeps there what all of them need."""
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture(scope="module")
def counter(workshop: Path) -> Path:
    """A program that counts the operations of functions in an image, with the runtime's own parts."""
    own = ("announcements", "scalar_counting", "scalar_operations")
    return built(workshop, "counter", COUNTER, *(f"time/{part}" for part in own), *PROOF)


def counted(counter: Path, folder: Path, before: str, bodies: Sequence[str]) -> list[float]:
    """Operations of one round of each body, all in one image."""
    chosen, text = toolchain.find(), IMAGE + before
    for i, body in enumerate(bodies):
        text += f"OFFERED void loop{i}(void** rounds) {{ uint32_t s = 1; LOOP {{ {body}; }} }}\n"
    (folder / "image.cc").write_text(text)
    for command in (
        (*chosen.compile, *build.kernel_flags(chosen), "-c", "image.cc", "-o", "image.o"),
        (*chosen.link_kernel, "image.o", "-o", "image.so"),
    ):
        subprocess.run(command, cwd=folder, env=toolchain.clean_environment(folder), check=True)
    done = subprocess.run([counter, folder / "image.so", str(len(bodies))], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def test_operations_are_counted_in_a_register_and_by_calls_alike(counter: Path, tmp_path: Path) -> None:
    before, bodies = "".join(helper for helper, *_ in LOOPS.values()), [body for _, body, _ in LOOPS.values()]
    expected = {name: count for name, (_, _, count) in LOOPS.items()}
    for helpers in (before, UNCOUNTABLE + before):
        assert dict(zip(LOOPS, counted(counter, tmp_path, helpers, bodies), strict=True)) == expected


def test_every_operation_of_a_body_counts(counter: Path, tmp_path: Path) -> None:
    drawn = np.random.default_rng(20)
    bodies = ["; ".join(drawn.choice(SINGLE, size=size)) for size in drawn.integers(1, 90, size=24)]
    assert counted(counter, tmp_path, "", bodies) == [4 + 1 + body.count(";") for body in bodies]


#: Instructions: bytes, where they go on (flow and target), and general registers that they name among rax = 0 to r15.
INSTRUCTIONS = {
    "c3": ("Return", 0, set()),
    "e8 10 00 00 00": ("Call", 0x15, set()),
    "0f 84 f0 ff ff ff": ("Branch", -10, set()),
    "eb fe": ("Jump", 0, set()),
    "0f 0b": ("Stop", 0, set()),
    "ff e0": ("Computed", 0, None),
    "41 ff d3": ("Computed", 0, None),
    "90": ("On", 0, set()),
    "f3 0f 1e fa": ("On", 0, None),
    "41 55": ("On", 0, {13}),
    "49 bd 01 02 03 04 05 06 07 08": ("On", 0, {13}),
    "66 c7 45 fc 01 00": ("On", 0, {5}),
    "69 45 84 0d 66 19 00": ("On", 0, {0, 5}),
    "43 8b 44 ac 10": ("On", 0, {0, 12, 13}),
    "f6 05 00 00 00 00 01": ("On", 0, None),
    "48 f7 d8": ("On", 0, {0}),
    "c5 fa 10 45 f8": ("On", 0, {5}),
    "c4 e2 79 13 c0": ("On", 0, None),
    "c4 e3 79 1d c0 04": ("On", 0, None),
    "c4 c1 7a 11 45 00": ("On", 0, {13}),
    "66 2e 0f 1f 84 00 00 00 00 00": ("On", 0, None),
    "62 f1 7c 48 58 c1": ("Unknown", 0, None),
}

COUNTER = """
#include "time/scalar_operations.h"
#include "time/scalar_counting.h"
#include "verify/image.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OFFERED __attribute__((visibility("default")))
static char g_stack[4096];
static void* g_top = g_stack + sizeof g_stack;
extern "C" {
OFFERED void npukb_raw_load1_noabort(uint64_t) {}
OFFERED void npukb_raw_load2_noabort(uint64_t) {}
OFFERED void npukb_raw_load4_noabort(uint64_t) {}
OFFERED void npukb_raw_load8_noabort(uint64_t) {}
OFFERED void npukb_raw_store1_noabort(uint64_t) {}
OFFERED void npukb_raw_store2_noabort(uint64_t) {}
OFFERED void npukb_raw_store4_noabort(uint64_t) {}
OFFERED void npukb_raw_store8_noabort(uint64_t) {}
OFFERED void* npukb_raw_memset(void* to, int value, uint64_t bytes) { return memset(to, value, bytes); }
OFFERED void* __safestack_pointer_address() { return &g_top; }
OFFERED void __ubsan_handle_divrem_overflow() {}
OFFERED void __ubsan_handle_implicit_conversion() {}
OFFERED uint32_t npukb_elsewhere() { return 1; }
void __cxa_pure_virtual() {}
}
int main(int, char** words) {
    void* image = dlopen(words[1], RTLD_NOW);
    Dl_info where;
    if (image == nullptr || dladdr(dlsym(image, "loop0"), &where) == 0) return 1;
    twin::List<uint64_t> addresses;
    twin::Verdict verdict = twin::VerifyImage(words[1], &addresses);
    if (verdict.refusal != twin::Refusal::None) {
        fprintf(stderr, "%s\\n", verdict.reason);
        return 2;
    }
    twin::CountInRegister(words[1], reinterpret_cast<uint64_t>(where.dli_fbase), addresses);
    for (int i = 0; i < atoi(words[2]); ++i) {
        char name[32];
        snprintf(name, sizeof name, "loop%d", i);
        auto loop = reinterpret_cast<void (*)(void**)>(dlsym(image, name));
        uint64_t found[2];
        for (uint32_t n = 0; n < 2; ++n) {
            uint32_t rounds = n * 1000;
            void* arguments[] = {&rounds};
            twin::TakeOperations();
            twin::CallCounting(loop, arguments);
            found[n] = twin::TakeOperations();
        }
        printf("%g\\n", static_cast<double>(found[1] - found[0]) / 1000);
    }
}
"""
IMAGE = """
#include <stdint.h>
#define OFFERED extern "C" __attribute__((visibility("default")))
#define LOOP for (uint32_t k = 0, n = *(uint32_t*)*rounds; k < n; ++k)
extern "C" uint32_t npukb_elsewhere();
OFFERED void npukb_launch(void**) {}
"""

READER = """
#include "time/machine_code.h"
#include <stdio.h>
int main() {
    unsigned bytes;
    while (scanf("%x", &bytes) == 1) {
        unsigned char code[1 << 16];
        unsigned one;
        for (unsigned i = 0; i < bytes; ++i) code[i] = scanf("%x", &one) == 1 ? one : 0;
        for (unsigned at = 0; at < bytes;) {
            auto one = twin::ReadX86(code + at, bytes - at);
            auto target = static_cast<long long>(one.target);
            printf("%u %d %lld %u %d %d\\n", one.bytes, int(one.flow), target, one.registers, one.operations,
                   one.for_addresses);
            at += one.bytes;
        }
    }
}
"""
FLOWS = ("On", "Call", "Jump", "Branch", "Return", "Stop", "Unknown", "Computed")
#: Parts of the runtime that read machine code, and that prove what it does.
DECODERS = ("time/machine_code", "time/machine_code_a64", "time/a64")
PROOF = (
    *(*DECODERS, "time/library_prices", "time/pieces", "process/symbols"),
    *(f"verify/{part}" for part in ("image", "function", "effects", "effects_a64", "values", "uses")),
)


@pytest.fixture(scope="module")
def reader(workshop: Path) -> Path:
    """A program that reads machine code with the runtime's reader."""
    return built(workshop, "reader", READER, *DECODERS)


def built(folder: Path, name: str, source: str, *parts: str) -> Path:
    """A program of its own, with parts of the runtime."""
    chosen, runtime = toolchain.find(), build.source_root() / "runtime"
    (folder / f"{name}.cpp").write_text(source)
    command = (
        *(*chosen.link_host, "-std=c++17", "-fno-exceptions", "-fno-rtti", f"-I{runtime}", f"{name}.cpp"),
        *(str(runtime / f"{part}.cpp") for part in parts),
        *("-D_GNU_SOURCE", "-o", name, "-ldl"),
    )
    subprocess.run(command, cwd=folder, env=toolchain.clean_environment(folder), check=True)
    return folder / name


class Instruction(NamedTuple):
    """How long it is, where it goes on, the registers as a mask, and how many operations it is."""

    bytes: int
    flow: str
    target: int
    registers: int
    operations: int  # of the program
    for_addresses: int  # more of them, unless it makes an address


def read(reader: Path, *codes: bytes) -> list[Instruction]:
    """What the runtime's reader finds."""
    given = "\n".join(f"{len(code):x} {code.hex(' ')}" for code in codes)
    done = subprocess.run([reader], input=given, capture_output=True, text=True, check=True)
    rows = ([int(word) for word in line.split()] for line in done.stdout.splitlines())
    return [Instruction(size, FLOWS[flow], *rest) for size, flow, *rest in rows]


def test_machine_code_is_read(reader: Path) -> None:
    codes = [bytes.fromhex(text) for text in INSTRUCTIONS]
    for code, (flow, target, registers) in zip(codes, INSTRUCTIONS.values(), strict=True):
        [(size, flow_read, goes, named, *_), *rest] = read(reader, code)
        assert flow_read == flow, code.hex(" ")
        if flow == "Unknown":
            continue
        assert (size, goes, rest) == (len(code), target, []), code.hex(" ")
        if registers is not None:
            assert {number for number in range(16) if named >> number & 1} >= registers, code.hex(" ")
            assert (named >> 13 & 1) == (13 in registers), code.hex(" ")


#: Operations, and instructions that are none: moves, addresses, frames, truth values, zeros.
COMPUTE = (
    "83 c8 01|83 c0 01|01 c8|48 01 c8|2b 45 f8|0f af c1|48 69 c0 07 00 00 00|f7 f9|"
    "f7 d8|d3 e0|c1 e8 03|48 d3 e0|83 f8 05|48 3b 45 f8|39 c8|83 f0 ff|31 c8|8d 04 08|ff c0|0f 44 c1|"
    "f3 0f b8 c1|c5 fa 58 c1|c5 fa 59 45 f8|c5 fa 2a 45 f8|c5 fa 2c c0|c5 f8 2e c1|c5 fa 5a c0|c5 f0 57 c2|"
    "c4 e2 f1 f7 c0|c4 e2 71 b9 c2|c4 e3 79 0a c0 09|3c 05|0d 00 01 01 00|81 c9 00 01 00 00|"
    "48 83 45 f8 08|48 c1 65 f8 03|f6 c1 04|a8 04|85 c8|c4 e2 79 13 c0|c4 e3 79 1d c0 04"
)
#: Operations, unless they make an address, and how many.
ADDRESSES = {
    "48 83 c0 01": 1,
    "48 83 c0 ff": 1,
    "48 83 c7 08": 1,
    "48 83 e8 05": 1,
    "48 05 00 01 00 00": 1,
    "48 c1 e0 02": 1,
    "48 d1 e0": 1,
    "48 8d 40 08": 1,
    "48 8d 04 88": 2,
    "48 8d 44 88 08": 3,
}
NEITHER = (
    "8b 45 f8|48 89 e5|48 8d 45 f8|48 83 ec 10|48 81 ec 00 01 00 00|48 83 c4 10|48 83 e4 e0|31 c0|24 01|80 e1 01|a8 01|"
    "84 c0|85 c0|0f 94 c0|0f b6 c0|48 63 c8|98|99|55|c5 fa 10 45 f8|c5 f8 57 c0|"
    "c5 f9 6e c0|f6 45 f8 01|74 10|e8 00 00 00 00"
)


def test_arithmetic_is_told_from_what_compilers_add(reader: Path) -> None:
    for texts, computes in ((COMPUTE, True), (NEITHER, False)):
        for text in texts.split("|"):
            [instruction] = read(reader, bytes.fromhex(text))
            assert bool(instruction.operations) == computes, text
            assert instruction.for_addresses == 0, text
    for text, count in ADDRESSES.items():
        [instruction] = read(reader, bytes.fromhex(text))
        assert (instruction.operations, instruction.for_addresses) == (0, count), text


def test_compilers_leave_the_register_alone_unless_they_run_out_of_them(reader: Path, tmp_path: Path) -> None:
    """So the loop with every register is one of those whose branches are calls, and the others are not."""
    for name in ("a sum", "a choice", "two quotients", "floats", "an inner loop", "every register"):
        _, body, _ = {**LOOPS, **KERNELS}[name]
        code = compiled(
            f"unsigned f(unsigned s, unsigned k) {{ {body.replace('uint32_t', 'unsigned')}; return s; }}", tmp_path
        )
        instructions = read(reader, code)
        assert sum(instruction.bytes for instruction in instructions) == len(code)
        assert all(instruction.flow != "Unknown" for instruction in instructions)
        assert any(instruction.registers >> 13 & 1 for instruction in instructions) == (name == "every register")


def compiled(source: str, folder: Path) -> bytes:
    """The code that a function becomes, as kernels are compiled."""
    chosen = toolchain.find()
    (folder / "one.cc").write_text(source)
    command = (*chosen.compile, *build.kernel_flags(chosen), "-c", "one.cc", "-o", "one.o")
    subprocess.run(command, cwd=folder, env=toolchain.clean_environment(folder), check=True)
    unit = Elf(folder / "one.o")
    return b"".join(unit.contents(section) for section in unit.sections if section.flags & EXECUTABLE)
