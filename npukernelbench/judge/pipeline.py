"""The judge: guard, compile, then for every case run, check and profile; last the score.

A candidate's failure is a verdict; so is a fault of executor, reference or guard, under another owner. What remains an
exception is a mistake in what the user asked for: an unknown policy or a plugin that cannot be loaded.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from npukernelbench.errors import PluginError, TaskError
from npukernelbench.judge.boundary import fault_of
from npukernelbench.judge.check import Checker
from npukernelbench.judge.compare import compare
from npukernelbench.judge.compile import compile_candidate
from npukernelbench.judge.data import CaseData
from npukernelbench.judge.executor import Executor
from npukernelbench.judge.guard import Guard, has_source
from npukernelbench.judge.profile import profile_metrics
from npukernelbench.judge.run import run_case
from npukernelbench.judge.score import TASK_FAULT, score, stopped
from npukernelbench.nouns import (
    Artifact,
    Candidate,
    Case,
    CaseResult,
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
)
from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.judge.data import Expected
    from npukernelbench.plugins import Registry

__all__ = ["Judge", "JudgeSettings", "Metric"]

#: A number per sample; None where it has no meaning.
Metric: TypeAlias = Callable[[Verdict], "float | None"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What the judge may spend, its randomness, and how often a fault of ours is tried again (``infra_retries``)."""

    compile_timeout_s: float = 60.0
    run_timeout_s: float = 60.0
    seed: int = 0
    infra_retries: int = 1


