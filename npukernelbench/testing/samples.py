"""Judged samples of a run that never took place, for tests of reports."""

from __future__ import annotations

from collections.abc import Mapping

from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Stage, Tier, Track
from npukernelbench.nouns.sample import CaseResult, Prompt, Sample, SampleKey, Verdict

__all__ = ["judged_sample"]

#: Where a sample of this outcome ends; all others while the kernel runs.
_STAGES = {
    Outcome.OK: Stage.DONE,
    Outcome.NO_CODE: Stage.EXTRACT,
    Outcome.COMPILE_ERROR: Stage.COMPILE,
    Outcome.WRONG_VALUE: Stage.CHECK,
}


def judged_sample(
    outcome: Outcome,
    *,
    task: str = "Sqrt",
    case: str = "0",
    index: int = 0,
    diagnostics: tuple[Diagnostic, ...] = (),
    profile: Profile | None = None,
    metrics: Mapping[str, float] | None = None,
    timings: Mapping[str, float] | None = None,
) -> Sample:
    """A sample of one case on the static track that ended so; ``diagnostics`` and ``profile`` are the case's."""
    stage = _STAGES.get(outcome, Stage.RUN)
    result = CaseResult(case, stage, outcome, diagnostics, profile=profile)
    verdict = Verdict(
        Track.STATIC,
        Tier.TWIN,
        stage,
        outcome,
        outcome.owner,
        (result,),
        metrics=metrics or {},
        timings=timings or {},
    )
    return Sample(SampleKey(task, case, Track.STATIC, index), Prompt((), "t@1", "h"), None, None, verdict)
