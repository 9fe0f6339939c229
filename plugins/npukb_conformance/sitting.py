"""Judging the operators of a checkout, one after the other or several at a time, each case on disk as soon as known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from npukb_conformance.checkout import Checkout, Operator, Variant
from npukb_conformance.dispatch import Dispatch, as_judged, as_launched, with_limits
from npukb_conformance.record import CaseRecord, CompileRecord, Records
from npukb_conformance.scale import Scaled
from npukb_conformance.verified import Condition, Verification
from npukernelbench.judge.executor import Executor
from npukernelbench.judge.pipeline import Judge
from npukernelbench.nouns.execution import Allocation, Artifact, CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Severity, Track
from npukernelbench.nouns.sample import Candidate, Verdict
from npukernelbench.nouns.task import Case, Task, TensorShape
from npukernelbench.run.selective import Selective

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array
    from npukernelbench.tasks import Selected, TaskRegistry

__all__ = ["OperatorResult", "Planned", "Remembering", "plan", "sit"]


@dataclass(frozen=True, slots=True)
class Planned:
    """One operator to judge: its task with the cases that reach its kernel, already scaled, and why others do not.

    ``candidate`` is None where the checkout has no such variant; ``refused`` says why an executor cannot take the task.
    """

    operator: Operator
    task: Task
    candidate: Candidate | None
    cases: tuple[Scaled, ...] = ()
    kept_back: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True, slots=True)
class OperatorResult:
    """What came of one operator. ``compiled`` is None when it was not tried; ``cases`` are in the task's order."""

    planned: Planned
    compiled: CompileRecord | None
    cases: tuple[CaseRecord, ...] = ()

    @property
    def compiles(self) -> bool:
        """Whether an artifact came out."""
        return self.compiled is not None and self.compiled.verdict.outcome is Outcome.OK

    @property
    def passed(self) -> int:
        """How many cases are right."""
        return sum(case.passed for case in self.cases)

    @property
    def conceded(self) -> tuple[CaseRecord, ...]:
        """The cases that are right only under conditions of the suite's."""
        return tuple(case for case in self.cases if case.passed and case.conceded)

    @property
    def passes(self) -> bool:
        """Whether it compiles and every case that reaches the kernel is right, of which there is at least one."""
        return self.compiles and bool(self.cases) and self.passed == len(self.planned.cases)


class Remembering:
    """An executor that compiles equal requests once, so that each case can be judged, and stored, by itself.

    Kernels get the outputs that the repository's interface allocates; what comes back is cut to those of the task.
    ``pooled`` is the same executor, with the same results, whose kernels run in memory as frameworks allocate it.
    """

    def __init__(self, executor: Executor, dispatch: Dispatch) -> None:
        self._executor = executor
        self._dispatch = dispatch
        self.Args = executor.Args
        self.name = executor.name
        self.tier = executor.tier
        self.tracks = executor.tracks
        self._results: dict[tuple[str, str], CompileResult] = {}
        self._lock = Lock()
        self._allocation = Allocation.EXACT

    def pooled(self) -> Remembering:
        """This executor, in memory as frameworks allocate it."""
        # Shallow: both share what was compiled.
        other = copy(self)
        other._allocation = Allocation.POOLED
        return other

    def describe(self) -> Mapping[str, str]:
        """Those of the executor."""
        return self._executor.describe()

    def compile(self, request: CompileRequest) -> CompileResult:
        """The executor's result, or the remembered one. Faults of the executor are not remembered."""
        place = (request.task.name, request.candidate.hash)
        rule = self._dispatch.rule(request.task.name)
        # All cases of the task, whichever is judged: equal requests then have equal builds.
        request = replace(request, cases=tuple(as_launched(case, rule) for case in request.task.cases))
        with self._lock:
            known = self._results.get(place)
        if known is not None:
            return replace(known, seconds=0.0)
        # Outside of the lock: operators are compiled side by side.
        result = self._executor.compile(request)
        if result.outcome is not Outcome.INFRA_ERROR:
            with self._lock:
                self._results[place] = result
        return result

    def run(self, request: RunRequest) -> Observation:
        """The executor's, on the outputs that the repository's interface allocates."""
        request = replace(request, allocation=self._allocation)
        launched = as_launched(request.case, self._dispatch.rule(request.task.name))
        if launched is request.case:
            return self._executor.run(request)
        seen = self._executor.run(replace(request, case=launched))
        return replace(seen, outputs={name: _as_declared(request, name, value) for name, value in seen.outputs.items()})

    def release(self, artifact: Artifact) -> None:
        """Nothing: the next case of the operator needs it. :meth:`forget` gives it back after the last one."""

    def forget(self, task: Task, candidate: Candidate) -> None:
        """Give back what was compiled for a task."""
        with self._lock:
            known = self._results.pop((task.name, candidate.hash), None)
        if known is not None and known.artifact is not None:
            self._executor.release(known.artifact)

    def close(self) -> None:
        """Nothing: the executor belongs to the caller."""

    def key(self, task: Task, candidate: Candidate) -> str:
        """The key of what was compiled, together with the task it is judged as; empty when nothing was."""
        result = self._results.get((task.name, candidate.hash))
        if result is None or result.artifact is None:
            return ""
        # A changed rule changes what is judged, though neither kernel nor task did.
        rule = sha256(self._dispatch.rule(task.name).model_dump_json().encode()).hexdigest()[:16]
        return f"{result.artifact.key}/{task.content_hash}/{rule}"


