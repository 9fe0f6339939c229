"""How often `npukb judge --explain` names a planted mistake: seeded mutants of golden kernels whose values are wrong.

Mutants are mechanical edits of golden kernels of the static track (another operation, swapped operands, another
constant, a shorter count, a shifted offset, a shorter loop), drawn by seed and judged by the twin; those that are right
or break a rule are passed over. Named means: a changed line or the line behind it is among the
lines of the explanation. Said apart: on the way back (instructions), or among the lines behind their numbers, and how
large a share of the kernel's lines the explanation names, because naming all of them would be no art.

    python benchmarks/explain_mutants.py [--number 100] [--seed 0] [--show]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.origin import explain_origin
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Diagnostic, Outcome, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import GoldenKernels
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import golden_of

#: What is edited: a pattern, and what takes its place.
EDITS = (
    (r"\bAdd\(", "Sub("),
    (r"\bSub\(", "Add("),
    (r"\bMul\(", "Add("),
    (r"\bMax\(", "Min("),
    (r"\bMin\(", "Max("),
    (r"\bExp\(", "Abs("),
    (r"\bSqrt\(", "Abs("),
    (r"\bMuls\(", "Adds("),
    (r"\bAdds\(", "Muls("),
    (r"\b(Sub|Div)\((\w+), (\w+), (\w+),", r"\1(\2, \4, \3,"),
    (r"\b(\d)\.(\d+)f\b", r"\1.7\2f"),
    (r"\b(Add|Sub|Mul|Div|Muls|Adds|Exp|Sqrt|Cast|Relu|Abs|Max|Min)\((.*), (\w+)\);", r"\1(\2, \3 / 2);"),
    (r"Global\[(\w+)\]", r"Global[\1 + 16]"),
    (r"GetBlockIdx\(\) \*", "(GetBlockIdx() + 1) *"),
    (r"CAST_RINT\b", "CAST_TRUNC"),
    (r"for \((.*); (\w+) < (\w+);", r"for (\1; \2 + 1 < \3;"),
    (r"tiling\.(\w+) - begin : ", r"tiling.\1 - begin - 8 : "),
    (r"offset \+= (\w+)", r"offset += 2 * \1"),
    (r"\bDiv\(", "Mul("),
    (r"\b(Cast|Muls|Adds|Exp|Abs|Sqrt)\((\w+), (\w+),", r"\1(\2, \2,"),
    (r"\+ begin, count", "+ begin + 8, count"),
    (r"\? count - offset : ", "? (count - offset) / 2 : "),
)
#: Draws in a row that give nothing new before the mutants are said to be used up.
PATIENCE = 2000


class Mutant(NamedTuple):
    task: Task
    case: Case
    source: str
    changed: frozenset[int]


class Named(NamedTuple):
    way: bool
    numbers: bool
    first: bool
    share: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--number", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--show", action="store_true", help="print every explanation")
    given = options.parse_args()
    plugins = Plugins.load()
    executor = make_executor(plugins.executors.find("twin"), {})
    settings = JudgeSettings()
    judge = Judge.of(executor, plugins, settings)
    results: list[Named] = []
    try:
        for mutant in mutants(plugins, Random(given.seed)):
            if len(results) == given.number:
                break
            named = judged(judge, plugins, mutant, show=given.show)
            if named is not None:
                results.append(named)
    finally:
        executor.close()
    report(results)


def report(results: list[Named]) -> None:
    total = len(results)
    way = sum(result.way for result in results)
    either = sum(result.way or result.numbers for result in results)
    first = sum(result.first for result in results)
    share = sum(result.share for result in results) / max(total, 1)
    print(f"{total} mutants: named {either}, of these on the way back {way}, as the first computation {first}")
    print(f"lines of the kernel that an explanation names, on average: {share:.0%}")


def mutants(plugins: Plugins, rng: Random) -> Iterator[Mutant]:
    registry = load_registry(plugins)
    goldens = GoldenKernels()
    tasks = [registry[name] for name in sorted(registry) if golden_of(registry[name], Track.STATIC)]
    known: set[str] = set()
    in_vain = 0
    try:
        while in_vain < PATIENCE:
            in_vain += 1
            task = rng.choice(tasks)
            case = task.usual_case
            files = goldens.kernel(task, case, Track.STATIC)
            [text] = files.values()
            mutant = edited(task, case, text, rng)
            if mutant and mutant.source not in known:
                known.add(mutant.source)
                in_vain = 0
                yield mutant
    finally:
        goldens.close()


def edited(task: Task, case: Case, text: str, rng: Random) -> Mutant | None:
    """One place of one pattern, drawn evenly over the patterns that match."""
    start = text.find("using namespace AscendC;")
    matches = [(found, new) for old, new in EDITS if (found := list(re.finditer(old, text[max(start, 0) :])))]
    if not matches:
        return None
    places, new = rng.choice(matches)
    match = rng.choice(places)
    at = max(start, 0)
    changed = text[: at + match.start()] + match.expand(new) + text[at + match.end() :]
    return Mutant(task, case, changed, changed_lines(text, changed))


def changed_lines(before: str, after: str) -> frozenset[int]:
    """Numbers of the lines of ``after`` that differ."""
    # Without this, difflib takes lines that come often in a long text for junk, and does not match them.
    blocks = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return frozenset(line + 1 for tag, _, _, first, last in blocks if tag != "equal" for line in range(first, last))


def judged(judge: Judge, plugins: Plugins, mutant: Mutant, *, show: bool) -> Named | None:
    candidate = candidate_of({"kernel.cpp": mutant.source})
    verdict = judge.judge(mutant.task, [mutant.case], Track.STATIC, candidate)
    if verdict.outcome not in (Outcome.WRONG_VALUE, Outcome.NON_FINITE):
        return None
    notes = explain_origin(judge, plugins, mutant.task, [mutant.case], Track.STATIC, candidate, verdict)
    named = named_by(notes, mutant)
    word = "way" if named.way else "numbers" if named.numbers else "missed"
    lines = mutant.source.splitlines()
    print(f"{mutant.task.name}: {word}: {' | '.join(lines[n - 1].strip() for n in sorted(mutant.changed))}", flush=True)
    if show:
        for note in notes:
            print(note)
    return named


def named_by(notes: tuple[Diagnostic, ...], mutant: Mutant) -> Named:
    wanted = mutant.changed | {line + 1 for line in mutant.changed}
    way = [line for note in notes for _, line in note.details.get("lines", ())]
    numbers = [line for note in notes for _, line in note.details.get("numbers", ())]
    code = [line for line in mutant.source.splitlines() if line.strip() and not line.strip().startswith("//")]
    share = len({*way, *numbers}) / len(code)
    return Named(bool(wanted & set(way)), bool(wanted & set(numbers)), bool(set(way[:2]) & wanted), share)


if __name__ == "__main__":
    main()
