"""The kit for plugin authors: its fakes keep to the protocols, and its fixtures load on request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from npukernelbench.generate.backend import Backend, GenerationFault, GenerationRequest, SamplingParams
from npukernelbench.judge.executor import Executor
from npukernelbench.nouns import Completion, FinishReason, Message, Prompt, SampleKey, Track
from npukernelbench.testing import FakeBackend, FakeBackendArgs, FakeExecutor, candidate, tiny_task
from npukernelbench.testing.executor import _wrong


def request(index=0):
    task = tiny_task()
    prompt = Prompt((Message("user", "write it"),), "none@1", "0")
    return GenerationRequest(
        SampleKey(task.name, "smoke", Track.STATIC, index), task, task.cases[0], prompt, SamplingParams(), 1
    )


def ask(backend, count=1):
    async def collect():
        return [result.answer async for result in backend.generate_many([request(i) for i in range(count)])]

    return asyncio.run(collect())


def test_fakes_keep_to_the_protocols():
    assert isinstance(FakeBackend(), Backend)
    assert isinstance(FakeExecutor(), Executor)


def test_the_fake_model_says_what_it_is_told():
    assert ask(FakeBackend(FakeBackendArgs(text="{task}-{case}-{index} {}")), 2) == [
        Completion("TinySqrt-smoke-0 {}", model="fake"),
        Completion("TinySqrt-smoke-1 {}", model="fake"),
    ]
    assert ask(FakeBackend(FakeBackendArgs(text="fault: gone"))) == [GenerationFault("gone")]
    assert ask(FakeBackend(FakeBackendArgs(text="cut:```cpp")))[0].finish_reason is FinishReason.LENGTH


def test_equal_sources_make_equal_candidates():
    assert candidate("int x;") == candidate("int x;")
    assert candidate("int x;").hash != candidate("int y;").hash


def test_the_fixtures_work_in_a_plugins_own_tests(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent(
            """
            from npukernelbench.run.runner import run
            from npukernelbench.testing import FakeBackend

            def test_mine(npukb_plan, npukb_plugins, npukb_fakes, npukb_observer):
                npukb_fakes.backend = lambda args: FakeBackend(args, answer=lambda request: "no kernel")
                summary = run(npukb_plan(samples=2), npukb_plugins, npukb_observer)
                assert summary.total == 8
                assert summary.ok == 0
            """
        )
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "npukernelbench.testing.fixtures", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    "module", ["npukernelbench.testing", "npukernelbench.run.runner", "npukernelbench.judge.pipeline"]
)
def test_importing_is_light(module):
    heavy = {"numpy", "scipy", "jinja2", "rich", "torch", "openai", "pytest"}
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("right", [np.array([3, -1], np.int32), np.array([True]), np.array([0.5, -1.0], np.float16)])
def test_one_wrong_element_is_wrong_whatever_it_was(right: Any) -> None:
    wrong = _wrong("one", right, SimpleNamespace(seed=1), "y")  # type: ignore[arg-type]
    assert wrong[-1] != right[-1]
    assert (wrong[:-1] == right[:-1]).all()
