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
from npukernelbench.generate.extract import candidate_of
from npukernelbench.generate.starting import start_files
from npukernelbench.judge.beaten import IMPOSSIBLE, Faults, is_near
from npukernelbench.judge.boundary import attempt, fault_of
from npukernelbench.judge.check import Checker, loosened
from npukernelbench.judge.compare import compare
from npukernelbench.judge.compile import compiled
from npukernelbench.judge.data import CaseData
from npukernelbench.judge.documented import Documented
from npukernelbench.judge.executor import Assignment, Confining, Executor, Judging
from npukernelbench.judge.guard import Guard, has_source
from npukernelbench.judge.metrics import load_metrics, measured
from npukernelbench.judge.once import JudgedOnce
from npukernelbench.judge.profile import profile_metrics
from npukernelbench.judge.provenance import canary_failed, coverage, doubtful, unexplained
from npukernelbench.judge.repeat import compare_runs, depends_on_cores
from npukernelbench.judge.roofline import Roofed
from npukernelbench.judge.run import run_case
from npukernelbench.judge.score import TASK_FAULT, score, stopped
from npukernelbench.judge.settings import JudgeSettings
from npukernelbench.judge.speed import BOUND_US, START_US, speed_facts
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
#: Wrong kernels are looked at again on cases of up to this size.
_NAMED_BYTES = 64 << 20
#: How often its limit a kernel may take for all runs behind the first, together: the machine may be busier than before,
#: and a kernel is not rejected for it.
_PATIENCE = 8
#: Kernels that tasks of optimisation begin with, whose verdicts are remembered.
_STARTS = 1024


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
        faults: Faults | None = None,
    ) -> None:
        """``faults`` keeps what shows that the time model is wrong; without it that is only said."""
        self._executor = executor
        self._checkers = checkers
        # Loaded now, so that a broken guard is told before the first candidate; sorted, so that notes have one order.
        self._guards = tuple((name, _function(guards, name)) for name in sorted(guards))
        self._metrics = load_metrics(metrics)
        self._settings = settings
        self._faults = faults or Faults()
        # Apart, so that inputs of variations do not drop those of the cases.
        self._data, self._varied = CaseData(), CaseData()
        self._starts = JudgedOnce(_STARTS)

    @classmethod
    def of(cls, executor: Executor, plugins: Plugins, settings: JudgeSettings, faults: Faults | None = None) -> Judge:
        """A judge with everything that plugins offer."""
        return cls(
            executor,
            checkers=plugins.checkers,
            guards=plugins.guards,
            metrics=plugins.metrics,
            settings=settings,
            faults=faults,
        )

    @property
    def tier(self) -> Tier:
        """What proves this judge's results."""
        return self._executor.tier

    @property
    def executor(self) -> Executor:
        """What compiles and runs for it."""
        return self._executor

    @property
    def documented(self) -> Documented | None:
        """The executor as far as it documents its interface."""
        return self._executor if isinstance(self._executor, Documented) else None

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
        seed: int | None = None,
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Verdict:
        """The verdict on ``candidate`` over ``cases``; on the static track there is exactly one case.

        ``seed`` takes the place of that of the settings. ``on_stage`` is told each stage as it begins, in the calling
        thread. Never raises for a candidate's fault.
        """
        settings = self._settings if seed is None else replace(self._settings, seed=seed)
        if isinstance(self._executor, Judging):
            assignment = Assignment(settings, task, cases, track, candidate)
            # With metrics and sandbox already: a judge elsewhere has made this verdict.
            verdict = self._assigned(self._executor, assignment, on_stage or _ignore)
        else:
            checker = cast(Checker, _function(self._checkers, task.tolerance.policy))
            sitting = _Sitting(task, track, candidate, checker, on_stage or _ignore, settings.seed)
            verdict = self._guard(sitting) or self._compile(sitting, cases)
            verdict = measured(replace(verdict, sandbox=self._level(verdict)), self._metrics)
        model = self._executor.describe().get("time_model", "")
        said = self._faults.report(task, track, candidate, verdict, settings, model)
        if said is None:
            return verdict
        others = (diagnostic for diagnostic in verdict.diagnostics if diagnostic.rule != IMPOSSIBLE)  # a node's own
        return replace(verdict, diagnostics=(*others, said))

    def check(self, task: Task, cases: Sequence[Case], track: Track, candidate: Candidate) -> Verdict:
        """The verdict on ``candidate`` up to its compilation: ``OK`` at the stage ``COMPILE`` says that it compiles."""
        if isinstance(self._executor, Judging):
            assignment = Assignment(self._settings, task, cases, track, candidate, compile_only=True)
            return self._assigned(self._executor, assignment, _ignore)
        checker = cast(Checker, _function(self._checkers, task.tolerance.policy))
        sitting = _Sitting(task, track, candidate, checker, _ignore, self._settings.seed)
        if refused := self._guard(sitting):
            return refused
        with ExitStack() as held:
            result = self._compiled(sitting, cases, held)
            outcome = result.outcome
        verdict = stopped(track, self._executor.tier, Stage.COMPILE, outcome, sitting.diagnostics, sitting.timings)
        return replace(verdict, metrics={"compiled": float(outcome is Outcome.OK)})

    def _assigned(self, executor: Judging, assignment: Assignment, on_stage: Callable[[Stage], None]) -> Verdict:
        """Boundary: what the executor's own judges say, or the fault that kept them from it."""
        # A judge elsewhere does not say where it is, so that one stage stands for all.
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
        diagnostics: list[Diagnostic] = []
        for name, guard in self._guards:
            try:
                diagnostics.extend(cast(Guard, guard)(candidate, sitting.task))
            except Exception as error:  # noqa: BLE001 - boundary: a guard's bug is no candidate's fault
                fault = fault_of(error, f"the guard '{name}'")
                return stopped(sitting.track, tier, Stage.GUARD, Outcome.INFRA_ERROR, (fault.diagnostic,))
        sitting.diagnostics.extend(diagnostics)
        if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
            return stopped(sitting.track, tier, Stage.GUARD, Outcome.GUARD_REJECTED, diagnostics)
        return None

    def _compile(self, sitting: _Sitting, cases: Sequence[Case]) -> Verdict:
        """Compile and judge every case."""
        tier, diagnostics = self._executor.tier, sitting.diagnostics
        with ExitStack() as held:
            result = self._compiled(sitting, cases, held)
            if result.artifact is None:
                return stopped(sitting.track, tier, Stage.COMPILE, result.outcome, diagnostics, sitting.timings)
            results = [self._case(sitting, case, result.artifact) for case in cases]
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
                inputs = self._data.inputs(task, case, sitting.seed)
        except Exception as error:  # noqa: BLE001 - boundary: inputs are the task's
            return _fault(case, Stage.RUN, error, "making the inputs", TASK_FAULT)
        seed = derive(sitting.seed, "run", task.name, case.id)
        sitting.left_s = settings.run_timeout_s * _PATIENCE
        order = derive(seed, "order")
        request = RunRequest(task, case, artifact, inputs, seed, settings.run_timeout_s, order=order)
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
            return self._data.expected(sitting.task, case, sitting.seed)

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
                comparison = compare(
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
        diagnostics = (*comparison.diagnostics, *seen.diagnostics)
        if comparison.outcome is not Outcome.OK:
            diagnostics = (*comparison.diagnostics, *self._named(sitting, request, seen))
            return CaseResult(case.id, Stage.CHECK, comparison.outcome, diagnostics, comparison.metrics, seen.profile)
        # Before the other runs: the evidence is complete without them.
        if proof := unexplained(sitting.task, case, seen.touched):
            diagnostics = (proof, *diagnostics)
            return CaseResult(case.id, Stage.CHECK, Outcome.CHEAT, diagnostics, comparison.metrics, seen.profile)
        little = little_work(sitting.task, case, seen.profile)
        # `only_moves` goes last, since it looks for every output value among the inputs. The warning enters `seen`
        # as well, because `doubtful` reads it there and asks for canaries.
        if little is not None and not only_moves(sitting.task, request.inputs, reference):
            diagnostics, seen = (*diagnostics, little), replace(seen, diagnostics=(*seen.diagnostics, little))
        failed, depends, slowest = self._repeat(sitting, case, request, seen, reference)
        seen = replace(seen, profile=slowest)
        try:
            facts = self._speed_facts(sitting, case, seen)
        except TaskError as error:
            return _fault(case, Stage.PROFILE, error, "timing the kernel that the task begins with", TASK_FAULT)
        failed = failed or self._doubted(sitting, case, request, seen, facts.get(BOUND_US))
        if failed := failed or self._vary(sitting, case, request, seen):
            return failed
        diagnostics += depends
        sitting.on_stage(Stage.PROFILE)
        metrics = {**comparison.metrics, **coverage(seen.touched, case), **profile_metrics(seen.profile), **facts}
        return CaseResult(case.id, Stage.DONE, Outcome.OK, diagnostics, metrics, seen.profile)

    def _speed_facts(self, sitting: _Sitting, case: Case, seen: Observation) -> Mapping[str, float]:
        """What the time of a right kernel is compared with: the machine's bound, and the times of other kernels."""
        if seen.profile is None:
            return {}
        roof = self._executor.roof() if isinstance(self._executor, Roofed) else None
        model = self._executor.describe().get("time_model", "")
        facts = speed_facts(sitting.task, case, sitting.track, seen.profile.machine, roof, model=model)
        return {**facts, START_US: self._start_us(sitting, case)} if sitting.task.start else facts

    def _start_us(self, sitting: _Sitting, case: Case) -> float:
        """The time of the kernel that a task of optimisation begins with. It is judged like any other, once; TaskError
        where it is not right.
        """
        task, track = sitting.task, sitting.track
        # With its start, judging the start would ask for its own time again, without end.
        plain = replace(task, start=())
        verdict, _ = self._starts.verdict(
            # With the salt, as hidden cases of other secrets have the same ids.
            (task.name, case.id, case.salt, track),
            lambda: self.judge(plain, (case,), track, candidate_of(start_files(task, case, track)), seed=sitting.seed),
        )
        profile = verdict.cases[0].profile if verdict.outcome is Outcome.OK else None
        if profile is None:
            said = next((diagnostic.message for diagnostic in verdict.diagnostics), "")
            raise TaskError(f"the kernel that {task.name} begins with: {verdict.outcome.value} {said}".rstrip())
        return profile.time_us

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
            if not sitting.track.per_case:
                fewer = self._again(sitting, replace(other, fewer_cores=True), "repeat")
                if compare_runs(seen, fewer) is None:
                    continue
            again = self._again(sitting, other, "repeat")
            # Before the comparison, which would take a fault of the executor for another ending of the kernel.
            if infra := next(
                (
                    observation
                    for observation in (fewer, again)
                    if observation and observation.outcome is Outcome.INFRA_ERROR
                ),
                None,
            ):
                return _Repeated(CaseResult(case.id, Stage.RUN, infra.outcome, infra.diagnostics))
            if unlike := compare_runs(seen, again):
                diagnostics = (unlike, *self._named(sitting, request, seen))
                outcome = Outcome.NONDETERMINISTIC
                return _Repeated(CaseResult(case.id, Stage.CHECK, outcome, diagnostics, {}, seen.profile))
            # Runs on fewer cores do not count: they may take longer for that reason alone.
            if slowest and again.profile and again.profile.time_us > slowest.time_us:
                slowest = again.profile
            if fewer is not None and (diagnostic := self._on_fewer_cores(sitting, case, request, fewer, reference)):
                said += (diagnostic,)
        return _Repeated(None, said, slowest)

    def _doubted(
        self, sitting: _Sitting, case: Case, request: RunRequest, seen: Observation, bound_us: float | None
    ) -> CaseResult | None:
        """A result if a kernel that comes near what the machine can do breaks a rule under every check there is."""
        if seen.profile is None or not seen.profile.predicted or not is_near(seen.profile.time_us, bound_us):
            return None
        again = self._again(sitting, replace(request, thorough=True), "thorough")
        if again.outcome is not Outcome.OK:
            return CaseResult(case.id, Stage.RUN, again.outcome, again.diagnostics, {}, seen.profile)
        if unlike := compare_runs(seen, again):
            diagnostics = (unlike, *seen.diagnostics)
            return CaseResult(case.id, Stage.CHECK, Outcome.NONDETERMINISTIC, diagnostics, {}, seen.profile)
        return None

    def _named(self, sitting: _Sitting, request: RunRequest, seen: Observation) -> tuple[Diagnostic, ...]:
        """What was said of a kernel whose values are wrong, and what every check there is says of it: mostly the cause.

        The largest cases are not run again: a wrong kernel is not worth that much time.
        """
        case = request.case
        if self._executor.tier is not Tier.TWIN or input_bytes(case) + output_bytes(case) > _NAMED_BYTES:
            return seen.diagnostics
        again = self._again(sitting, replace(request, thorough=True), "thorough")
        known = {(diagnostic.rule, diagnostic.file, diagnostic.line) for diagnostic in seen.diagnostics}
        new = [
            diagnostic
            for diagnostic in again.diagnostics
            if (diagnostic.rule, diagnostic.file, diagnostic.line) not in known
        ]
        return (*new, *seen.diagnostics)

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
        comparison = compare(
            sitting.task, case, sitting.checker, outputs, reference, inputs=inputs, seed=request.seed, blocks=0
        )
        return (
            None if comparison.outcome is Outcome.OK else depends_on_cores(comparison.outcome.value)
        )  # no expected values

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
            other = varied(sitting.task, case, derive(sitting.seed, "variation", str(number)))
            drawn = _Drawn(other, self._varied, derive(sitting.seed, "variations"))
            if failed := self._elsewhere(loose, drawn, request, seen, doubts):
                return failed
        for number in range(self._settings.canaries if doubts else 0):
            # In a cache that goes at once: kept, these inputs would drop what all candidates share.
            drawn = _Drawn(case, CaseData(), derive(sitting.seed, "canary", str(number)))
            if failed := self._elsewhere(sitting, drawn, request, seen, doubts):
                return failed
        return None

    def _elsewhere(
        self, sitting: _Sitting, drawn: _Drawn, request: RunRequest, seen: Observation, doubts: Sequence[str]
    ) -> CaseResult | None:
        """A result if the kernel is wrong on the inputs that are ``drawn``."""
        case, data, seed = drawn
        try:
            inputs, expected = data.inputs(sitting.task, case, seed), data.expected(sitting.task, case, seed)
        except Exception as error:  # noqa: BLE001 - boundary: inputs and reference are the task's
            return _fault(case, Stage.CHECK, error, "making other inputs", TASK_FAULT)
        # `origin` derives the same seed to run a failed variation again: change both together.
        other = replace(request, case=case, inputs=inputs, seed=derive(request.seed, "elsewhere", case.salt))
        again = self._again(sitting, other, "variation")
        if again.outcome is not Outcome.OK:
            diagnostics = (canary_failed(doubts), *again.diagnostics)
            return CaseResult(case.id, Stage.RUN, again.outcome, diagnostics, {}, seen.profile)
        comparison = compare(
            sitting.task, case, sitting.checker, again.outputs, expected, inputs=inputs, seed=other.seed, blocks=0
        )
        if comparison.outcome is Outcome.OK:
            return None
        same = compare_runs(seen, again) is None
        named = () if same else self._named(sitting, other, again)
        diagnostics = (canary_failed(doubts, same=same), *comparison.diagnostics, *named)
        outcome = Outcome.CHEAT if same else comparison.outcome
        return CaseResult(case.id, Stage.CHECK, outcome, diagnostics, comparison.metrics, seen.profile)


class _Drawn(NamedTuple):
    """Inputs to judge on: whose, where they are kept, and the seed that they are drawn from."""

    case: Case
    data: CaseData
    seed: int


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
    seed: int
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
