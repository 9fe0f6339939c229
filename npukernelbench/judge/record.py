"""One run of a candidate whose core is recorded, for people who step through it. Nothing is compared or judged."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from npukernelbench.judge.compile import compiled
from npukernelbench.judge.data import CaseData
from npukernelbench.judge.run import run_case
from npukernelbench.nouns import Candidate, Case, CompileRequest, Observation, RunRequest, Task, Track
from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge

__all__ = ["record"]


def record(
    judge: Judge, task: Task, case: Case, track: Track, candidate: Candidate, recorded: tuple[int, int]
) -> tuple[Observation, RunRequest | None]:
    """What a run on ``case`` came to, with the recording of the core ``recorded``, and what was asked for; None
    when the candidate does not compile. Inputs are those of the judge with its seed.
    """
    settings = judge.settings
    request = CompileRequest(
        task, case if track is Track.STATIC else None, track, candidate, settings.compile_timeout_s, (case,)
    )
    with ExitStack() as held:
        result = held.enter_context(compiled(judge.executor, request, settings.infra_retries))
        if result.artifact is None:
            return Observation(result.outcome, {}, result.diagnostics), None
        inputs = CaseData().inputs(task, case, settings.seed)
        seed = derive(settings.seed, "run", task.name, case.id)
        run = RunRequest(task, case, result.artifact, inputs, seed, settings.run_timeout_s, recorded=recorded)
        return run_case(judge.executor, run, settings.infra_retries), run
