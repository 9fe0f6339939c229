"""Where wrong elements come from: a wrong kernel runs once more, and the way back from some of its elements is told.

The candidate's process is told places in outputs, chosen after the comparison, and nothing of what should be there:
expected values stay here. What comes of it is for people who debug a kernel; no path to a model asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from npukernelbench.judge.backtrace import Way, told
from npukernelbench.judge.compare import Mismatch, mismatches
from npukernelbench.judge.compile import compiled
from npukernelbench.judge.data import CaseData
from npukernelbench.judge.run import run_case
from npukernelbench.nouns import (
    Candidate,
    Case,
    CompileRequest,
    Diagnostic,
    Observation,
    Outcome,
    RunRequest,
    Severity,
    Stage,
    Task,
    Track,
    Verdict,
    Watched,
)
from npukernelbench.seed import derive
from npukernelbench.tasks.variation import varied

if TYPE_CHECKING:
    from npukernelbench.judge.check import Checker
    from npukernelbench.judge.executor import Executor
    from npukernelbench.judge.pipeline import Judge
    from npukernelbench.judge.settings import JudgeSettings
    from npukernelbench.plugins import Plugins

__all__ = ["EXPLANATION", "explain_origin"]

#: The rule of the diagnostics made here.
EXPLANATION = "origin"
_WRONG = frozenset({Outcome.WRONG_VALUE, Outcome.NON_FINITE})


class _Trial(NamedTuple):
    """Inputs that the kernel may be wrong on: the case's own, then those of its variations."""

    case: Case
    data_seed: int
    run_seed: int


@dataclass(frozen=True, slots=True)
class _Question:
    executor: Executor
    settings: JudgeSettings
    task: Task
    track: Track
    candidate: Candidate
    checker: Checker


def explain_origin(
    judge: Judge,
    plugins: Plugins,
    task: Task,
    cases: Sequence[Case],
    track: Track,
    candidate: Candidate,
    verdict: Verdict,
) -> tuple[Diagnostic, ...]:
    """Notes about the first case whose values are wrong; one that says why there is nothing to explain otherwise."""
    failed = next(
        (
            case_result
            for case_result in verdict.cases
            if case_result.outcome in _WRONG and case_result.stage is Stage.CHECK
        ),
        None,
    )
    case = next((result for result in cases if failed is not None and result.id == failed.case), None)
    if case is None:
        return (_note(f"nothing to trace: the outcome is {verdict.outcome.value}, not a wrong value"),)
    executor, settings = judge.executor, judge.settings
    checker = cast("Checker", plugins.checkers.find(task.tolerance.policy).load())
    question = _Question(executor, settings, task, track, candidate, checker)
    request = CompileRequest(
        task, case if track is Track.STATIC else None, track, candidate, settings.compile_timeout_s, tuple(cases)
    )
    # Compiled anew: the judge released its artifact with the verdict.
    with ExitStack() as held:
        artifact = held.enter_context(compiled(executor, request, settings.infra_retries)).artifact
        if artifact is None:
            return (_note("the kernel could not be compiled again"),)
        data = CaseData()
        for trial in _trials(question, case):
            inputs = data.inputs(task, trial.case, trial.data_seed)
            run = RunRequest(task, trial.case, artifact, inputs, trial.run_seed, settings.run_timeout_s)
            diagnostics = _explained(question, run, data, trial)
            if diagnostics:
                return diagnostics
    return (_note("no element was wrong this time"),)


def _trials(question: _Question, case: Case) -> Iterator[_Trial]:
    """In the order of the judge and with its seeds."""
    seed, task = question.settings.seed, question.task
    run = derive(seed, "run", task.name, case.id)
    yield _Trial(case, seed, run)
    for number in range(question.settings.variations):
        other = varied(task, case, derive(seed, "variation", str(number)))
        yield _Trial(other, derive(seed, "variations"), derive(run, "elsewhere", other.salt))


def _explained(question: _Question, run: RunRequest, data: CaseData, trial: _Trial) -> tuple[Diagnostic, ...]:
    retries = question.settings.infra_retries
    seen = run_case(question.executor, run, retries)
    if seen.outcome is not Outcome.OK:
        return (_note(f"the run to be explained ended with {seen.outcome.value}"),)
    expected = data.expected(question.task, trial.case, trial.data_seed)
    wrong = next(iter(mismatches(question.task, trial.case, question.checker, seen.outputs, expected)), None)
    if wrong is None:
        return ()
    places = _places(wrong)
    traced = run_case(question.executor, replace(run, watched=tuple(places)), retries)
    if not traced.traces:
        return (_note(f"executor {question.executor.name!r} does not tell which instruction wrote an element"),)
    return told(_ways(wrong, places, traced), question.candidate.files)


def _places(wrong: Mismatch) -> Mapping[Watched, bool]:
    """Elements to ask about and whether they are wrong: the first, a middle and the last one of the wrong ones, and
    right ones next to them, whose ways differ in what matters.
    """
    import numpy as np

    bad, good = np.flatnonzero(wrong.wrong), np.flatnonzero(~wrong.wrong)
    some = dict.fromkeys(int(bad[at]) for at in (0, bad.size // 2, bad.size - 1))
    near = {}
    for place in list(some)[:2]:
        if good.size:
            # The right element in front of the wrong one, where there is one.
            at = int(np.clip(np.searchsorted(good, place), 1, good.size) - 1)
            near[int(good[at])] = False
            near[int(good[min(at + 1, good.size - 1)])] = False
    flat = {**dict.fromkeys(some, True), **near}
    # The twin follows at most 8 bytes: of a complex128 the real part.
    size = wrong.dtype.itemsize
    return {Watched(wrong.output, place * size, min(size, 8), wrong.dtype): bad for place, bad in flat.items()}


def _ways(wrong: Mismatch, places: Mapping[Watched, bool], traced: Observation) -> list[Way]:
    import numpy as np

    ways = []
    for (watched, bad), steps in zip(places.items(), traced.traces, strict=True):
        flat = watched.offset // wrong.dtype.itemsize
        index = tuple(int(i) for i in np.unravel_index(flat, wrong.actual.shape)) if wrong.actual.shape else ()
        ways.append(Way(watched.output, index, bad, wrong.actual.reshape(-1)[flat], wrong.dtype, steps))
    return ways


def _note(message: str) -> Diagnostic:
    return Diagnostic(Severity.NOTE, EXPLANATION, message)
