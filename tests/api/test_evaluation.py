"""Runs from Python: results, samples as they come, stopping and continuing, coroutines."""

from __future__ import annotations

import asyncio
import json

import pytest

import npukernelbench
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.testing import fake_plugins

TASKS = ["Sqrt", "Swish"]


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return {"plugins": fake_plugins(), "executor": "fake", "output_path": tmp_path / "runs", "limit": 1, "seed": 3}


def test_evaluate_returns_what_the_folder_holds_and_resumes(given, tmp_path):
    results = npukernelbench.evaluate("fake", TASKS, samples=2, **given)
    assert (results.totals.samples, results.totals.correct) == (4, 4)
    [folder] = (tmp_path / "runs").iterdir()
    assert npukernelbench.read_results(folder) == results
    again = npukernelbench.evaluate("fake", TASKS, samples=2, **given)
    assert again.run_id == results.run_id


def test_faults_of_arguments_are_those_of_the_command(given):
    with pytest.raises(UsageError, match="there is no setting 'num_smaples'"):
        npukernelbench.evaluate("fake", TASKS, num_smaples=2, **given)
    with pytest.raises(UsageError, match="nobody"):
        npukernelbench.evaluate("nobody", TASKS, **given)
    with pytest.raises(ExecutorError, match="judges nothing"):
        npukernelbench.evaluate("fake", TASKS, predict_only=True, **given)


def test_samples_come_one_by_one_and_closing_stops_the_run(given, tmp_path):
    arguments = {**given, "model_args": {"delay_s": 0.02}}
    samples = npukernelbench.iter_samples("fake", TASKS, samples=20, **arguments)
    first = next(samples)
    assert first.verdict is not None
    samples.close()
    [folder] = (tmp_path / "runs").iterdir()
    assert not (folder / "results.json").exists(), "stopped before its end"
    rest = list(npukernelbench.iter_samples("fake", TASKS, samples=20, **arguments))
    assert 0 < len(rest) < 40
    assert first.key not in {sample.key for sample in rest}
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert content["totals"]["samples"] == 40


def test_an_error_of_the_run_reaches_whoever_takes_samples(given):
    with pytest.raises(UsageError, match="nobody"):
        list(npukernelbench.iter_samples("nobody", TASKS, **given))


def test_coroutines_do_the_same(given):
    async def both():
        results = await npukernelbench.evaluate_async("fake", TASKS, **given)
        verdict = await npukernelbench.judge_kernel_async("Sqrt", "// fake: double\n", **judging(given))
        taken = [sample async for sample in npukernelbench.iter_samples_async("fake", TASKS, samples=2, **given)]
        return results, verdict, taken

    results, verdict, taken = asyncio.run(both())
    assert results.totals.correct == 2
    assert verdict.outcome.value == "wrong_value"
    assert len(taken) == 4 or len(taken) == 2, "answers of the first run may have been taken over"


def judging(given):
    return {"plugins": given["plugins"], "executor": "fake"}


def test_one_kernel_one_verdict(given):
    right = npukernelbench.judge_kernel("Sqrt", "// fake: ok\n", **judging(given))
    assert (right.outcome.value, right.cases[0].case) == ("ok", "smoke")
    other = npukernelbench.judge_kernel("Sqrt", "// fake: ok\n", case="2", **judging(given))
    assert other.cases[0].case == "2"
    with pytest.raises(UsageError, match="has no case '77'"):
        npukernelbench.judge_kernel("Sqrt", "// fake: ok\n", case="77", **judging(given))


def test_tasks_by_name(given):
    assert [task.name for task in npukernelbench.find_tasks("Sqrt", plugins=given["plugins"])] == ["Sqrt"]
    with pytest.raises(UsageError):
        npukernelbench.find_tasks("NoSuchTask", plugins=given["plugins"])
