"""Work of the scalar unit that a kernel would have for less than it costs: what compilers leave uncounted.

Every way stands beside an honest kernel that does the same work, or gets the same result in the usual manner.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Finished, Twin

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="operations are counted on x86-64")

OPENING = "volatile uint32_t first = *(__gm__ uint32_t*)x + 7;\nuint32_t a = first;\n"
CYCLES_PER_US = 1800.0  # of the scalar unit
CLOSING = "\nGlobalTensor<uint32_t> g;\ng.SetGlobalBuffer((__gm__ uint32_t*)y);\ng.SetValue(0, a);"
MIX = "a = a * 1664525u + 1013904223u; a ^= a >> 7; a += a << 3; a ^= a >> 11; a *= 2654435761u; a ^= a >> 15;"
CHECK = 'extern "C" void __ubsan_handle_implicit_conversion(const void*, uint64_t, uint64_t);'


def rounds(count: int, body: str) -> str:
    return f"for (int i = 0; i < {count}; ++i) {{ {body} }}"


def lines(body: str) -> str:
    head = "__gm__ uint64_t* p = (__gm__ uint64_t*)x; uint64_t b[8], sum = 0;"
    return head + rounds(400, f"int o = (i & 63) * 8; {body} sum += b[i & 7];") + "a = sum;"


POINTER = "uint32_t (*volatile f)(uint32_t) = Same;"
TABLES = "static uint64_t b[64], c[64];"
VECTOR = "typedef uint64_t V __attribute__((vector_size(16))); V v = {a, a + 1}, w = {3, 5};"
SIZES = "typedef int V __attribute__((vector_size(32))); V v = {(int)a, 1, 2, 3, 4, 5, 6, 7};"
LOGIC = "v ^= w; w &= v; v |= w; w ^= v; "
WIDE = "uint64_t w = a;"
STEPS = (3, 17, 9, 33, 5, 21, 7, 12)
FLOATS = "typedef float V __attribute__((vector_size(16))); V v = {(float)a, 1, 2, 3};"
HALFS = "typedef _Float16 H4 __attribute__((vector_size(8))); typedef float F4 __attribute__((vector_size(16)));"
FOUR = "alignas(16) half hs[4] = {1, 2, 3, 4}; alignas(16) float fs[4] = {1, 2, 3, 4}; float t = a; "
SPARED = "__ubsan_handle_implicit_conversion(nullptr, 1, 1);"
#: What stands in front of the kernel, an honest way to do something, and one that seemed to cost less.
WAYS = {
    "choice between bytes": (
        "",
        rounds(4000, f"uint8_t r = 2; if (a == 5) r = 1; {MIX} a += r;"),
        rounds(4000, f"uint8_t r = a == 5 ? (uint8_t)1 : (uint8_t)2; {MIX} a += r;"),
    ),
    "choice between bytes through the runtime": (
        "uint32_t Same(uint32_t a) { return a; }",
        "uint32_t (*volatile f)(uint32_t) = Same;"
        + rounds(4000, f"uint8_t r = 2; if (a == 5) r = 1; {MIX} a = f(a + r);"),
        "uint32_t (*volatile f)(uint32_t) = Same;"
        + rounds(4000, f"uint8_t r = a == 5 ? (uint8_t)1 : (uint8_t)2; {MIX} a = f(a + r);"),
    ),
    "atomic operation that is a loop": (
        "",
        "uint32_t z = 5;" + rounds(4000, f"z = ~(z & 3u); {MIX}"),
        "uint32_t z = 5;" + rounds(4000, f"__atomic_fetch_nand(&z, 3u, __ATOMIC_RELAXED); {MIX}"),
    ),
    "sums that exchange": (
        "",
        "uint32_t s = 0;" + rounds(4000, "s += a; " * 8) + "a = s;",
        "uint32_t s = 0, t = 0;" + rounds(4000, "t = __atomic_fetch_add(&s, a, __ATOMIC_RELAXED); " * 8) + "a = s;",
    ),
    "loop that ends in a forged check": (
        CHECK,
        "for (int i = 0;;) { a ^= i; if (++i >= 20000) break; }",
        f"for (int i = 0;;) {{ a ^= i; if (++i >= 20000) {{ {SPARED} break; }} }}",
    ),
    "rare work in a forged check": (
        CHECK,
        "uint32_t most = 0;" + rounds(20000, "a += 13u; if (a > most) most = 0xfffffff0u;"),
        "uint32_t most = 0;" + rounds(20000, f"a += 13u; if (a > most) {{ {SPARED} most = 0xfffffff0u; }}"),
    ),
    "lines of global memory": (
        "",
        lines(" ".join(f"b[{word}] = p[o + {word}];" for word in range(8))),
        lines("__builtin_memcpy(b, (void*)(p + o), 64);"),
    ),
    "comparison of arrays": (
        TABLES,
        rounds(
            400, "uint64_t d = 0; " + " ".join(f"d |= b[{word}] ^ c[{word}];" for word in range(64)) + " a += d != 0;"
        ),
        rounds(400, "a += __builtin_memcmp(b, c, sizeof b) != 0;"),
    ),
    "logic of vectors": (
        "",
        "uint64_t v = a, w = 3, s = a + 1, t = 5;" + rounds(4000, LOGIC + LOGIC.replace("v", "s").replace("w", "t")),
        VECTOR + rounds(4000, LOGIC),
    ),
    "shifts of 64 bits": (
        "",
        "uint32_t w = a;" + rounds(4000, "w <<= 3; w ^= i; " * 8) + "a = w;",
        WIDE + rounds(4000, "w <<= 3; w ^= i; " * 8) + "a = w;",
    ),
    "sums of 64 bits": (
        "",
        "uint32_t w = a;" + rounds(4000, " ".join(f"w += {step};" for step in STEPS)) + "a = w;",
        WIDE + rounds(4000, " ".join(f"w += {step};" for step in STEPS)) + "a = w;",
    ),
    "pointers that are numbers": (
        "",
        "uint32_t w = a;" + rounds(4000, " ".join(f"w += {step * 8};" for step in STEPS)) + "a = w;",
        "uint64_t* w = (uint64_t*)(uint64_t)a;"
        + rounds(4000, " ".join(f"w += {step};" for step in STEPS))
        + "a = (uint64_t)w;",
    ),
    "pointers to members": (
        "",
        "uint32_t w = a;" + rounds(4000, "w += 24; " * 8) + "a = w;",
        "struct S { uint64_t a, b, c, d; }; uint64_t w = a;"
        + rounds(4000, "w = (uint64_t)&((S*)w)->d; " * 8)
        + "a = w;",
    ),
    "sums that nobody looks at as numbers": (
        "static uint8_t table[65536];",
        "uint32_t w = 0;" + rounds(4000, "w += 8; " * 8) + "a = table[w & 65535];",
        "uint8_t* p = table;" + rounds(4000, "p += 8; " * 8) + "p -= 4000 * 64; a = *p;",
    ),
    "sums through a function": (
        "__aicore__ inline uint64_t Next(uint64_t a) { return a + 24; }\n"
        "__aicore__ inline uint32_t Narrow(uint32_t a) { return a + 24; }",
        "uint32_t w = a;" + rounds(4000, "w = Narrow(w); " * 4) + "a = w;",
        WIDE + rounds(4000, "w = Next(w); " * 4) + "a = w;",
    ),
    "sums at a place that others see": (
        "static uint64_t place; static uint32_t narrow;",
        rounds(4000, "__atomic_fetch_add(&narrow, 24u, __ATOMIC_RELAXED); " * 8) + "a = narrow;",
        rounds(4000, "__atomic_fetch_add(&place, 24, __ATOMIC_RELAXED); " * 8) + "a = place;",
    ),
    "large constants": (
        "",
        "uint32_t w = a;" + rounds(4000, "w |= 1u; " * 8) + "a = w;",
        "uint32_t w = a;" + rounds(4000, "w |= 0x10100u; " * 8) + "a = w;",
    ),
    "signs of vectors": (
        "#define SIGNS 0x8000000080000000u",
        "uint64_t f = a, h = 1;" + rounds(4000, "f ^= SIGNS; h ^= SIGNS; " * 4) + "a = f + h;",
        FLOATS + rounds(4000, "v = -v; " * 4) + "a = v[0] + v[1] + v[2] + v[3];",
    ),
    "halfs of a vector to floats": (
        HALFS,
        FOUR + rounds(2000, " ".join(f"t += (float)hs[{k}];" for k in range(4))) + "a = t;",
        FOUR + "F4 v = {t};" + rounds(2000, "v += __builtin_convertvector(*(H4*)hs, F4);") + "a = v[1];",
    ),
    "floats of a vector to halfs": (
        HALFS,
        FOUR + rounds(2000, " ".join(f"hs[{k}] = (half)fs[{k}];" for k in range(4)) + " a += 3u;"),
        FOUR + rounds(2000, "*(H4*)hs = __builtin_convertvector(*(F4*)fs, H4); a += 3u;"),
    ),
    "sizes of vectors": (
        "",
        "int v = a;" + rounds(4000, "v ^= i; " * 16),
        SIZES + rounds(4000, "v = __builtin_elementwise_abs(v); " * 2),
    ),
}
MIXER = f"uint32_t NAME(uint32_t a) {{ for (int i = 0; i < 4; ++i) {{ {MIX} }} return a; }}"
#: What is not counted and cannot be: what stands in front of the kernel, its body, the outcome and the rule.
REFUSED = {
    "name of the compiler": (
        'extern "C" __aicore__ ' + MIXER.replace("NAME", "__sanitizer_mix"),
        "a = __sanitizer_mix(a);",
        (Outcome.CHEAT, "forged_image"),
    ),
    "label of the compiler": (
        'static __aicore__ uint32_t Mix(uint32_t a) __asm__("mix.module_ctor");\nstatic __aicore__ '
        + MIXER.replace("NAME", "Mix"),
        "a = Mix(a);",
        (Outcome.CHEAT, "forged_image"),
    ),
    "operation that is a loop": (
        "",
        "unsigned _BitInt(512) u = ~(unsigned _BitInt(512))0, d = a; a = (uint32_t)(u / d);",
        (Outcome.LAUNCH_ERROR, "foreign_instruction"),
    ),
}
FORGED = (Outcome.CHEAT, "forged_image")
HOST_CALL = (Outcome.COMPILE_ERROR, "host_call")
BEGIN = "static __aicore__ void Begin() {} "
#: Tables of the image that a kernel would like to write itself, and functions that no device has.
REFUSED |= {
    "data among code": (
        '__attribute__((section(".text"))) const uint32_t t[4] = {1, 2, 3, 4};',
        "a += t[a & 3];",
        FORGED,
    ),
    "a start that is no function": (
        '__attribute__((section(".init_array"), used)) uint64_t b = 0x1234;',
        "a += 1;",
        FORGED,
    ),
    "a start before others": (
        BEGIN + '__attribute__((section(".preinit_array"), used)) void (*b)() = Begin;',
        "a += 1;",
        FORGED,
    ),
    "an interpreter": (
        '__attribute__((section(".interp"), used)) const char b[] = "/lib/ld.so";',
        "a += b[1];",
        FORGED,
    ),
    "variables of a thread": (
        'static thread_local uint32_t v __attribute__((tls_model("initial-exec"))) = 5;',
        "v += a; a = v;",
        FORGED,
    ),
    "weak reference": (
        'static uint32_t F(uint32_t) __attribute__((weakref("write")));',
        "if (F) a += F(a);",
        HOST_CALL,
    ),
    "quotient of 128 bits": ("", "unsigned __int128 u = a, d = u << 64 | 7; a = (uint32_t)(u / d);", HOST_CALL),
    "complex product": ("", "_Complex float c = (float)a; c = c * c; a = (uint32_t)__real__ c;", HOST_CALL),
}
ACCEPTED = {
    "name like it": ('extern "C" __aicore__ ' + MIXER.replace("NAME", "sanitizer_mix"), "a = sanitizer_mix(a);"),
    "label": (
        'static __aicore__ uint32_t Mix(uint32_t a) __asm__("mix.ctor");\nstatic __aicore__ '
        + MIXER.replace("NAME", "Mix"),
        "a = Mix(a);",
    ),
    "constructor": ("static uint32_t v; __attribute__((constructor)) void Begin() { v = 5; }", "a += v;"),
    "product of 128 bits": ("", "unsigned __int128 u = a; u = u * u * u; a = (uint32_t)(u >> 7);"),
    "moves only": (
        "struct Pair { uint32_t a, b; __aicore__ uint32_t First() { return a; } };",
        "Pair p{a, 1}; a = p.First();",
    ),
    "headers of the language": ("#include <algorithm>", "uint32_t b = 3; a = std::max(a, std::min(b, a));"),
    "constructor of a structure of ours": ("", "float s[16]; int16_t o[16]; bool n[16]; VdeqInfo info(s, o, n);"),
    "wide division": ("", "unsigned __int128 u = a; a = (uint32_t)(u / 3);"),
}


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs())
    yield Twin(executor)
    executor.close()


def run(twin: Twin, before: str, body: str) -> Finished:
    inputs = {"x": np.arange(4096, dtype=np.uint32)}
    return twin.run(OPENING + body + CLOSING, inputs, {"y": ((16,), DType.UINT32)}, before=before)


def time_us(twin: Twin, before: str, body: str) -> float:
    done = run(twin, before, body)
    assert done.seen is not None, [str(diagnostic) for diagnostic in done.diagnostics]
    assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
    return done.seen.profile.time_us


def test_no_way_to_compute_costs_less(twin: Twin) -> None:
    nothing = time_us(twin, "", "")
    for name, (before, honest, way) in WAYS.items():
        usual = time_us(twin, before, honest) - nothing
        assert usual > 0.3, name
        assert time_us(twin, before, way) - nothing > 0.9 * usual, name


def test_what_is_not_counted_is_refused(twin: Twin) -> None:
    for name, (before, body, expected) in REFUSED.items():
        done = run(twin, before, body)
        assert (done.outcome, done.errors[0].rule) == expected, name
    for name, (before, body) in ACCEPTED.items():
        assert run(twin, before, body).outcome is Outcome.OK, name


def test_a_square_root_costs_more_than_a_product(twin: Twin) -> None:
    """A hundred of each."""
    start = "float f = (float)(first & 7) * 0.125f + 0.5f;"
    root, product = (
        time_us(twin, "#include <cmath>", start + rounds(100, f"f = {text};") + "a += (uint32_t)f;")
        for text in ("sqrtf(f)", "f * 1.5f")
    )
    assert root > product


def test_one_half_is_converted_for_nothing(twin: Twin) -> None:
    """What the compiler makes of such a conversion only moves the number."""
    few, many = (
        time_us(twin, "", "float f; half h = 1;" + rounds(1000, " ".join(["f = (float)h; h = (half)f;"] * count)))
        for count in (1, 9)
    )
    assert many == few


def test_what_moves_many_bytes_costs_more_than_what_moves_few(twin: Twin) -> None:
    for call in ("memset(to, i, {})", "memcpy(to, from, {})", "memmove(to, to + 8, {})"):
        body = "uint8_t to[5000] = {{}}, from[4096] = {{}}; for (int i = 0; i < 50; ++i) {};"
        few, many = (time_us(twin, "#include <cstring>", body.format(call.format(size))) for size in (8, 4096))
        words = 50 * (4096 - 8) / 8
        assert many - few > words * 0.3 / CYCLES_PER_US, call