def _as_declared(request: RunRequest, name: str, value: Array | list[Array]) -> Array | list[Array]:
    """An output as the task declares it: nothing of one that it leaves empty, the real part of complex numbers."""
    declared = request.case.outputs[name]
    if isinstance(value, list) or not isinstance(declared, TensorShape):
        return value
    # Room that the interface allocates for an output that the task leaves empty.
    if value.size != declared.size:
        return value.reshape(-1)[:0].reshape(declared.shape)
    return value.real if value.dtype.kind == "c" and not declared.dtype.is_complex else value


def plan(
    checkout: Checkout,
    tasks: TaskRegistry,
    selected: Sequence[Selected],
    *,
    dispatch: Dispatch,
    variant: Variant,
    most_cases: int | None = None,
    executor: object = None,
) -> tuple[Planned, ...]:
    """What to judge: the operators of the checkout whose tasks are selected, in the checkout's order."""
    chosen = {entry.task.name: entry for entry in selected}
    planned: list[Planned] = []
    for operator in checkout.operators:
        wanted = chosen.get(tasks[operator.name].name) if operator.name in tasks else None
        if wanted is None:
            continue
        refused = executor.refuses(wanted.task, Track.DYNAMIC) if isinstance(executor, Selective) else None
        candidate = checkout.gather(operator, variant)
        sent = dispatch.send(wanted.task, wanted.cases)
        rule = dispatch.rule(wanted.task.name)
        cases = tuple(as_judged(wanted.task, case, rule) for case in sent.cases[:most_cases])
        task = with_limits(replace(wanted.task, cases=tuple(scaled.case for scaled in cases)), rule)
        planned.append(Planned(operator, task, candidate, cases, sent.kept_back, refused or ""))
    return tuple(planned)


def sit(
    planned: Sequence[Planned],
    *,
    judge: Callable[[Executor], Judge],
    dispatch: Dispatch,
    verification: Verification,
    executor: Executor,
    records: Records,
    variant: Variant,
    compile_only: bool = False,
    jobs: int = 1,
    on_case: Callable[[CaseRecord], None] = lambda _: None,
) -> Iterator[OperatorResult]:
    """Judge what is planned, ``jobs`` operators at a time, and yield the results in the order of ``planned``.

    A case that misses is judged again under the conditions of the suite's that may explain it (``verification``).
    Cases that ``records`` knows are not judged again; faults of ours are.
    """
    remembering = Remembering(executor, dispatch)
    # Two judges over one memory: what compiles for one is compiled for the other.
    judges = judge(remembering), judge(remembering.pooled())
    conditions = _Conditions(*judges, dispatch, verification)
    bench = _Bench(conditions, remembering, records, variant, compile_only, on_case)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        waiting = [pool.submit(bench.operator, entry) for entry in planned]
        try:
            # In their order, although they end in another: a finished operator waits for those before it.
            for done in waiting:
                yield done.result()
        finally:
            # Whoever stops taking results wants no more of them judged.
            for future in waiting:
                future.cancel()


