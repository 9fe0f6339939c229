"""Small samples and manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npukernelbench.nouns.outcomes import Outcome, Stage, Tier, Track
from npukernelbench.nouns.sample import Candidate, CaseResult, Completion, Message, Prompt, Sample, SampleKey, Verdict
from npukernelbench.store import Manifest

MakeSample = Callable[..., Sample]


@pytest.fixture
def manifest() -> Manifest:
    return Manifest({"model": "m", "model_args": {"t": 0.5}, "tasks": {"sqrt": "abc"}}, {"harness": "0.1.0"})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "one"


@pytest.fixture
def make() -> MakeSample:
    def make(index: int, outcome: Outcome = Outcome.OK, *, task: str = "sqrt", seconds: float = 0.25) -> Sample:
        verdict = Verdict(
            Track.STATIC,
            Tier.TWIN,
            Stage.DONE if outcome is Outcome.OK else Stage.CHECK,
            outcome,
            outcome.owner,
            (CaseResult("c", Stage.DONE, outcome, metrics={"max_abs_error": 0.5}),),
            timings={"compile": seconds},
        )
        return Sample(
            SampleKey(task, "c", Track.STATIC, index),
            Prompt((Message("user", f"write {task}"),), "default@1", "hash"),
            Completion(f"answer {index} ☃ \ud800"),
            Candidate({"kernel.cpp": "void f();\n"}, "c0ffee"),
            verdict,
        )

    return make
