"""Work that goes around the units: it takes time in the prediction, and is told; it changes no verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Case, Outcome, Task, Track
from tests.adversarial.candidates import right

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge

KEEP = "Add(zs, xs, ys, TOTAL);"
ENTRY = "    Add2 op;"
COPIED = """half a[ROOM], b[ROOM];
        __builtin_memcpy(a, (void*)xs.GetPhyAddr(), sizeof a);
        __builtin_memcpy(b, (void*)ys.GetPhyAddr(), sizeof b);
        for (uint32_t i = 0; i < TOTAL; ++i) a[i] = (half)((float)a[i] + (float)b[i]);
        __builtin_memcpy((void*)zs.GetPhyAddr(), a, sizeof a);"""
BY_ELEMENT = (
    "for (uint32_t i = 0; i < TOTAL; ++i) zs.SetValue(i, (half)((float)xs.GetValue(i) + (float)ys.GetValue(i)));"
)
TEN = "#define TEN(x) x x x x x x x x x x\n"
STRAIGHT = """    uint32_t v[64] = {1};
    for (int i = 0; i < 100; ++i) { TEN(TEN(TEN(v[i & 63] = v[(i + 1) & 63] * 3 + 1;))) }
    if (v[7] == 5) return;
"""
WAITING = """    volatile uint32_t sum = 0;
    for (int i = 0; i < 1000; ++i) {
        for (int j = 0; j < 40; ++j) sum = sum + 1;
        sum = sum + *(volatile __gm__ uint16_t*)x;
    }
"""
#: Calls that the compiler itself adds for its checks.
FORGED = """extern "C" void __ubsan_handle_implicit_conversion(const void*, uint64_t, uint64_t);
extern "C" void __ubsan_handle_divrem_overflow(const void*, uint64_t, uint64_t);
"""
MIXING = """    volatile uint32_t seen = 1;
    uint32_t a = seen;
    for (int i = 0;;) {
        a = a * 1664525u + 1013904223u;
        a ^= a >> 7; a += a << 3; a ^= a >> 11; a *= 2654435761u; a ^= a >> 15;
        NEVER
        if (++i >= 4000) break;
        ALWAYS
    }
    seen = a;
"""


def judged(judge: Judge, subject: tuple[Task, Case], source: str) -> tuple[float, list[str]]:
    """The predicted time of a kernel that is right, and the rules of what is said about it."""
    verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": source}))
    said = [diagnostic for case in verdict.cases for diagnostic in case.diagnostics]
    assert verdict.outcome is Outcome.OK, [str(diagnostic) for diagnostic in (*verdict.diagnostics, *said)]
    return verdict.metrics["predicted_time_us"], [diagnostic.rule for diagnostic in said]


@pytest.fixture(scope="module")
def usual(judge: Judge, subject: tuple[Task, Case]) -> float:
    time_us, said = judged(judge, subject, right())
    assert said == []
    return time_us


@pytest.mark.parametrize("work", [COPIED, BY_ELEMENT], ids=["copied to the stack", "by element"])
def test_scalars_instead_of_the_vector_unit(judge: Judge, subject: tuple[Task, Case], usual: float, work: str) -> None:
    time_us, said = judged(judge, subject, right().replace(KEEP, work))
    assert time_us > 2 * usual
    assert said == ["lint_little_work"]


@pytest.mark.parametrize("work", [TEN + STRAIGHT, WAITING], ids=["unrolled", "between looks at the same place"])
def test_what_is_done_without_instructions_takes_time(
    judge: Judge, subject: tuple[Task, Case], usual: float, work: str
) -> None:
    time_us, said = judged(judge, subject, right().replace(ENTRY, f"{work}{ENTRY}"))
    assert time_us > usual + 1.0
    assert said == []


@pytest.mark.parametrize("check", ["implicit_conversion", "divrem_overflow"])
def test_forged_checks_of_the_compiler_save_nothing(judge: Judge, subject: tuple[Task, Case], check: str) -> None:
    def time_us(never: str = "", always: str = "") -> float:
        mixing = MIXING.replace("NEVER", never).replace("ALWAYS", always)
        return judged(judge, subject, FORGED + right().replace(ENTRY, mixing + ENTRY))[0]

    call = f"__ubsan_handle_{check}(nullptr, 1, 1);"
    without_us = time_us()
    assert time_us(never=f"if (__builtin_expect(a == 12345u, 0)) {{ {call * 12} }}") > without_us - 0.01
    if check == "implicit_conversion":  # the other one is told when it is called
        assert time_us(always=call) > without_us - 0.01
        assert time_us(always=call * 12) > without_us - 0.01
