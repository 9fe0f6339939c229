"""The proof of a kernel's machine code: what compilers make holds, and no byte of it can be changed to do harm."""

from __future__ import annotations

import platform
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from npukb_twin.compile.elf import Elf
from tests.twin.running import Twin, kernel

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 code can be shown to do no harm")

HELPERS = """
struct Big { uint64_t a[6]; };
struct alignas(128) Wide { float a[64]; };
static int variable;
static __aicore__ inline uint64_t ByValue(Big b, int i) { b.a[3] = i; return b.a[3] + b.a[0]; }
static __aicore__ inline long Many(long a, long b, long c, long d, long e, long f, long g, half h, float i) {
    g += a;
    return g + f + (long)(float)h + (long)i;
}
static __aicore__ inline float OnStack(int n) {
    Wide w{};
    w.a[n & 63] = 3;
    float v[n + 1];
    v[n] = w.a[n & 63];
    return v[n];
}
static __aicore__ inline int One(int n) { return n + 1; }
struct Worker {
    int n;
    __aicore__ inline void Double() { n *= 2; }
};
template <void (Worker::*step)()> static __aicore__ inline void Apply(Worker* worker) { (worker->*step)(); }
static volatile int started = One(3);  // has a constructor
static __aicore__ inline int Listed(int n, ...) {
    va_list list;
    va_start(list, n);
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += va_arg(list, int);
    va_end(list);
    return sum;
}
"""
BODY = """
Big big{};
if (ByValue(big, 2) != 2 || Many(1, 2, 3, 4, 5, 6, 7, (half)1.0f, 2.0f) != 17 || OnStack(5) != 3) return;
volatile __int128 wide = 5; wide = wide * 3 / 2;
volatile float real = (float)(uint64_t)wide;
volatile uint64_t whole = (uint64_t)real;
Worker worker{4};
Apply<&Worker::Double>(&worker);
if (worker.n != 8) return;
int (*volatile pointer)(int) = One;
if (pointer((int)whole) != 8 || started != 4 || Listed(3, 1, 2, 3) != 6) return;
__atomic_fetch_add(&variable, 1, __ATOMIC_SEQ_CST);
switch (whole) { case 7: variable += 2; break; case 9: return; default: variable = 1; }
auto* out = (__gm__ float*)y;
for (int i = 0; i < 256; ++i) out[i] = variable * 1.5f;
"""


