"""Machine code of aarch64 is read and proven on every host, and counted as x86-64's code of the same source is."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from npukb_twin.compile import build, toolchain
from npukb_twin.compile.device_code import COUNTED, not_device_code
from npukb_twin.compile.elf import AARCH64, Elf
from npukb_twin.compile.imports import computes_jumps
from tests.twin.test_pieces import IMAGE, LOOPS, PROOF, built

pytestmark = pytest.mark.skipif(toolchain.find().name != "zig", reason="compiles for another processor")

#: What compilers make on the way: aggregates by value and by reference, arguments on the stack, aligned frames, atomic
#: operations, wide products, and registers of floats that belong to the caller.
HELPERS = (
    """
#define USED __attribute__((noinline)) static
struct Big { uint64_t a[6]; };
struct alignas(128) Wide { float a[64]; };
static int variable;
USED uint64_t ByValue(Big b, int i) { b.a[3] = i; return b.a[3] + b.a[0]; }
USED long Many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { j += a; return j + i; }
USED float OnStack(int n) { Wide w{}; w.a[n & 63] = 3; float v[n + 1]; v[n] = w.a[n & 63]; return v[n]; }
USED int One(int n) { return n + 1; }
OFFERED void everything(void** rounds) {
    Big big{};
    volatile __int128 wide = (int)ByValue(big, 2) + Many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    wide = wide * 3;
    volatile float real = OnStack(5);
    __atomic_fetch_add(&variable, 1, __ATOMIC_SEQ_CST);
    volatile float many[16];
    for (int i = 0; i < 16; ++i) many[i] = real * i + """
    + " + (many[i] * (real - ".join("123456789")
    + "".join("))" for _ in range(8))
    + """;
}
"""
)
COMPUTED = """
struct Worker { int n; void Double() { n *= 2; } };
template <void (Worker::*step)()> USED void Apply(Worker* worker) { (worker->*step)(); }
OFFERED void computed(void**) {
    int (*volatile f)(int) = One;
    Worker worker{f(2)};
    Apply<&Worker::Double>(&worker);
}
"""
PROVER = """
#include "time/reference.h"
#include "verify/image.h"
#include <stdio.h>
#include <string.h>
extern "C" {
#define OFFERED __attribute__((visibility("default")))
void __cxa_pure_virtual() {}
OFFERED void npukb_raw_load8_noabort() {}
OFFERED uint32_t npukb_elsewhere() { return 1; }
OFFERED void __safestack_pointer_address() {}
OFFERED void* npukb_raw_memset(void* to, int value, uint64_t bytes) { return memset(to, value, bytes); }
}
static void Show(void*, const char* name, uint64_t begin, const twin::PiecesOfCode& pieces) {
    for (auto& one : pieces.found)
        printf("%s %llu %u\\n", name, static_cast<unsigned long long>(begin + one.behind), one.operations);
}
int main(int count, char** words) {
    twin::List<uint64_t> addresses;
    twin::Verdict verdict = twin::VerifyImage(words[1], &addresses);
    auto place = static_cast<unsigned long long>(verdict.place);
    printf("%d %llu %s\\n", int(verdict.refusal), place, verdict.reason == nullptr ? "holds" : verdict.reason);
    if (count == 2) twin::WeighImage(words[1], &addresses, {nullptr, Show});
    if (count == 2) return 0;
    for (auto& one : twin::WeighByReference(words[1], words[2]))
        printf("? %llu %u\\n", static_cast<unsigned long long>(one.behind), one.operations);
}
"""
NONE, FORGED, FOREIGN, UNPROVEN = range(4)


class Piece(NamedTuple):
    """A piece of a function: where its announcement returns to, and its operations."""

    function: str
    behind: int
    operations: int


class Proven(NamedTuple):
    """What is said of an image."""

    refusal: int
    message: str
    pieces: tuple[Piece, ...]


Prover = Callable[..., Proven]


@pytest.fixture(scope="module")
def prover(tmp_path_factory: pytest.TempPathFactory) -> Prover:
    """The proof, and what it weighs, as a program of its own."""
    program = built(tmp_path_factory.mktemp("prover"), "prover", PROVER, "time/reference", *PROOF)

    def prove(*images: Path) -> Proven:
        done = subprocess.run([program, *images], capture_output=True, text=True, check=True)
        first, *rest = done.stdout.splitlines()
        refusal, _, message = first.split(" ", 2)
        pieces = (line.split() for line in rest)
        return Proven(int(refusal), message, tuple(Piece(name, int(at), int(n)) for name, at, n in pieces))

    return prove


def compiled(folder: Path, processor: str, text: str, flags: tuple[str, ...] = (), first: tuple[str, ...] = ()) -> Path:
    """An image for a processor, as kernels are compiled."""
    chosen = toolchain.packaged(processor)
    assert chosen is not None
    name = f"{processor}.{len(list(folder.iterdir()))}"
    (folder / f"{name}.cc").write_text(text)
    for command in (
        (*chosen.compile, *build.kernel_flags(chosen), *flags, "-c", f"{name}.cc", "-o", f"{name}.o"),
        (*chosen.link_kernel, "--wrap=memcpy", "--wrap=memset", *first, f"{name}.o", "-o", f"{name}.so"),
    ):
        subprocess.run(command, cwd=folder, env=toolchain.clean_environment(folder), check=True)
    return folder / f"{name}.so"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The same source, for both processors."""
    folder, text = tmp_path_factory.mktemp("images"), IMAGE + HELPERS + "".join(before for before, *_ in LOOPS.values())
    for i, (_, body, _) in enumerate(LOOPS.values()):
        text += f"OFFERED void loop{i}(void** rounds) {{ uint32_t s = 1; LOOP {{ {body}; }} }}\n"
    return {processor: compiled(folder, processor, text) for processor in (toolchain.REFERENCE, toolchain.ARM)}


