"""What a reference operator costs to build: host side and device side, with the variants that its first case needs.

    python -m benchmarks.twin.operators CHECKOUT [OPERATOR...]

CHECKOUT is one of NPUKernelBench. The clock of each build is printed with its processor time, which is what one CPU
would need; the promise is a median below 6 s on two cores.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.twin.measure import of_children
from npukb_conformance.checkout import Checkout, Variant
from npukb_conformance.dispatch import as_launched, load_dispatch
from npukb_conformance.sitting import plan
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import CompileRequest, Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry

PROMISE_S = 6.0


def main(checkout: Path, wanted: list[str]) -> int:
    tasks, dispatch = load_registry(Plugins.load()), load_dispatch()
    executor = TwinExecutor(TwinArgs())
    executor.prepare(print, Track.DYNAMIC)
    planned = plan(
        Checkout(checkout),
        tasks,
        tasks.select(wanted or ["npukernelbench"]),
        dispatch=dispatch,
        variant=Variant.ANSWER,
        most_cases=1,
        executor=executor,
    )
    clock, processor = [], []
    for entry in planned:
        if entry.candidate is None or entry.refused or not entry.task.cases:
            continue
        cases = tuple(as_launched(case, dispatch.rule(entry.task.name)) for case in entry.task.cases)
        before = of_children()
        request = CompileRequest(
            replace(entry.task, cases=cases), cases[0], Track.DYNAMIC, entry.candidate, 120.0, cases
        )
        result = executor.compile(request)
        if result.outcome is not Outcome.OK:
            print(f"{entry.task.name:36} {result.outcome.value}", flush=True)
            continue
        clock.append(result.seconds)
        processor.append(of_children() - before)
        print(f"{entry.task.name:36} {clock[-1]:6.2f} s, processor {processor[-1]:6.2f} s", flush=True)
    executor.close()
    median = statistics.median(clock)
    print(f"{len(clock)} operators: median {median:.2f} s, largest {max(clock):.2f} s")
    verdict = "met" if median < PROMISE_S else "MISSED"
    print(f"processor time, median: {statistics.median(processor):.2f} s (promise {PROMISE_S:g} s: {verdict})")
    return int(median >= PROMISE_S)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