class Judge:
    """Judges candidates with one executor. Safe to call from several threads; the executor belongs to the caller."""

    def __init__(
        self,
        executor: Executor,
        *,
        checkers: Registry,
        guards: Registry,
        settings: JudgeSettings,
        metrics: Registry | None = None,
    ) -> None:
        self._executor = executor
        self._checkers = checkers
        self._guards = tuple((name, _function(guards, name)) for name in sorted(guards))
        self._metrics = tuple((name, _function(metrics, name)) for name in sorted(metrics)) if metrics else ()
        self._settings = settings
        self._data = CaseData(settings.seed)

    def judge(
        self,
        task: Task,
        cases: Sequence[Case],
        track: Track,
        candidate: Candidate,
        *,
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Verdict:
        """The verdict on ``candidate`` over ``cases``; on the static track there is exactly one case.

        ``on_stage`` is told each stage as it begins, in the calling thread. Never raises for a candidate's fault.
        """
        checker = cast(Checker, _function(self._checkers, task.tolerance.policy))
        sitting = _Sitting(task, track, candidate, checker, on_stage or _ignore)
        verdict = self._guard(sitting) or self._compile(sitting, cases)
        return self._add_metrics(verdict)

    def _guard(self, sitting: _Sitting) -> Verdict | None:
        """A verdict if the source is refused, None if it may be compiled."""
        tier, candidate = self._executor.tier, sitting.candidate
        sitting.on_stage(Stage.GUARD)
        if not has_source(candidate):
            note = Diagnostic(Severity.ERROR, "empty_source", "the source is empty", remedy="Submit a kernel.")
            return stopped(sitting.track, tier, Stage.EXTRACT, Outcome.NO_CODE, (note,))
        found: list[Diagnostic] = []
        for name, guard in self._guards:
            try:
                found.extend(cast(Guard, guard)(candidate, sitting.task))
            except Exception as error:  # noqa: BLE001 - boundary: a guard's bug is no candidate's fault
                fault = fault_of(error, f"the guard '{name}'")
                return stopped(sitting.track, tier, Stage.GUARD, Outcome.INFRA_ERROR, (fault.diagnostic,))
        sitting.diagnostics.extend(found)
        if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
            return stopped(sitting.track, tier, Stage.GUARD, Outcome.GUARD_REJECTED, found)
        return None

    def _compile(self, sitting: _Sitting, cases: Sequence[Case]) -> Verdict:
        """Compile and judge every case."""
        if sitting.track is Track.STATIC and len(cases) != 1:
            raise ValueError(f"the static track judges one case at a time, not {len(cases)}")
        case = cases[0] if sitting.track is Track.STATIC else None
        sitting.on_stage(Stage.COMPILE)
        request = CompileRequest(
            sitting.task, case, sitting.track, sitting.candidate, self._settings.compile_timeout_s, tuple(cases)
        )
        with sitting.timing("compile"):
            result = compile_candidate(self._executor, request, self._settings.infra_retries)
        sitting.diagnostics.extend(result.diagnostics)
        tier, diagnostics = self._executor.tier, sitting.diagnostics
        if result.artifact is None:
            return stopped(sitting.track, tier, Stage.COMPILE, result.outcome, diagnostics, sitting.timings)
        results = [self._case(sitting, one, result.artifact) for one in cases]
        return score(sitting.track, tier, results, diagnostics, sitting.timings)

    def _case(self, sitting: _Sitting, case: Case, artifact: Artifact) -> CaseResult:
        """Run one case and compare; the reference is computed while the kernel runs."""
        sitting.on_stage(Stage.RUN)
        task, settings = sitting.task, self._settings
        try:
            with sitting.timing("inputs"):
                inputs = self._data.inputs(task, case)
        except Exception as error:  # noqa: BLE001 - boundary: inputs are the task's
            return _fault(case, Stage.RUN, error, "making the inputs", TASK_FAULT)
        seed = derive(settings.seed, "run", task.name, case.id)
        request = RunRequest(task, case, artifact, inputs, seed, settings.run_timeout_s)
        with ThreadPoolExecutor(1) as beside:
            expected = beside.submit(self._timed_expected, sitting, case)
            with sitting.timing("run"):
                seen = run_case(self._executor, request, settings.infra_retries)
        if seen.outcome is not Outcome.OK:
            return CaseResult(case.id, Stage.RUN, seen.outcome, seen.diagnostics, {}, seen.profile)
        sitting.on_stage(Stage.CHECK)
        return self._check(sitting, case, request, seen, expected)

    def _timed_expected(self, sitting: _Sitting, case: Case) -> Expected:
        with sitting.timing("reference"):
            return self._data.expected(sitting.task, case)

    def _check(
        self, sitting: _Sitting, case: Case, request: RunRequest, seen: Observation, expected: Future[Expected]
    ) -> CaseResult:
        """Boundary: a reference that raises is a fault of the task, a checker that does one of the harness."""
        try:
            reference = expected.result()
        except Exception as error:  # noqa: BLE001
            return _fault(case, Stage.CHECK, error, "computing the reference", TASK_FAULT)
        try:
            with sitting.timing("compare"):
                found = compare(
                    sitting.task,
                    case,
                    sitting.checker,
                    seen.outputs,
                    reference,
                    inputs=request.inputs,
                    seed=request.seed,
                    blocks=seen.profile.blocks if seen.profile else 0,
                )
        except TaskError as error:
            return _fault(case, Stage.CHECK, error, "checking the outputs", TASK_FAULT)
        except Exception as error:  # noqa: BLE001
            return _fault(case, Stage.CHECK, error, "checking the outputs", "infra_error")
        diagnostics = (*found.diagnostics, *seen.diagnostics)
        if found.outcome is not Outcome.OK:
            return CaseResult(case.id, Stage.CHECK, found.outcome, diagnostics, found.metrics, seen.profile)
        sitting.on_stage(Stage.PROFILE)
        metrics = {**found.metrics, **profile_metrics(seen.profile)}
        return CaseResult(case.id, Stage.DONE, Outcome.OK, diagnostics, metrics, seen.profile)

    def _add_metrics(self, verdict: Verdict) -> Verdict:
        """Boundary: a metric of a plugin that raises is left out and said."""
        values: dict[str, float] = {}
        for name, metric in self._metrics:
            try:
                value = cast(Metric, metric)(verdict)
            except Exception:  # noqa: BLE001
                _log.exception("the metric '%s' failed and is left out", name)
                continue
            if value is not None:
                values[name] = float(value)
        return replace(verdict, metrics={**verdict.metrics, **values}) if values else verdict


@dataclass(slots=True)
class _Sitting:
    """One call of the judge: what it is about and what was found so far."""

    task: Task
    track: Track
    candidate: Candidate
    checker: Checker
    on_stage: Callable[[Stage], None]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the wall time of the block to ``stage``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] += time.perf_counter() - start


def _fault(case: Case, stage: Stage, error: Exception, action: str, rule: str) -> CaseResult:
    _log.warning("%s of case '%s' failed", action, case.id, exc_info=error)
    return CaseResult(case.id, stage, Outcome.INFRA_ERROR, (fault_of(error, action, rule).diagnostic,))


def _function(registry: Registry, name: str) -> Callable[..., object]:
    """A registered function, loaded. UsageError for an unknown name, PluginError for what is no function."""
    registration = registry.find(name)
    target = registration.load()
    if not callable(target):
        raise PluginError(f"'{name}' of plugin '{registration.plugin}' is no function but {type(target).__name__}")
    return target


def _ignore(stage: Stage) -> None:
    """Nobody watches."""