def test_what_compilers_make_holds(prover: Prover, images: Mapping[str, Path]) -> None:
    for image in images.values():
        assert prover(image)[:2] == (NONE, "holds")


def test_operations_are_those_of_the_reference(prover: Prover, images: Mapping[str, Path]) -> None:
    """Piece by piece, in the order of the code; the own code has about as many."""
    reference, own = (prover(images[name]).pieces for name in (toolchain.REFERENCE, toolchain.ARM))
    joined = prover(images[toolchain.ARM], images[toolchain.REFERENCE]).pieces
    assert [piece.behind for piece in joined] == [piece.behind for piece in own]
    assert [piece.function for piece in own] == [piece.function for piece in reference]
    assert [piece.operations for piece in joined] == [piece.operations for piece in reference]
    assert [piece.operations for piece in own] != [piece.operations for piece in reference]


def test_a_reference_that_holds_much_less_does_not_count(prover: Prover, tmp_path: Path) -> None:
    """Nor one that is not there, or has other pieces: source can ask which processor it is compiled for."""
    work = "; ".join(["s = s * 3 + k"] * 30)
    text = IMAGE + "OFFERED void loop(void** rounds) { uint32_t s = 1; LOOP { WORK } }\n"
    own = compiled(tmp_path, toolchain.ARM, text.replace("WORK", f"{work};"))
    less = compiled(tmp_path, toolchain.REFERENCE, text.replace("WORK", "s += k;"))
    other = compiled(tmp_path, toolchain.REFERENCE, text.replace("WORK", "if (s) s += k;"))
    for reference in (less, other, tmp_path / "nowhere.so"):
        assert max(piece.operations for piece in prover(own, reference).pieces) >= 60


def test_computed_calls_go_through_the_runtime(prover: Prover, tmp_path: Path) -> None:
    plain = compiled(tmp_path, toolchain.ARM, IMAGE + HELPERS + COMPUTED)
    assert computes_jumps(Elf(plain.with_suffix(".o")))
    refused = prover(plain)
    assert refused.refusal == UNPROVEN
    assert "instruction" in refused.message
    chosen = toolchain.packaged(toolchain.ARM)
    assert chosen is not None
    (tmp_path / "thunks.s").write_text(build.SLS_FUNCTIONS)
    command = (*chosen.compile, "-c", "thunks.s", "-o", "thunks.o")
    subprocess.run(command, cwd=tmp_path, env=toolchain.clean_environment(tmp_path), check=True, capture_output=True)
    flags = tuple(flag for flag in build.thunk_flags(chosen) if flag.startswith("-mharden"))
    guarded = compiled(tmp_path, toolchain.ARM, IMAGE + HELPERS + COMPUTED, flags, ("thunks.o",))
    assert prover(guarded)[:2] == (NONE, "holds")
    assert not computes_jumps(Elf(guarded.with_name("thunks.o")))
    # Where they go is no function of the C library, whose calls have a price.
    reference = toolchain.packaged(toolchain.REFERENCE)
    assert reference is not None
    counted = compiled(tmp_path, toolchain.REFERENCE, IMAGE + HELPERS + COMPUTED, build.thunk_flags(reference)[:2])
    assert [piece.operations for piece in prover(counted).pieces if piece.function == "computed"] == [1]


