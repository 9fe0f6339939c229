"""The judge: guard, compile, then for every case run, check and profile; last the score.

A candidate's failure is a verdict; so is a fault of executor, reference or guard, under another owner. What remains an
exception is a mistake in what the user asked for: an unknown policy or a plugin that cannot be loaded.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from npukernelbench.errors import PluginError, TaskError
from npukernelbench.judge.boundary import attempt, fault_of
from npukernelbench.judge.check import Checker, loosened
from npukernelbench.judge.compare import compare
from npukernelbench.judge.compile import compiled
from npukernelbench.judge.data import CaseData
from npukernelbench.judge.executor import Assignment, Confining, Executor, Judging
from npukernelbench.judge.guard import Guard, has_source
from npukernelbench.judge.metrics import load_metrics, measured
from npukernelbench.judge.profile import profile_metrics
from npukernelbench.judge.provenance import canary_failed, coverage, doubtful, unexplained
from npukernelbench.judge.repeat import compare_runs, depends_on_cores
from npukernelbench.judge.roofline import Roofed
from npukernelbench.judge.run import run_case
from npukernelbench.judge.score import TASK_FAULT, score, stopped
from npukernelbench.judge.settings import JudgeSettings
from npukernelbench.judge.speed import IMPOSSIBLE, speed_facts
from npukernelbench.judge.work import little_work, only_moves
from npukernelbench.nouns import (
    Artifact,
    Candidate,
    Case,
    CaseResult,
    CompileRequest,
    CompileResult,
    Diagnostic,
    Observation,
    Outcome,
    Profile,
    RunRequest,
    Severity,
    Stage,
    Task,
    Tier,
    Track,
    Verdict,
)
from npukernelbench.seed import derive
from npukernelbench.tasks.sizes import input_bytes, output_bytes
from npukernelbench.tasks.variation import varied

if TYPE_CHECKING:
    from npukernelbench.judge.data import Expected
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registry

__all__ = ["Judge", "JudgeSettings"]

_log = logging.getLogger(__name__)

#: Of a case's inputs and outputs together: larger ones are not judged on other inputs without cause.
_VARIED_BYTES = 4 << 20
#: How often its limit a kernel may take for all runs behind the first, together: a second run has one host thread, and
#: the machine may be busier than before, so a kernel is not rejected for it.
_PATIENCE = 8


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
        self._metrics = load_metrics(metrics)
        self._settings = settings
        self._data = CaseData(settings.seed)
        self._varied = CaseData(derive(settings.seed, "variations"))

    @classmethod
    def of(cls, executor: Executor, plugins: Plugins, settings: JudgeSettings) -> Judge:
        """A judge with everything that plugins offer."""
        return cls(
            executor, checkers=plugins.checkers, guards=plugins.guards, metrics=plugins.metrics, settings=settings
        )

    @property
    def tier(self) -> Tier:
        """What proves this judge's results."""
        return self._executor.tier

    @property
    def settings(self) -> JudgeSettings:
        """What it may spend."""
        return self._settings

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
        if isinstance(self._executor, Judging):
            assignment = Assignment(self._settings, task, cases, track, candidate)
            return self._assigned(self._executor, assignment, on_stage or _ignore)
        checker = cast(Checker, _function(self._checkers, task.tolerance.policy))
        sitting = _Sitting(task, track, candidate, checker, on_stage or _ignore)
        verdict = self._guard(sitting) or self._compile(sitting, cases)
        verdict = replace(verdict, sandbox=self._level(verdict))
        return self._measured(verdict)

    def check(self, task: Task, cases: Sequence[Case], track: Track, candidate: Candidate) -> Verdict:
        """The verdict on ``candidate`` up to its compilation: ``OK`` at the stage ``COMPILE`` says that it compiles."""
        if isinstance(self._executor, Judging):
            assignment = Assignment(self._settings, task, cases, track, candidate, compile_only=True)
            return self._assigned(self._executor, assignment, _ignore)
        checker = cast(Checker, _function(self._checkers, task.tolerance.policy))
        sitting = _Sitting(task, track, candidate, checker, _ignore)
        if refused := self._guard(sitting):
            return refused
        with ExitStack() as held:
            result = self._compiled(sitting, cases, held)
            outcome = result.outcome
        verdict = stopped(track, self._executor.tier, Stage.COMPILE, outcome, sitting.diagnostics, sitting.timings)
        return replace(verdict, metrics={"compiled": float(outcome is Outcome.OK)})

    def _assigned(self, executor: Judging, assignment: Assignment, on_stage: Callable[[Stage], None]) -> Verdict:
        """Boundary: what the executor's own judges say, or the fault that kept them from it."""
        on_stage(Stage.COMPILE)
        seen = attempt("judging elsewhere", lambda: executor.judge(assignment), self._settings.infra_retries)
        if isinstance(seen, Verdict):
            return seen
        return stopped(assignment.track, self.tier, Stage.COMPILE, Outcome.INFRA_ERROR, (seen.diagnostic,))

    def _level(self, verdict: Verdict) -> str:
        """What confined the candidate; nothing where none of it was compiled or the executor does not tell."""
        if verdict.outcome is Outcome.INFRA_ERROR or verdict.stage.order < Stage.COMPILE.order:
            return ""
        return self._executor.sandbox_level() if isinstance(self._executor, Confining) else ""

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
        tier, diagnostics = self._executor.tier, sitting.diagnostics
        with ExitStack() as held:
            result = self._compiled(sitting, cases, held)
            if result.artifact is None:
                return stopped(sitting.track, tier, Stage.COMPILE, result.outcome, diagnostics, sitting.timings)
            results = [self._case(sitting, one, result.artifact) for one in cases]
        return score(sitting.track, tier, results, diagnostics, sitting.timings)

    def _compiled(self, sitting: _Sitting, cases: Sequence[Case], held: ExitStack) -> CompileResult:
        """Compile the candidate; ``held`` releases what comes of it."""
        if sitting.track is Track.STATIC and len(cases) != 1:
            raise ValueError(f"the static track judges one case at a time, not {len(cases)}")
        case = cases[0] if sitting.track is Track.STATIC else None
        sitting.on_stage(Stage.COMPILE)
        request = CompileRequest(
            sitting.task, case, sitting.track, sitting.candidate, self._settings.compile_timeout_s, tuple(cases)
        )
        with sitting.timing("compile"):
            result = held.enter_context(compiled(self._executor, request, self._settings.infra_retries))
        sitting.diagnostics.extend(result.diagnostics)
        return result

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
        sitting.left_s = settings.run_timeout_s * _PATIENCE
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
        if proof := unexplained(sitting.task, case, seen.touched):
            diagnostics = (proof, *diagnostics)
            return CaseResult(case.id, Stage.CHECK, Outcome.CHEAT, diagnostics, found.metrics, seen.profile)
        little = little_work(sitting.task, case, seen.profile)
        if little is not None and not only_moves(sitting.task, request.inputs, reference):
            diagnostics, seen = (*diagnostics, little), replace(seen, diagnostics=(*seen.diagnostics, little))
        failed, depends, slowest = self._repeat(sitting, case, request, seen, reference)
        seen = replace(seen, profile=slowest)
        if failed := failed or self._vary(sitting, case, request, seen):
            return failed
        diagnostics += depends
        sitting.on_stage(Stage.PROFILE)
        metrics = {
            **found.metrics,
            **coverage(seen.touched, case),
            **profile_metrics(seen.profile),
            **self._speed_facts(sitting, case, seen),
        }
        return CaseResult(case.id, Stage.DONE, Outcome.OK, diagnostics, metrics, seen.profile)

    def _speed_facts(self, sitting: _Sitting, case: Case, seen: Observation) -> Mapping[str, float]:
        """What the time of a right kernel is compared with: the machine's bound, and the times of other kernels."""
        if seen.profile is None:
            return {}
        roof = self._executor.roof() if isinstance(self._executor, Roofed) else None
        model = self._executor.describe().get("time_model", "")
        return speed_facts(sitting.task, case, sitting.track, seen.profile.machine, roof, model=model)

    def _repeat(
        self, sitting: _Sitting, case: Case, request: RunRequest, seen: Observation, reference: Expected
    ) -> _Repeated:
        """Run a kernel that was right again, with other noise in memory.

        A device may add in any order; the twin adds in one, so that there every difference is the kernel's. Where a
        tiling function divides the work it is offered fewer cores, too, at the same time: mostly that changes no byte.
        """
        said: tuple[Diagnostic, ...] = ()
        slowest = seen.profile
        for repeat in range(1, self._settings.repeats + 1 if self._executor.tier is Tier.TWIN else 1):
            seed = derive(request.seed, "repeat", str(repeat))
            other = replace(request, seed=seed, repeat=repeat)
            fewer = None
            if sitting.track is Track.DYNAMIC:
                fewer = self._again(sitting, replace(other, fewer_cores=True), "repeat")
                if compare_runs(seen, fewer) is None:
                    continue
            again = self._again(sitting, other, "repeat")
            if infra := next((one for one in (fewer, again) if one and one.outcome is Outcome.INFRA_ERROR), None):
                return _Repeated(CaseResult(case.id, Stage.RUN, infra.outcome, infra.diagnostics))
            if unlike := compare_runs(seen, again):
                diagnostics = (unlike, *seen.diagnostics)
                outcome = Outcome.NONDETERMINISTIC
                return _Repeated(CaseResult(case.id, Stage.CHECK, outcome, diagnostics, {}, seen.profile))
            if slowest and again.profile and again.profile.time_us > slowest.time_us:
                slowest = again.profile
            if fewer is not None and (found := self._on_fewer_cores(sitting, case, request, fewer, reference)):
                said += (found,)
        return _Repeated(None, said, slowest)

    def _again(self, sitting: _Sitting, request: RunRequest, why: str) -> Observation:
        """Another run, in what is left of the time for all of them, and no less than the first one had."""
        before = sitting.timings[why]
        with sitting.timing(why):
            limited = replace(request, timeout_s=max(request.timeout_s, sitting.left_s))
            seen = run_case(self._executor, limited, self._settings.infra_retries)
        sitting.left_s -= sitting.timings[why] - before
        return seen

    def _on_fewer_cores(
        self, sitting: _Sitting, case: Case, request: RunRequest, fewer: Observation, reference: Expected
    ) -> Diagnostic | None:
        """What is wrong on fewer cores; nothing when the bytes are other ones but as near to the reference, or when the
        tiling function says that it cannot do with so few.
        """
        if fewer.outcome is Outcome.LAUNCH_ERROR:
            return None
        if fewer.outcome is not Outcome.OK:
            said = f" ({fewer.diagnostics[0].message})" if fewer.diagnostics else ""
            return depends_on_cores(f"{fewer.outcome.value}{said}")
        inputs, outputs = request.inputs, fewer.outputs
        found = compare(
            sitting.task, case, sitting.checker, outputs, reference, inputs=inputs, seed=request.seed, blocks=0
        )
        return None if found.outcome is Outcome.OK else depends_on_cores(found.outcome.value)  # no expected values

    def _vary(self, sitting: _Sitting, case: Case, request: RunRequest, seen: Observation) -> CaseResult | None:
        """Judge a kernel that was right on other inputs; a result if it is wrong there, None otherwise.

        Kernels that really compute the result pass; kernels that knew the values, or were lucky with them, do not.
        Variations have values of other classes, for which the limits were not chosen, so their limits are wider.
        Canaries, for suspicious kernels, are drawn like the case's own values and judged as strictly.
        """
        doubts = doubtful(sitting.task, case, (*sitting.diagnostics, *seen.diagnostics), seen.touched)
        often = self._executor.tier is Tier.TWIN and input_bytes(case) + output_bytes(case) <= _VARIED_BYTES
        loose = replace(sitting, checker=loosened(sitting.checker))
        for number in range(self._settings.variations if often else 0):
            other = varied(sitting.task, case, derive(self._settings.seed, "variation", str(number)))
            if failed := self._elsewhere(loose, other, request, seen, self._varied, doubts):
                return failed
        for number in range(self._settings.canaries if doubts else 0):
            data = CaseData(derive(self._settings.seed, "canary", str(number)))
            if failed := self._elsewhere(sitting, case, request, seen, data, doubts):
                return failed
        return None

    def _elsewhere(
        self,
        sitting: _Sitting,
        case: Case,
        request: RunRequest,
        seen: Observation,
        data: CaseData,
        doubts: Sequence[str],
    ) -> CaseResult | None:
        """A result if the kernel is wrong on ``case`` with the inputs of ``data``."""
        try:
            inputs, expected = data.inputs(sitting.task, case), data.expected(sitting.task, case)
        except Exception as error:  # noqa: BLE001 - boundary: inputs and reference are the task's
            return _fault(case, Stage.CHECK, error, "making other inputs", TASK_FAULT)
        other = replace(request, case=case, inputs=inputs, seed=derive(request.seed, "elsewhere", case.salt))
        again = self._again(sitting, other, "variation")
        if again.outcome is not Outcome.OK:
            diagnostics = (canary_failed(doubts), *again.diagnostics)
            return CaseResult(case.id, Stage.RUN, again.outcome, diagnostics, {}, seen.profile)
        found = compare(
            sitting.task, case, sitting.checker, again.outputs, expected, inputs=inputs, seed=other.seed, blocks=0
        )
        if found.outcome is Outcome.OK:
            return None
        same = compare_runs(seen, again) is None
        diagnostics = (canary_failed(doubts, same=same), *found.diagnostics)
        outcome = Outcome.CHEAT if same else found.outcome
        return CaseResult(case.id, Stage.CHECK, outcome, diagnostics, found.metrics, seen.profile)

    def _measured(self, verdict: Verdict) -> Verdict:
        """The verdict with every registered metric."""
        verdict = measured(verdict, self._metrics)
        if "impossible" not in verdict.metrics:
            return verdict
        return replace(verdict, diagnostics=(*verdict.diagnostics, IMPOSSIBLE))


class _Repeated(NamedTuple):
    """What other circumstances showed: a result if the kernel failed, and what is said of one that did not."""

    failed: CaseResult | None
    said: tuple[Diagnostic, ...] = ()
    slowest: Profile | None = None
    """Of the runs of this launch: what the kernel can make take longer is the time that it is credited with."""


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
    left_s: float = 0.0
    """For runs behind the first one of the case."""

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