@pytest.fixture(scope="module")
def image(twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled kernel in which many things are that compilers do."""
    compiled = twin.compile(kernel(BODY, ("y", "workspace"), before=HELPERS))
    assert compiled.artifact is not None, compiled.diagnostics
    copy = tmp_path_factory.mktemp("image") / "kernel.so"
    copy.write_bytes((compiled.artifact.path / "kernel.so").read_bytes())
    return copy


def verified(twin: Twin, image: Path) -> str:
    """What the runner says of an image before it would load it."""
    host = twin.executor._ready().host
    done = subprocess.run([host, "--verify", image], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1), done.returncode
    return done.stdout.splitlines()[0]


def changed(twin: Twin, image: Path, edits: dict[int, bytes]) -> str:
    """The same with other bytes in places of the file."""
    data = bytearray(image.read_bytes())
    for at, new in edits.items():
        data[at : at + len(new)] = new
    other = image.with_name("changed.so")
    other.write_bytes(data)
    return verified(twin, other)


def code(image: Path) -> range:
    text = Elf(image).section(".text")
    assert text is not None
    return range(text.offset, text.offset + text.size)


def calls(image: Path, prefix: str) -> Iterator[int]:
    """Places in the file of calls to imports whose names begin so: the linker's table has a row for each, in order."""
    elf = Elf(image)
    table, rows = elf.section(".plt"), elf.section(".rela.plt")
    assert table is not None
    assert rows is not None
    names = [symbol.name for symbol in elf.symbols(".dynsym")]
    numbers = [struct.unpack_from("<QQq", elf.contents(rows), at)[1] >> 32 for at in range(0, rows.size, 24)]
    wanted = {table.offset + 16 * (i + 1) for i, n in enumerate(numbers) if names[n].startswith(prefix)}
    data = image.read_bytes()
    for at in code(image):
        if data[at] == 0xE8 and at + 5 + struct.unpack_from("<i", data, at + 1)[0] in wanted:
            yield at


def test_what_compilers_make_holds(twin: Twin, image: Path) -> None:
    assert verified(twin, image) == "holds"
    finished = twin.run(BODY, before=HELPERS)
    assert (finished.output() == 4.5).all()


@pytest.mark.parametrize("prefix", ["npukb_raw_load", "npukb_raw_store"])
def test_no_access_goes_unannounced(twin: Twin, image: Path, prefix: str) -> None:
    """What a function knows to be its own it may touch all the same: its part of the second stack, and variables."""
    places = list(calls(image, prefix))
    said = [changed(twin, image, {at: b"\x0f\x1f\x44\x00\x00"}) for at in places]
    assert set(said) == {"holds", f"{'reads' if 'load' in prefix else 'writes'} what it has not announced"}
    assert len(said) - said.count("holds") >= 2


def test_the_second_stack_is_asked_for(twin: Twin, image: Path) -> None:
    places = list(calls(image, "__safestack_pointer_address"))
    assert places
    assert all("not announced" in changed(twin, image, {at: b"\x0f\x1f\x44\x00\x00"}) for at in places[:4])


@pytest.mark.parametrize(
    "bytes_",
    [
        b"\x0f\x05",
        b"\xf3\x48\x0f\xae\xd8",
        b"\x0f\xae\x10",
        b"\x65\x48\x89\x00",
        b"\xf3\xaa",
        b"\xfd",
        b"\xd9\x00",
        b"\xcf",
    ],
    ids=["system call", "segment base", "mode of floats", "segment", "string", "direction", "x87", "interrupt return"],
)
def test_instructions_that_no_core_has(twin: Twin, image: Path, bytes_: bytes) -> None:
    place = next(calls(image, "__sanitizer_cov_trace_pc"))
    said = changed(twin, image, {place: bytes_.ljust(5, b"\x90")})
    assert said == "holds an instruction that a scalar unit does not have"


@pytest.mark.parametrize(
    ("bytes_", "message"),
    [
        (b"\x48\x89\xfc\x90\x90", "moves its stack pointer where it does not belong"),  # mov %rdi, %rsp
        (b"\x5d\x5d\x5d\x5d\x5d", "what it has not announced"),  # pop %rbp, again and again
        (b"\x31\xdb\x0f\x1f\x00", "leaves a function with its caller's registers changed"),  # xor %ebx, %ebx
        (b"\x48\x89\x07\x66\x90", "writes what it has not announced"),  # mov %rax, (%rdi)
        (b"\x48\x89\x45\x08\x90", "writes what it has not announced"),  # mov %rax, 8(%rbp): the return address
        (b"\xeb\xfe\xff\xff\xff", "goes round"),  # a loop without end, and without an announcement
        (b"\xe8\x01\x00\x00\x00", "calls what is no function"),
        (b"\xe9\x01\x00\x00\x00", "jumps to where no function begins"),
        (b"\xff\xe0\x90\x90\x90", "holds an instruction that a scalar unit does not have"),  # jmp *%rax
    ],
)
def test_harm_in_the_place_of_a_call(twin: Twin, image: Path, bytes_: bytes, message: str) -> None:
    place = next(calls(image, "__sanitizer_cov_trace_pc"))
    said = changed(twin, image, {place: bytes_})
    assert message in said


def test_drawn_bytes_are_refused_or_harmless(twin: Twin, image: Path) -> None:
    """Whatever stands there: the proof comes to an end, and most changes are seen."""
    draw = random.Random(21)
    places = draw.sample(code(image), 60)
    said = [changed(twin, image, {at: draw.randbytes(draw.choice((1, 2, 4)))}) for at in places]
    assert sum(text != "holds" for text in said) > 15


def test_tables_of_the_loader(twin: Twin, image: Path) -> None:
    """A constructor that begins within a function, and bytes that are no image at all."""
    elf = Elf(image)
    rows = elf.section(".rela.dyn")
    started = elf.section(".init_array")
    assert rows is not None
    assert started is not None
    data = image.read_bytes()
    places = range(rows.offset, rows.offset + rows.size, 24)
    functions = [at for at in places if struct.unpack_from("<q", data, at + 16)[0] > 0]
    said = {
        changed(twin, image, {at + 16: struct.pack("<q", struct.unpack_from("<q", data, at + 16)[0] + 1)})
        for at in functions
    }
    assert "starts with what is no function" in said
    kinds = {changed(twin, image, {at + 8: struct.pack("<Q", 37)}) for at in places}  # chosen while it is loaded
    assert kinds == {"asks the loader for more than to fill in addresses"}
    assert changed(twin, image, {0: b"none"}) == "has segments that no kernel has"
