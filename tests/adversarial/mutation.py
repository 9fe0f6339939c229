"""A right kernel, changed at random in its source or in its machine code: what the judge makes of it.

Verdict and time stay as they were, or change with a diagnostic. A kernel that is still right and takes less than 0.9 of
the time, or fails without a word, is a difference that nobody explains. ``scripts/fuzz-judge SECONDS [SEED]`` looks for
one until the time is up.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from npukb_twin.compile.elf import Elf
from npukb_twin.compile.kinds import Images
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import CompileRequest, CompileResult, Outcome, Severity, Track, Verdict
from npukernelbench.plugins import Plugins
from tests.adversarial.candidates import right
from tests.judging import all_said
from tests.suite import suite

__all__ = ["Mutator", "opened", "source_mutant", "unexplained"]

_LEAST = 0.9  # of the usual time
_BEFORE = "class Add2 {"
_DECLARED = """extern "C" {
int64_t npukb_block_idx(void);
void npukb_raw_load8_noabort(uint64_t);
void npukb_raw_store8_noabort(uint64_t);
void npukb_scalar_access(const void*, uint32_t, int, uint32_t, uint32_t);
void __sanitizer_cov_trace_pc(void);
}
#define PASTE(a, b) a##b
"""
#: Statements that reach for what is not theirs, and some that do not. NUMBER is drawn.
_STATEMENTS = (
    "*(volatile uint64_t*)((uint64_t)&npukb_block_idx + NUMBER) = NUMBER;",
    "((volatile uint64_t*)__builtin_alloca(64))[NUMBER % 999 - 500] = NUMBER;",
    "npukb_raw_store8_noabort((uint64_t)&npukb_block_idx + NUMBER);",
    "npukb_raw_load8_noabort(NUMBER);",
    "npukb_scalar_access((void*)(uint64_t)NUMBER, NUMBER, 1, NUMBER, NUMBER);",
    "__sanitizer_cov_trace_pc();",
    "((void (*)(void))((uint64_t)&npukb_block_idx + NUMBER % 64))();",
    '{ uint64_t r; PASTE(__as, m__) volatile("" : "=D"(r)); *(volatile uint64_t*)(r + NUMBER % 4096) = 0; }',
    '{ uint64_t r = NUMBER; PASTE(__as, m__) volatile("" : "+S"(r) : : "rbx", "r12", "r13"); }',
    '{ register uint64_t r PASTE(__as, m__)("rsp"); PASTE(__as, m__) volatile("" : "+r"(r)); }',
    '{ register uint64_t r PASTE(__as, m__)("r13") = 0; PASTE(__as, m__) volatile("" : "+r"(r)); }',
    "for (volatile int i = 0; i < NUMBER % 50; i = i + 1) {}",
    "{ volatile uint64_t a[32] = {}; a[NUMBER % 64] = NUMBER; }",
    "return;",
)


class Mutator(TwinExecutor):
    """An executor that changes a few bytes of the code that it compiled, when it has been told how."""

    chance: random.Random | None = None

    def compile(self, request: CompileRequest) -> CompileResult:
        result = super().compile(request)
        if self.chance is not None and result.artifact is not None:
            images = self._built.get(result.artifact.path)
            assert isinstance(images, Images)
            assert images.vector is not None
            text = Elf(images.vector).section(".text")
            assert text is not None
            data = bytearray(images.vector.read_bytes())
            for _ in range(self.chance.choice((1, 1, 2))):
                _change(data, range(text.offset, text.offset + text.size), self.chance)
            images.vector.write_bytes(data)
        return result


def _change(data: bytearray, code: range, chance: random.Random) -> None:
    at = chance.choice(code[:-8])
    calls = [place for place in code[:-5] if data[place] == 0xE8]
    match chance.randrange(4):
        case 0:
            data[at : at + 4] = chance.randbytes(chance.choice((1, 2, 4))).ljust(4, b"\x90")
        case 1:
            data[at] ^= 1 << chance.randrange(8)
        case 2:  # a call less
            at = chance.choice(calls)
            data[at : at + 5] = b"\x0f\x1f\x44\x00\x00"
        case 3:  # another function, or the middle of one
            at = chance.choice(calls) + 1
            data[at] = (data[at] + 16 * chance.randrange(-4, 5)) % 256


def source_mutant(chance: random.Random) -> str:
    """The right kernel with statements in places where others end."""
    lines = right().replace(_BEFORE, _DECLARED + _BEFORE).splitlines()
    places = [i for i, line in enumerate(lines) if line.startswith("        ") and line.endswith(";")]
    for place in sorted(chance.sample(places, chance.choice((1, 1, 2, 3))), reverse=True):
        number = str(chance.choice((0, 1, 8, 64, chance.randrange(1 << 12), chance.randrange(1 << 31))))
        lines.insert(place + 1, chance.choice(_STATEMENTS).replace("NUMBER", number))
    return "\n".join(lines)


@dataclass
class Subject:
    """What mutants are judged with. ``usual`` is what the right kernel takes."""

    judge: Judge
    executor: Mutator
    usual: float = 0.0
    seen: dict[str, int] = field(default_factory=dict)

    def verdict(self, seed: int) -> tuple[Verdict, str]:
        """Of the mutant that is drawn from ``seed``; odd ones are changed in their machine code."""
        chance = random.Random(seed)
        source = right() if seed % 2 else source_mutant(chance)
        self.executor.chance = chance if seed % 2 else None
        verdict = self._judged(source)
        self.seen[verdict.outcome.value] = self.seen.get(verdict.outcome.value, 0) + 1
        return verdict, source

    def _judged(self, source: str) -> Verdict:
        task = suite()["AddCustom"]
        return self.judge.judge(task, [task.case("smoke")], Track.STATIC, candidate_of({"kernel.cpp": source}))

    def measure(self) -> None:
        self.usual = self._judged(right()).metrics["predicted_time_us"]


@contextmanager
def opened() -> Iterator[Subject]:
    plugins = Plugins.load(autoload=False)
    executor = Mutator(TwinArgs())
    settings = JudgeSettings(compile_timeout_s=20.0, run_timeout_s=3.0, infra_retries=0)
    subject = Subject(Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings), executor)
    try:
        subject.measure()
        yield subject
    finally:
        executor.close()


def unexplained(verdict: Verdict, usual: float) -> str:
    """What is wrong with a mutant's verdict; nothing mostly."""
    said = all_said(verdict)
    errors = [diagnostic for diagnostic in said if diagnostic.severity is Severity.ERROR]
    if verdict.outcome is Outcome.OK:
        time_us = verdict.metrics["predicted_time_us"]
        return f"right in {time_us:.2f} us instead of {usual:.2f}" if time_us < _LEAST * usual else ""
    if not errors:
        return f"{verdict.outcome.value} without a word"
    ours = verdict.outcome is Outcome.INFRA_ERROR and "the kernel's machine code" not in errors[0].message
    return f"our fault: {errors[0]}" if ours else ""


def main(seconds: float, seed: int) -> int:
    """Looks for unexplained differences; prints each with the number that it is drawn from."""
    end, found = time.monotonic() + seconds, 0
    with opened() as subject:
        while time.monotonic() < end:
            verdict, source = subject.verdict(seed)
            if problem := unexplained(verdict, subject.usual):
                found += 1
                sys.stdout.write(f"mutant {seed}: {problem}\n" + ("" if seed % 2 else f"{source}\n"))
                sys.stdout.flush()
            seed += 1
        sys.stdout.write(f"{sum(subject.seen.values())} mutants, {found} unexplained; {subject.seen}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
