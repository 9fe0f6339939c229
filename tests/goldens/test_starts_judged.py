"""Starts of a seeded sample are judged anew, on both tracks: they are right, and slower than the golden kernel."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import npukb_mcp
import npukb_search
from npukb_mcp.strategy import ToolsStrategy
from npukb_mcp.workspace import Brief, workspace_files
from npukb_search.strategies import Optimise
from npukernelbench.generate.extract import candidate_of
from npukernelbench.generate.starting import start_files
from npukernelbench.generate.strategy import DIRECT
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Track
from npukernelbench.prompts import GoldenKernels
from npukernelbench.prompts.style import TERSE
from npukernelbench.tasks.starts import start_of
from tests.judging import on_the_twin
from tests.suite import suite

SEED, SAMPLE = 27, 3


@pytest.fixture(scope="module")
def judge():
    with on_the_twin(npukb_mcp, npukb_search) as (executor, plugins):
        yield Judge.of(executor, plugins, JudgeSettings())


def test_starts_are_right_and_slower(judge):
    tasks = suite()
    names = Random(SEED).sample(sorted(name for name in tasks if start_of(tasks[name]).names), SAMPLE)
    with GoldenKernels() as kernels:
        for name in names:
            [selected] = tasks.select([f"optimise/{name}"])
            task, [case] = selected.task, selected.cases
            golden, slow, dynamic = (
                judge.judge(task, (case,), track, candidate_of(files))
                for track, files in (
                    (Track.STATIC, kernels.kernel(task, case, Track.STATIC)),
                    (Track.STATIC, start_files(task, case, Track.STATIC)),
                    (Track.DYNAMIC, start_files(task, case, Track.DYNAMIC)),
                )
            )
            assert {one.outcome for one in (golden, slow, dynamic)} == {Outcome.OK}, (name, slow.diagnostics)
            assert dynamic.metrics["speedup_start"] == 1.0
            assert dynamic.metrics["predicted_time_us"] > 1.05 * golden.metrics["predicted_time_us"], name
            assert slow.metrics["speedup_start"] == 1.0
            # The judge's own time of the start is that of the start.
            assert golden.metrics["start_us"] == slow.metrics["predicted_time_us"]
            assert golden.metrics["speedup_start"] > 1.05, name


def test_a_start_that_is_not_right_is_a_fault_of_the_task(judge, monkeypatch):
    """Nothing is compared with a kernel that does not compute."""
    task = suite()["optimise/Sqrt"]
    case = min(task.cases, key=lambda case: case.outputs["y"].size)
    with GoldenKernels() as kernels:
        golden = candidate_of(kernels.kernel(task, case, Track.STATIC))
    broken = {"kernel.cpp": '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void sqrt(GM_ADDR) {}\n'}
    monkeypatch.setattr("npukernelbench.judge.pipeline.start_files", lambda task, case, track: broken)
    verdict = judge.judge(replace(task, name="optimise/Broken/Sqrt"), (case,), Track.STATIC, golden)
    assert (verdict.outcome, verdict.owner.value) == (Outcome.INFRA_ERROR, "task")
    assert "begins with" in verdict.cases[0].diagnostics[0].message


def test_every_way_of_asking_shows_the_start():
    tasks = suite()
    task = tasks["optimise/SwiGlu"]
    case = task.usual_case
    [kernel] = start_files(task, case, Track.STATIC).values()
    asked = {
        type(strategy).__name__: strategy.opening(task, case, Track.STATIC, TERSE, lambda: tasks)
        for strategy in (DIRECT, ToolsStrategy(), Optimise())
    }
    plain = DIRECT.opening(tasks["SwiGlu"], case, Track.STATIC, TERSE, lambda: tasks)
    for name, prompt in asked.items():
        assert kernel.strip() in prompt.messages[-1].content, name
        assert prompt.messages[-1].content.startswith(plain.messages[-1].content.rstrip()), name
        assert "+start@" in prompt.template, name
    assert len({prompt.hash for prompt in (*asked.values(), plain)}) == len(asked) + 1
    files = workspace_files(Brief.of(task, Track.STATIC, None), TERSE, None)
    assert files["kernel.cpp"] == kernel
    assert "npukb judge optimise/SwiGlu" in files["judge"]
