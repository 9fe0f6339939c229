"""The one scoring function: a verdict and a policy to a number. Pure; every adapter and every server uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from npukernelbench.generate.telling import without_values
from npukernelbench.nouns import Outcome, Owner, Severity, Stage, Verdict
from npukernelbench.rewards.policy import RewardPolicy

__all__ = ["METRIC_NAMES", "Reward", "reward_of", "unjudged"]

#: The metrics of every reward, always all of them.
METRIC_NAMES = ("format", "compiled", "ran", "correct", "cases", "speed", "speedup", "cheat", "infra")


@dataclass(frozen=True, slots=True)
class Reward:
    """What one answer is worth. ``value`` is None when the fault is not the model's: it says nothing about it then.

    ``stage`` and ``outcome`` are the verdict's, ``fault`` who answers (:class:`~npukernelbench.nouns.Owner`; ``none``
    for a right kernel). ``metrics`` has the keys :data:`METRIC_NAMES`: shares and flags from 0 to 1, and ``speedup``,
    the policy's speed metric as it is (0 without one). ``message`` is the first error's, for logs and for repair,
    without expected values. ``seed`` is what the inputs were drawn from: with it ``npukb judge --seed`` judges the same
    again; None where equal code had been judged before.
    """

    value: float | None
    stage: Stage
    outcome: Outcome
    fault: Owner
    policy: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    seed: int | None = None


def reward_of(verdict: Verdict, policy: RewardPolicy, seed: int | None = None) -> Reward:
    """What ``verdict`` is worth under ``policy``; ``seed`` is what its inputs were drawn from."""
    right = verdict.outcome is Outcome.OK
    share = _share_of_cases(verdict)
    speed = _speed(verdict, policy) if right else _NO_SPEED
    judged = verdict.owner in (Owner.MODEL, Owner.NONE)
    value = None
    if judged:
        # What a cheat got right, its kernel did not compute.
        partly = 0.0 if right or verdict.outcome is Outcome.CHEAT else policy.cases * share
        value = policy.outcomes[verdict.outcome] + partly + speed.added
        if policy.empty is not None and wrote_nothing(verdict):
            # Never more than its outcome is worth: some outcomes are worse than nothing written.
            value = min(value, policy.empty)
    metrics = {
        "format": float(judged and verdict.stage.order > Stage.EXTRACT.order),
        "compiled": float(judged and verdict.metrics.get("compiled", 0.0) > 0),
        "ran": float(judged and verdict.stage.order > Stage.RUN.order),
        "correct": float(right),
        "cases": share,
        "speed": speed.share,
        "speedup": speed.value,
        "cheat": float(verdict.outcome is Outcome.CHEAT),
        "infra": float(not judged),
    }
    return Reward(value, verdict.stage, verdict.outcome, verdict.owner, policy.label, metrics, _message(verdict), seed)


def unjudged(policy: str, message: str) -> Reward:
    """What is known of an answer that never reached a judge: nothing."""
    metrics = {name: float(name == "infra") for name in METRIC_NAMES}
    return Reward(None, Stage.GUARD, Outcome.INFRA_ERROR, Owner.INFRA, policy, metrics, message)


def _share_of_cases(verdict: Verdict) -> float:
    total = verdict.metrics.get("cases_total", 0.0)
    return verdict.metrics.get("cases_passed", 0.0) / total if total else 0.0


def wrote_nothing(verdict: Verdict) -> bool:
    """Whether no case that ran found an element written: such a kernel only has the form of one."""
    ran = [case for case in verdict.cases if case.outcome is not Outcome.SKIPPED]
    return bool(ran) and all(any(note.details.get("untouched") for note in case.diagnostics) for case in ran)


class _Speed(NamedTuple):
    """What speed adds, where it lies between the marks, and the metric itself."""

    added: float
    share: float
    value: float


_NO_SPEED = _Speed(0.0, 0.0, 0.0)


def _speed(verdict: Verdict, policy: RewardPolicy) -> _Speed:
    """Of the first term whose metric is known. An impossible time adds nothing: it is an error, not a success."""
    term = next((term for term in policy.speed if term.metric in verdict.metrics), None)
    if term is None:
        return _NO_SPEED
    value = verdict.metrics[term.metric]
    if verdict.metrics.get("impossible", 0.0):
        return _Speed(0.0, 0.0, value)
    share = term.share(value)
    return _Speed(term.weight * share, share, value)


def _message(verdict: Verdict) -> str:
    """The first error, else nothing."""
    if verdict.outcome is Outcome.OK:
        return ""
    notes = (*verdict.diagnostics, *(note for case in verdict.cases for note in case.diagnostics))
    return next((without_values(note) for note in notes if note.severity is Severity.ERROR), verdict.outcome.meaning)
