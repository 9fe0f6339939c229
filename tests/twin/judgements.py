"""Judgements to be compared between machines: goldens of every kind and kernels that break a rule, or hostile ones.

    python -m tests.twin.judgements [--hostile] [--every N] [--sandbox MODE] > judgements.jsonl
    python -m tests.twin.judgements --compare HERE.jsonl THERE.jsonl

A line for each: outcome, diagnostics, a digest of the outputs' bytes, predicted time. ``scripts/test-aarch64`` makes
them on this machine and under an emulator of another one. Whatever differs is an error, times included, but for small
differences of a few (``CLOSE``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.sandbox import Mode
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import CompileRequest, CompileResult, Diagnostic, Observation, Owner, RunRequest, Track
from npukernelbench.tasks import generate_inputs
from tests.adversarial.catalogue.conftest import ways
from tests.adversarial.judge.conftest import adversaries
from tests.judging import all_said, twin_judge
from tests.suite import suite
from tests.twin.breaches import INPUTS, OUTPUTS, breaches
from tests.twin.goldens import Sample, contents, samples
from tests.twin.running import Twin

Judgement: TypeAlias = dict[str, Any]
#: Compilers and kernels share an emulated processor, which may be thirty times slower.
PATIENCE_S = 600.0
#: Of hostile kernels, some of which run for as long as they are let.
HANGING_S = 60.0
#: What passing structures by value and reading lists of arguments cost is the processor's convention: times of direct
#: launches and of these kernels may differ by this share.
CLOSE = 0.002
CONVENTION = frozenset({"honest argument list", "honest struct by value"})
#: Hostile kernels that are lucky, or write what one processor alone has (registers, instructions, builtin functions,
#: variables of threads, wide numbers): only that they are refused is the same everywhere.
OTHERWISE = frozenset(
    {
        "C12 depends on an address",
        "H5 own guard of jumps",
        "H5 machine code in the data",
        "H5 longjmp to anywhere",
        "H5 setjmp",
        "H5 own variable per thread",
        "H5 instruction of the host",
        "H5 header of the host's instructions",
        "H5 stack pointer into the runtime",
        "H5 stack pointer from a statement",
        "H5 pointer of the runtime from a register",
        "H5 numbers that no core has",
        "H7 compiler that is told to crash",
    }
)


def of_golden(executor: TwinExecutor, sample: Sample) -> Judgement:
    """A golden kernel on its task's smallest case."""
    task, case, track = sample
    cases = (case,) if track is Track.DYNAMIC else ()
    compiled = executor.compile(CompileRequest(task, case, track, sample.candidate(), PATIENCE_S, cases))
    seen = None
    if compiled.artifact is not None:
        inputs = generate_inputs(task, case, 3)
        seen = executor.run(RunRequest(task, case, compiled.artifact, inputs, 5, PATIENCE_S))
    return judgement(f"{task.name} {track.value}", compiled, seen)


def judgement(name: str, compiled: CompileResult, seen: Observation | None) -> Judgement:
    """What is compared."""
    said = (*compiled.diagnostics, *(seen.diagnostics if seen else ()))
    digest = hashlib.sha256()
    for output, arrays in sorted(contents(seen).items() if seen else ()):
        digest.update(output.encode())
        for array in arrays:
            digest.update(array)
    return {
        "name": name,
        "outcome": (seen or compiled).outcome.value,
        "diagnostics": told(said),
        "outputs": digest.hexdigest(),
        "time_us": seen.profile.time_us if seen and seen.profile else None,
    }


