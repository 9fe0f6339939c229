"""Golden kernels say and compute the same on any number of threads, and when they run again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import (
    Candidate,
    Case,
    CompileRequest,
    Observation,
    Outcome,
    RunRequest,
    Task,
    Track,
)
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.sizes import input_bytes, output_bytes, smallest_case
from tests.suite import suite

THREADS = (1, 2, 5)
#: Every golden of the static track is tried, and every so manieth of the dynamic track.
STEP = 12


class Sample(NamedTuple):
    """A golden kernel, specialised for the task's smallest case where it is of the static track."""

    task: Task
    case: Case
    track: Track
    candidate: Candidate


def samples() -> Iterator[Sample]:
    """The goldens to try, in the order of their tasks' names."""
    tasks = suite()
    dynamic = 0
    for name in sorted(tasks):
        task = tasks[name]
        case = smallest_case(task)
        for golden in task.goldens:
            if golden.track is Track.STATIC or (dynamic := dynamic + 1) % STEP == 0:
                yield Sample(task, case, golden.track, candidate_of(golden_kernel(task, case, golden.track)))


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
    seen = [observation for executor in executors.values() for observation in twice(executor, SAMPLES[name])]
    assert seen[0].outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen[0].diagnostics]
    for other in seen[1:]:
        assert (other.outcome, other.diagnostics) == (seen[0].outcome, seen[0].diagnostics)
        assert other.profile == seen[0].profile
        assert contents(other) == contents(seen[0])


def test_both_tracks_are_tried_in_little_memory() -> None:
    """Public cases have up to 8 GB of inputs; some of these have very small outputs."""
    assert max(input_bytes(sample.case) + output_bytes(sample.case) for sample in SAMPLES.values()) < 1 << 20
    assert {sample.track for sample in SAMPLES.values()} == {Track.STATIC, Track.DYNAMIC}


def twice(executor: TwinExecutor, sample: Sample) -> Iterator[Observation]:
    """What two runs of a kernel come to."""
    task, case, track, candidate = sample
    cases = (case,) if track is Track.DYNAMIC else ()
    compiled = executor.compile(CompileRequest(task, case, track, candidate, 60.0, cases))
    assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
    request = RunRequest(task, case, compiled.artifact, generate_inputs(task, case, 3), 5, 60.0)
    for _ in range(2):
        yield executor.run(request)


def contents(seen: Observation) -> dict[str, list[bytes]]:
    """The bytes of every output."""
    lists = {name: value if isinstance(value, list) else [value] for name, value in seen.outputs.items()}
    return {name: [np.asarray(array).tobytes() for array in arrays] for name, arrays in lists.items()}
