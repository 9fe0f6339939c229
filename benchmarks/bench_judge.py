"""Judging Sqrt [48, 128, 512] float16 with a warm runtime, end to end, and where the time goes.

The promise is one second on two cores, for the judge inside a running process and for ``npukb judge`` as a whole
process. NumPy's own time for the square root of the same array is printed beside it.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from timing import median_of_call, median_of_command, report, script

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Track, Verdict
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import generate_inputs, load_registry


def main() -> None:
    import numpy as np

    plugins = Plugins.load()
    task = load_registry(plugins)["Sqrt"]
    case = task.case("0")
    [source] = golden_kernel(task, case, Track.STATIC).values()
    executor = make_executor(plugins.executors.find("twin"), {})
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    verdicts: list[Verdict] = []

    def once() -> None:
        verdicts.append(judge.judge(task, [case], Track.STATIC, candidate_of({"kernel.cpp": source})))

    inside = median_of_call(once)
    executor.close()
    if any(v.outcome is not Outcome.OK for v in verdicts):
        raise SystemExit(f"the golden kernel fails: {verdicts[-1]}")
    stages = sorted({stage for v in verdicts for stage in v.timings})
    split = ", ".join(f"{s} {statistics.median(v.timings.get(s, 0.0) for v in verdicts) * 1e3:.1f} ms" for s in stages)
    x = np.asarray(generate_inputs(task, case, 0)["x"])
    print(f"split: {split}; numpy sqrt of the same array: {median_of_call(lambda: np.sqrt(x)) * 1e3:.1f} ms")
    report("judge, in process", inside, "promise", 1.0, target=1.0)

    with tempfile.TemporaryDirectory() as name:
        kernel = Path(name) / "sqrt.cpp"
        kernel.write_text(source, encoding="utf-8")
        whole = median_of_command([script("npukb"), "judge", "Sqrt", str(kernel), "--case", "0"])
    report("npukb judge, whole process", whole, "promise", 1.0, target=1.0)


if __name__ == "__main__":
    main()
