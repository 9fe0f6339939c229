"""From an answer to a verdict: what a strategy made of it is judged, or the sample ends where nothing could be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from npukernelbench.generate.strategy import Made
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import Candidate, Outcome, Tier, Track, Verdict

__all__ = ["judge_made"]


def judge_made(made: Made, track: Track, tier: Tier, judge: Callable[[Candidate], Verdict]) -> Verdict:
    """The verdict of ``judge`` on the candidate, with what the strategy has to say of it."""
    if made.outcome is not Outcome.OK or made.candidate is None:
        return stopped(track, tier, made.stage, made.outcome, made.diagnostics)
    verdict = judge(made.candidate)
    diagnostics, metrics = (*verdict.diagnostics, *made.diagnostics), {**verdict.metrics, **made.metrics}
    return replace(verdict, diagnostics=diagnostics, metrics=metrics)
