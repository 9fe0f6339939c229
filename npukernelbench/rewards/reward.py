"""The one scoring function: a verdict and a policy to a number. Pure; every adapter and every server uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npukernelbench.nouns import Outcome, Owner, Stage, Verdict
from npukernelbench.rewards.policy import RewardPolicy

__all__ = ["METRIC_NAMES", "Reward", "reward_of", "unjudged"]

#: The metrics of every reward, always all of them.
METRIC_NAMES = ("format", "compiled", "ran", "correct", "cases", "speed", "speedup", "cheat", "infra")


@dataclass(frozen=True, slots=True)
class Reward:
    """What one answer is worth. ``value`` is None when the fault is not the model's: it says nothing about it then.

    ``stage`` and ``outcome`` are the verdict's, ``fault`` who answers (:class:`~npukernelbench.nouns.Owner`; ``none``
    for a right kernel). ``metrics`` has the keys :data:`METRIC_NAMES`: shares and flags from 0 to 1, and ``speedup``,
    the policy's speed metric as it is (0 without one). ``message`` is the first error's, for logs and for repair.
    """

    value: float | None
    stage: Stage
    outcome: Outcome
    fault: Owner
    policy: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


def reward_of(verdict: Verdict, policy: RewardPolicy) -> Reward:
    """What ``verdict`` is worth under ``policy``."""
    right = verdict.outcome is Outcome.OK
    share = _share_of_cases(verdict)
    speed, speedup = _speed(verdict, policy) if right else (0.0, 0.0)
    judged = verdict.owner in (Owner.MODEL, Owner.NONE)
    value = None
    if judged:
        partly = 0.0 if right or verdict.outcome is Outcome.CHEAT else policy.cases * share
        value = policy.outcomes[verdict.outcome] + partly + speed
    metrics = {
        "format": float(judged and verdict.stage.order > Stage.EXTRACT.order),
        "compiled": float(judged and verdict.metrics.get("compiled", 0.0) > 0),
        "ran": float(judged and verdict.stage.order > Stage.RUN.order),
        "correct": float(right),
        "cases": share,
        "speed": speed / policy.speed.weight if policy.speed and policy.speed.weight else 0.0,
        "speedup": speedup,
        "cheat": float(verdict.outcome is Outcome.CHEAT),
        "infra": float(not judged),
    }
    return Reward(value, verdict.stage, verdict.outcome, verdict.owner, policy.label, metrics, _message(verdict))


def unjudged(policy: str, message: str) -> Reward:
    """What is known of an answer that never reached a judge: nothing."""
    metrics = {name: float(name == "infra") for name in METRIC_NAMES}
    return Reward(None, Stage.GUARD, Outcome.INFRA_ERROR, Owner.INFRA, policy, metrics, message)


def _share_of_cases(verdict: Verdict) -> float:
    total = verdict.metrics.get("cases_total", 0.0)
    return verdict.metrics.get("cases_passed", 0.0) / total if total else 0.0


def _speed(verdict: Verdict, policy: RewardPolicy) -> tuple[float, float]:
    """What speed adds, and the metric itself. An impossible time adds nothing: it is an error, not a success."""
    if policy.speed is None or policy.speed.metric not in verdict.metrics:
        return 0.0, 0.0
    value = verdict.metrics[policy.speed.metric]
    if verdict.metrics.get("impossible", 0.0):
        return 0.0, value
    return policy.speed.weight * policy.speed.share(value), value


def _message(verdict: Verdict) -> str:
    """The first error, else nothing."""
    if verdict.outcome is Outcome.OK:
        return ""
    notes = (*verdict.diagnostics, *(note for case in verdict.cases for note in case.diagnostics))
    return next((str(note.message) for note in notes if note.severity.value == "error"), verdict.outcome.meaning)