def told(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """What is said, without addresses, which differ from launch to launch."""
    return [re.sub(r"0x[0-9a-f]+", "0x", str(diagnostic)) for diagnostic in diagnostics]


def judgements(every: int, sandbox: Mode) -> Iterator[Judgement]:
    """Goldens first, then the kernels that break rules; of each the first, and every so manieth after it."""
    executor = TwinExecutor(TwinArgs(sandbox=sandbox))
    twin = Twin(executor)
    for sample in list(samples(step=1))[::every]:
        yield of_golden(executor, sample)
    for breach in [breach for breach in breaches() if breach.twin == "fast"][::every]:
        finished = twin.run(
            breach.text, INPUTS, OUTPUTS, before=breach.before, block=breach.block, timeout_s=PATIENCE_S
        )
        yield judgement(f"{breach.rule}: {breach.says}", finished.compiled, finished.seen)
    executor.close()


def hostile(every: int, sandbox: Mode) -> Iterator[Judgement]:
    """Verdicts on hostile kernels and their honest neighbours, but not on what compiles for as long as it is let."""
    settings = JudgeSettings(compile_timeout_s=PATIENCE_S, run_timeout_s=HANGING_S)
    with twin_judge(settings, sandbox=sandbox.value) as judge:
        yield from _hostile(every, judge)


def _hostile(every: int, judge: Judge) -> Iterator[Judgement]:
    task = suite()["AddCustom"]
    endless = {"outcome": "timeout", "stage": "compile"}.items()
    for candidate in [one for one in (*ways(), *adversaries()) if not endless <= one.expected.items()][::every]:
        files = {"kernel.cpp": candidate.source}
        verdict = judge.judge(task, [task.case("smoke")], Track.STATIC, candidate_of(files))
        said = all_said(verdict)
        outcome = f"{verdict.outcome.value} ({verdict.stage.value}, {verdict.owner.value})"
        if candidate.name in OTHERWISE and verdict.owner is Owner.MODEL:
            outcome, said = "refused", []
        yield {
            "name": candidate.name,
            "outcome": outcome,
            "diagnostics": told(said),
            "outputs": "",
            "time_us": next((case.profile.time_us for case in verdict.cases if case.profile), None),
            "sandbox": verdict.sandbox,
        }


def read(path: Path) -> dict[str, Judgement]:
    """Judgements by their names; those that share one are numbered."""
    found: dict[str, Judgement] = {}
    for one in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        number = sum(1 for name in found if name.partition(" #")[0] == one["name"])
        found[f"{one['name']} #{number + 1}" if number else one["name"]] = one
    return found


def compare(here: Path, there: Path) -> int:
    """Prints what differs; the number of judgements that do."""
    ours, theirs = read(here), read(there)
    shared = [name for name in ours if name in theirs]
    wrong = sorted({*ours, *theirs} - {*shared})
    ratios = []
    for name in shared:
        mine, other = ours[name], theirs[name]
        differing = [key for key in ("outcome", "diagnostics", "outputs", "time_us") if mine[key] != other[key]]
        near = (
            (name in CONVENTION or name.endswith(" launch"))
            and mine["time_us"]
            and other["time_us"]
            and abs(other["time_us"] / mine["time_us"] - 1) <= CLOSE
        )
        if differing and not (near and differing == ["time_us"]):
            wrong.append(name)
        for key in differing:
            print(f"{name}: {key}\n  here  {mine[key]}\n  there {other[key]}")
        if mine["time_us"] and other["time_us"]:
            ratios.append((other["time_us"] / mine["time_us"], name))
    equal = sum(ratio == 1.0 for ratio, _ in ratios)
    print(f"{len(shared)} judgements on both, {len(wrong)} differ: {', '.join(wrong) or 'none'}")
    if ratios:
        (least, slow), (most, fast) = min(ratios), max(ratios)
        print(f"{equal} of {len(ratios)} times equal; there / here from {least:.4f} ({slow}) to {most:.4f} ({fast})")
    return len(wrong) if shared else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hostile", action="store_true", help="hostile kernels")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only the first and every Nth after it")
    parser.add_argument("--sandbox", type=Mode, choices=list(Mode), default=Mode.AUTO)
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.compare:
        return min(compare(*arguments.compare), 1)
    kind = hostile if arguments.hostile else judgements
    for done in kind(arguments.every, arguments.sandbox):
        print(json.dumps(done, ensure_ascii=False), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
