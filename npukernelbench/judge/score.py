"""The score stage: from case results to one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npukernelbench.judge.check import METRICS
from npukernelbench.judge.profile import TIMES
from npukernelbench.nouns import CaseResult, Diagnostic, Outcome, Owner, Stage, Tier, Track, Verdict

__all__ = ["TASK_FAULT", "score", "stopped"]

#: Rule of the diagnostic that makes the task, not the infrastructure, answer for an ``infra_error``.
TASK_FAULT = "task_error"

_SMALLEST = frozenset({"pcl_pass", "cann_pass"})


def stopped(
    track: Track,
    tier: Tier,
    stage: Stage,
    outcome: Outcome,
    diagnostics: Sequence[Diagnostic] = (),
    timings: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on a sample that ended at ``stage``, before any case was run."""
    metrics = {"compiled": 0.0, "correct": 0.0}
    owner = owner_of(outcome, diagnostics)
    return Verdict(track, tier, stage, outcome, owner, (), tuple(diagnostics), metrics, timings or {})


def score(
    track: Track,
    tier: Tier,
    cases: Sequence[CaseResult],
    diagnostics: Sequence[Diagnostic],
    timings: Mapping[str, float],
) -> Verdict:
    """The verdict on a compiled candidate: that of the first case that failed, OK when none did."""
    decisive = next((case for case in cases if case.outcome is not Outcome.OK), None)
    metrics = _totals(cases)
    if decisive is None:
        return Verdict(
            track, tier, Stage.DONE, Outcome.OK, Owner.NONE, tuple(cases), tuple(diagnostics), metrics, timings
        )
    owner = owner_of(decisive.outcome, decisive.diagnostics)
    return Verdict(
        track, tier, decisive.stage, decisive.outcome, owner, tuple(cases), tuple(diagnostics), metrics, timings
    )


def owner_of(outcome: Outcome, diagnostics: Sequence[Diagnostic]) -> Owner:
    """Who answers: the outcome's owner, but the task where its own definition or reference failed."""
    if outcome is Outcome.INFRA_ERROR and any(diagnostic.rule == TASK_FAULT for diagnostic in diagnostics):
        return Owner.TASK
    return outcome.owner


def _totals(cases: Sequence[CaseResult]) -> dict[str, float]:
    """Metrics of the sample: errors by their worst case; times by their sum, and only when every case passed."""
    passed = sum(case.outcome is Outcome.OK for case in cases)
    correct = passed == len(cases)
    metrics = {
        "compiled": 1.0,
        "correct": float(correct),
        "cases_passed": float(passed),
        "cases_total": float(len(cases)),
    }
    for name in METRICS:
        values = [case.metrics[name] for case in cases if name in case.metrics]
        if values:
            metrics[name] = min(values) if name in _SMALLEST else max(values)
    for name in TIMES:
        values = [case.metrics[name] for case in cases if name in case.metrics]
        if correct and values:
            metrics[name] = sum(values)
    return metrics