class _Judged(NamedTuple):
    """A case's verdict, the conditions of the suite's that it needed, and what came of it without them."""

    verdict: Verdict
    conceded: str = ""
    strict: str = ""


@dataclass(frozen=True, slots=True)
class _Conditions:
    """Judging a case under our conditions, then under those of the suite's that may explain a miss. ``pooled`` judges
    in memory as frameworks allocate it.
    """

    exact: Judge
    pooled: Judge
    dispatch: Dispatch
    verification: Verification

    def key(self, task: Task) -> str:
        """What judging an operator depends on besides its rule."""
        return sha256(self.verification.digest(task).encode()).hexdigest()[:8]

    def judge(self, planned: Planned, candidate: Candidate, case: Case) -> _Judged:
        """The verdict under our conditions, unless the case passes only under others."""
        rule = self.dispatch.rule(planned.task.name)
        strict = verdict = self.exact.judge(planned.task, (case,), Track.DYNAMIC, candidate)
        taken: tuple[Condition, ...] = ()
        while (condition := self.verification.next(verdict, case, rule, planned.task, taken)) is not None:
            taken = (*taken, condition)
            task, arranged = self.verification.arrange(planned.task, case, rule, taken)
            judge = self.pooled if Condition.MEMORY in taken else self.exact
            verdict = judge.judge(task, (arranged,), Track.DYNAMIC, candidate)
        # What fails under all conditions is told as it failed under our own.
        if not taken or verdict.outcome is not Outcome.OK:
            return _Judged(strict)
        return _Judged(verdict, ", ".join(condition.value for condition in taken), _first_error(strict))


@dataclass(frozen=True, slots=True)
class _Bench:
    """What judging an operator needs."""

    conditions: _Conditions
    executor: Remembering
    records: Records
    variant: Variant
    compile_only: bool
    on_case: Callable[[CaseRecord], None]

    def operator(self, planned: Planned) -> OperatorResult:
        """Compile, then case by case."""
        candidate = planned.candidate
        if candidate is None or planned.refused:
            return OperatorResult(planned, None)
        try:
            return self._judged(planned, candidate)
        finally:
            # Otherwise the artifacts of all operators would stay until the end.
            self.executor.forget(planned.task, candidate)

    def _judged(self, planned: Planned, candidate: Candidate) -> OperatorResult:
        task = planned.task
        # Without cases it is guarded and compiled, no more.
        verdict = self.conditions.exact.judge(task, (), Track.DYNAMIC, candidate)
        key = self.executor.key(task, candidate)
        key = f"{key}/{self.conditions.key(task)}" if key else ""
        compiled = CompileRecord(task.name, self.variant.value, key, verdict)
        self.records.add(compiled)
        if verdict.outcome is not Outcome.OK or self.compile_only:
            return OperatorResult(planned, compiled)
        cases = tuple(self._case(planned, candidate, key, scaled) for scaled in planned.cases)
        return OperatorResult(planned, compiled, cases)

    def _case(self, planned: Planned, candidate: Candidate, key: str, scaled: Scaled) -> CaseRecord:
        """The record of one case, from the file if it is there."""
        task, case = planned.task, scaled.case
        # Part of what a record is found by: a case that is cut otherwise is another one.
        cut = f"{_text(scaled.before)} to {_text(scaled.after)}" if scaled.is_smaller else ""
        known = self.records.find(operator=task.name, variant=self.variant.value, key=key, case=case.id, scaled=cut)
        # A fault of ours says nothing about the kernel, and may be gone now.
        if known is None or known.verdict.outcome is Outcome.INFRA_ERROR:
            judged = self.conditions.judge(planned, candidate, case)
            known = CaseRecord(task.name, self.variant.value, key, case.id, cut, *judged)
            self.records.add(known)
        self.on_case(known)
        return known


def _first_error(verdict: Verdict) -> str:
    """The outcome and what was said about it first."""
    every = (*(diagnostic for case in verdict.cases for diagnostic in case.diagnostics), *verdict.diagnostics)
    said = next(
        (diagnostic.message.splitlines()[0] for diagnostic in every if diagnostic.severity is Severity.ERROR), ""
    )
    return f"{verdict.outcome.value}: {said}"


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(str(extent) for extent in shape)