def test_what_no_core_can_do_is_read_from_what_is_counted(tmp_path: Path) -> None:
    text = IMAGE + "int Deeper(int n) { volatile int m = n; return m ? Deeper(m - 1) + m : 0; }\n"
    text += "OFFERED void entry(void** rounds) { LOOP { Deeper(k); } }\n"
    own, counted = (compiled(tmp_path, name, text) for name in (toolchain.ARM, toolchain.REFERENCE))
    assert not not_device_code(Elf(own), frozenset(), "entry", {}, {})
    counted.rename(own.with_name(f"{own.name}{COUNTED}"))
    [said] = not_device_code(Elf(own), frozenset(), "entry", {}, {"entry": "kernel"})
    assert (said.rule, said.message) == ("recursion", "Deeper calls Deeper: a core has no stack for recursion")


#: Words in the place of an announcement's call, and what is said of each.
NO_SUCH = "holds an instruction that a scalar unit does not have"
WRITES, READS, CHANGES = "writes what it", "reads what it", "caller's registers changed"
HARM = {
    "a system call": (0xD4000001, NO_SUCH),
    "a thread's own memory": (0xD53BD048, NO_SUCH),
    "another thread's memory": (0xD51BD048, NO_SUCH),
    "how floats are rounded": (0xD51B4408, NO_SUCH),
    "a jump to a register": (0xD61F0100, NO_SUCH),
    "a call of a register": (0xD63F0100, NO_SUCH),
    "a return to a register": (0xD65F0020, NO_SUCH),
    "a vector of structures": (0x4C407800, NO_SUCH),
    "a scalable vector": (0xA540A000, NO_SUCH),
    "a signed address": (0xD503233F, NO_SUCH),
    "a load with a signed address": (0xF8200400, NO_SUCH),
    "a load as if without privileges": (0xF8400800, NO_SUCH),
    "the cache": (0xD50B7528, NO_SUCH),
    "a tag": (0xD9200800, NO_SUCH),
    "another stack": (0x9100001F, "moves its stack pointer where it does not belong"),
    "a stack that grows": (0x8B28633F, "moves its stack pointer where it does not belong"),
    "a store": (0xF9000000, WRITES),
    "a store before a step": (0xF8008C01, WRITES),
    "a store of two": (0xA9000800, WRITES),
    "a store of vectors": (0xAD000400, WRITES),
    "a store by an index": (0xF8296900, WRITES),
    "an exchange": (0xF8208041, READS),
    "a comparison and exchange": (0xC8E0FC41, READS),
    "an exclusive store": (0xC800FC41, WRITES),
    "a load": (0xF9400000, READS),
    "a load by an index": (0xF8696908, READS),
    "a literal far away": (0x58800000, READS),
    "the return address": (0xF90007A0, CHANGES),
    "the frame of the caller": (0xF90003A0, CHANGES),
    "a register of the caller's": (0xD2800013, CHANGES),
    "floats of the caller's": (0x9E6703E8, CHANGES),
    "where it returns to": (0xD280001E, ""),
    "a loop without an announcement": (0x14000000, "goes round"),
    "a call into a function": (0x94000001, "calls what is no function"),
    "a jump far away": (0x14100000, "jumps to where no function begins"),
}
HARMLESS = {"nothing": 0xD503201F, "a register of its own": 0xD2800008, "a fence": 0xD5033BBF}


def changed(image: Path, place: int, word: int) -> Path:
    """The same with another instruction at a place of the image."""
    text = Elf(image).section(".text")
    assert text is not None
    data = bytearray(image.read_bytes())
    struct.pack_into("<I", data, text.offset + place - text.address, word)
    other = image.with_name("changed.so")
    other.write_bytes(data)
    return other


def test_harm_in_the_place_of_a_call(prover: Prover, images: Mapping[str, Path]) -> None:
    """Whatever is not known is for the harness to answer for, not for the kernel."""
    image = images[toolchain.ARM]
    assert Elf(image).machine == AARCH64
    place = next(piece.behind for piece in prover(image).pieces if piece.function == "loop2") - 4
    for name, (word, message) in HARM.items():
        proven = prover(changed(image, place, word))
        if name == "where it returns to":  # the frame holds the right one
            assert proven.refusal == NONE, name
            continue
        assert message in proven.message, (name, proven.message)
        assert (proven.refusal == UNPROVEN) == (message in (NO_SUCH, WRITES, READS) or "jumps" in message), name
    for name, word in HARMLESS.items():
        assert prover(changed(image, place, word)).refusal == NONE, name
