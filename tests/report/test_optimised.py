"""The score of tasks of optimisation, out of verdicts."""

from __future__ import annotations

import pytest

from npukernelbench.nouns import Outcome, Owner, SampleKey, Stage, Tier, Track, Verdict
from npukernelbench.report.estimates import Judged
from npukernelbench.report.optimised import optimised


def judged(task: str, outcome: Outcome, **metrics: float) -> Judged:
    stage = Stage.DONE if outcome is Outcome.OK else Stage.CHECK
    verdict = Verdict(Track.STATIC, Tier.TWIN, stage, outcome, outcome.owner, (), (), metrics)
    return Judged(SampleKey(task, "0", Track.STATIC, 0), verdict)


def test_what_is_wrong_or_slower_counts_as_one():
    found = optimised(
        [
            judged("optimise/A", Outcome.OK, speedup_start=8.0, speedup_golden=1.2),
            judged("optimise/B", Outcome.OK, speedup_start=0.5, speedup_golden=0.1),
            judged("optimise/C", Outcome.WRONG_VALUE, speedup_start=100.0),
            judged("optimise/D", Outcome.INFRA_ERROR),
            judged("A", Outcome.OK, speedup_golden=1.0),
        ]
    )
    assert found is not None
    assert (found.counted, found.right, found.faster, found.as_golden) == (3, 2, 1, 1)
    assert found.score == pytest.approx(2.0)
    assert list(found.speedups.items()) == [("0.00", 1.0), ("0.25", 1.0), ("0.50", 1.0), ("0.75", 8.0), ("1.00", 8.0)]


def test_a_run_without_them_has_none():
    assert optimised([judged("A", Outcome.OK, speedup_golden=1.0)]) is None
    assert Outcome.INFRA_ERROR.owner is Owner.INFRA
