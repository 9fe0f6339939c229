"""Some mutants of a right kernel, and that the search for unexplained differences would find one."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from npukernelbench.nouns import Outcome
from tests.adversarial.mutation import opened, unexplained

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="mutants of x86-64 code")

SEEDS = range(100, 116)


def test_mutants_are_explained() -> None:
    with opened() as subject:
        verdicts = [subject.verdict(seed)[0] for seed in SEEDS]
        assert [unexplained(verdict, subject.usual) for verdict in verdicts] == [""] * len(SEEDS)
        assert len(subject.seen) > 2  # some fail in one way, some in another
        [right, *_] = [verdict for verdict in verdicts if verdict.outcome is Outcome.OK]
    faster = replace(right, metrics={**right.metrics, "predicted_time_us": subject.usual / 2})
    assert "instead of" in unexplained(faster, subject.usual)
    silent = replace(right, outcome=Outcome.WRONG_VALUE, diagnostics=(), cases=())
    assert "without a word" in unexplained(silent, subject.usual)
