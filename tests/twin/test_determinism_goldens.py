"""Golden kernels say and compute the same on any number of threads, and when they run again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import Candidate, CompileRequest, Observation, Outcome, RunRequest, Track
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.sizes import input_bytes, output_bytes
from tests.twin.goldens import Sample, contents, samples

THREADS = (1, 2, 5)
SAMPLES = {f"{sample.task.name}-{sample.track.value}": sample for sample in samples()}


@pytest.fixture(scope="module")
def executors() -> Iterator[Mapping[int, TwinExecutor]]:
    """Full checkers with different numbers of host threads."""
    made = {threads: TwinExecutor(TwinArgs(threads=threads, checker=Checker.FULL)) for threads in THREADS}
    yield made
    for executor in made.values():
        executor.close()


@pytest.mark.parametrize("name", SAMPLES)
def test_threads_and_repetition_change_nothing(executors: Mapping[int, TwinExecutor], name: str) -> None:
    sample = SAMPLES[name]
    candidate = sample.candidate()
    seen = [observation for executor in executors.values() for observation in twice(executor, sample, candidate)]
    assert seen[0].outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen[0].diagnostics]
    for other in seen[1:]:
        assert (other.outcome, other.diagnostics) == (seen[0].outcome, seen[0].diagnostics)
        assert other.profile == seen[0].profile
        assert contents(other) == contents(seen[0])


def test_both_tracks_are_tried_in_little_memory() -> None:
    """Public cases have up to 8 GB of inputs; some of these have very small outputs."""
    assert max(input_bytes(sample.case) + output_bytes(sample.case) for sample in SAMPLES.values()) < 1 << 20
    assert {sample.track for sample in SAMPLES.values()} == {Track.STATIC, Track.DYNAMIC}


def twice(executor: TwinExecutor, sample: Sample, candidate: Candidate) -> Iterator[Observation]:
    """What two runs of a kernel come to."""
    task, case, track = sample
    cases = (case,) if track is Track.DYNAMIC else ()
    compiled = executor.compile(CompileRequest(task, case, track, candidate, 60.0, cases))
    assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
    request = RunRequest(task, case, compiled.artifact, generate_inputs(task, case, 3), 5, 60.0)
    for _ in range(2):
        yield executor.run(request)
