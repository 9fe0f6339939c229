"""A run in a process of its own, for the tests that kill it: two tasks, two cases, three samples, slow fakes."""

from __future__ import annotations

import sys
from pathlib import Path

from npukernelbench.run.runner import run
from npukernelbench.testing import RecordingObserver, fake_plugins, make_plan

if __name__ == "__main__":
    answer = "```cpp\n// {task} {case} {index} fake: tail\n```"
    plan = make_plan(
        Path("run"),
        model_args={"log": "asked.log", "delay_s": 0.005, "text": answer},
        executor_args={"log": "calls.log", "delay_s": 0.01},
        samples=3,
        jobs=int(sys.argv[1]),
    )
    run(plan, fake_plugins(), RecordingObserver())
