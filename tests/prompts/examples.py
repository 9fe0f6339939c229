"""Kernels that prompts show as right, run on the twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from npukb_twin.executor import TwinExecutor
from npukernelbench.nouns.execution import CompileRequest, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import Task
from npukernelbench.tasks import generate_inputs


class Shown(NamedTuple):
    """What an example was given and what it computed."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def run_example(task: Task, track: Track, candidate: Candidate) -> Shown:
    """Compile and run it on the task's one case; it has to break no rule and give no cause for a remark."""
    [case] = task.cases
    executor = TwinExecutor(TwinExecutor.Args())
    try:
        compiled = executor.compile(CompileRequest(task, case, track, candidate, 120.0))
        assert (compiled.outcome, compiled.diagnostics) == (Outcome.OK, ())
        assert compiled.artifact is not None
        inputs = generate_inputs(task, case, 1)
        seen = executor.run(RunRequest(task, case, compiled.artifact, inputs, 1, 120.0))
    finally:
        executor.close()
    assert (seen.outcome, seen.diagnostics) == (Outcome.OK, ())
    return Shown(inputs, seen.outputs)
