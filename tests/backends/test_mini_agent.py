"""A real agent from a registry, mini-swe-agent, end to end with a stub model.

``scripts/test-agents`` installs it; where it is not on PATH there is nothing to test.
"""

from __future__ import annotations

import base64
import json
import os
import shutil

import pytest

import npukb_agent
import npukb_twin
from npukernelbench.nouns import Outcome, Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.tasks import Selected
from npukernelbench.testing import FakePlugin, RecordingObserver, fake_plugins, make_plan
from tests.suite import suite

pytestmark = pytest.mark.skipif(
    shutil.which("mini") is None and "NPUKB_TEST_AGENTS" not in os.environ, reason="mini-swe-agent is not installed"
)


def test_mini_swe_agent_makes_a_slow_kernel_fast(server, tmp_path):
    """A task of optimisation on the twin: it reads how to work, breaks the kernel, writes a fast one, and submits."""
    plugins = fake_plugins(FakePlugin())
    for plugin in (npukb_agent, npukb_twin):
        plugins.register(plugin, plugin.__name__)
    task = suite()["optimise/Sqrt"]
    case = min(task.cases, key=lambda one: one.outputs["y"].size)
    [golden] = golden_kernel(task, case, Track.STATIC).values()
    turns = (
        "cat AGENTS.md | head -5; grep -c PIPE_ALL kernel.cpp; echo broken > kernel.cpp; ./judge",
        f"echo {base64.b64encode(golden.encode()).decode()} | base64 -d > kernel.cpp; ./judge",
        "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    )

    def script(body, number):
        called = {"id": f"c{number}", "type": "function", "function": {"name": "bash"}}
        called["function"]["arguments"] = json.dumps({"command": turns[min(number, len(turns) - 1)]})
        return server.completion("I work.", finish_reason="tool_calls", tool_calls=[called])

    server.script = script
    plan = make_plan(
        tmp_path / "run",
        tasks=(Selected(task, (case,)),),
        model="agent:mini-swe-agent",
        model_args={"model": "m", "base_url": server.base_url, "seconds": 120, "calls": 5},
        executor="twin",
        executor_args={},
    )
    summary = run(plan, plugins, RecordingObserver())
    [sample] = read_run(plan.directory).samples.values()
    assert summary.by_outcome == {Outcome.OK: 1}, sample
    assert [call.outcome for call in sample.calls] == [Outcome.COMPILE_ERROR, Outcome.OK]
    seen = str(server.requests[1]["messages"])
    assert "# How to work here" in seen
    assert "The kernel to make faster" in str(sample.prompt.messages)
    assert summary.results.optimised.score == sample.verdict.metrics["speedup_start"] > 1
    assert json.loads(sample.completion.transcript)["info"]["exit_status"] == "Submitted"
    counted = sample.completion.usage
    assert sample.completion.sent["reported_tokens"] == {"prompt": counted.prompt, "completion": counted.completion}
