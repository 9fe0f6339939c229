"""Ten operators of the invented suite are solved by kernels of ours: tile programs, lowered and judged on the twin."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_program
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import make_executor, prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Task, Track
from npukernelbench.plugins import Plugins
from tests.suites.conftest import needs_torch

CRAFT = Path(__file__).resolve().parents[2] / "tasks" / "ascendcraft"

#: The program that computes what a file asks for.
SOLUTIONS = {
    "1_Rectify": "activation/relu",
    "2_Leak": "activation/leaky_relu",
    "3_Logistic": "activation/sigmoid",
    "4_Hyperbolic": "activation/tanh",
    "5_Shares": "activation/softmax",
    "6_SelfGate": "activation/swish",
    "7_Soft": "activation/softsign",
    "8_Bend": "activation/elu",
    "9_Running": "math/cumsum",
    "10_Gap": "loss/mse_loss",
}


@needs_torch
def test_kernels_of_ours_solve_imported_tasks(task_of: Callable[[str], Task]) -> None:
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    executor = make_executor(plugins.executors.find("twin"), {})
    outcomes = {}
    try:
        prepare(executor, lambda _: None, Track.DYNAMIC)
        judge = Judge.of(executor, plugins, JudgeSettings(120, 120, 1))
        for name, program in SOLUTIONS.items():
            task = task_of(f"level1/{name}.py")
            text = (CRAFT / program / "golden" / "tile.py").read_text(encoding="utf-8")
            text = re.sub(r"def craft_\w+\(", f"def {task.kernel}(", text)
            candidate = candidate_of(lower_dynamic(parse_program(text)).files)
            verdict = judge.judge(task, (task.case("smoke"),), Track.DYNAMIC, candidate)
            outcomes[name] = verdict.outcome
        # The answer to another question is not one to this.
        other = judge.judge(task_of("level1/3_Logistic.py"), (task.case("smoke"),), Track.DYNAMIC, candidate)
    finally:
        executor.close()
    assert outcomes == dict.fromkeys(SOLUTIONS, Outcome.OK)
    assert other.outcome is not Outcome.OK
