"""The score stage: from case results to one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from npukernelbench.nouns import CaseResult, Diagnostic, Outcome, Owner, Stage, Tier, Track, Verdict

__all__ = ["TASK_FAULT", "score", "stopped"]

#: Rule of the diagnostic that makes the task, not the infrastructure, answer for an ``infra_error``.
TASK_FAULT = "task_error"

#: What the metrics of these names say of every sample that no judge sees, because it holds no kernel.
_STOPPED: Mapping[str, float] = MappingProxyType({"compiled": 0.0, "correct": 0.0})


def stopped(
    track: Track,
    tier: Tier,
    stage: Stage,
    outcome: Outcome,
    diagnostics: Sequence[Diagnostic] = (),
    timings: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on a sample that ended at ``stage``, before any case was run."""
    owner = owner_of(outcome, diagnostics)
    return Verdict(track, tier, stage, outcome, owner, (), tuple(diagnostics), _STOPPED, timings or {})


def score(
    track: Track,
    tier: Tier,
    cases: Sequence[CaseResult],
    diagnostics: Sequence[Diagnostic],
    timings: Mapping[str, float],
) -> Verdict:
    """The verdict on a compiled candidate, without metrics: that of the first case that failed, OK when none did."""
    decisive = next((case for case in cases if case.outcome is not Outcome.OK), None)
    stage, outcome, owner = Stage.DONE, Outcome.OK, Owner.NONE
    if decisive is not None:
        stage, outcome = decisive.stage, decisive.outcome
        owner = owner_of(outcome, decisive.diagnostics)
    return Verdict(track, tier, stage, outcome, owner, tuple(cases), tuple(diagnostics), timings=timings)


def owner_of(outcome: Outcome, diagnostics: Sequence[Diagnostic]) -> Owner:
    """Who answers: the outcome's owner, but the task where its own definition or reference failed."""
    if outcome is Outcome.INFRA_ERROR and any(diagnostic.rule == TASK_FAULT for diagnostic in diagnostics):
        return Owner.TASK
    return outcome.owner
