"""Regenerates ``docs/bounds.md``: what no kernel can be faster than, task by task, on the twin's default machine.

python -m benchmarks.bounds [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from npukb_twin.executor import TwinArgs
from npukb_twin.timing import machine
from npukernelbench.judge.roofline import bound, least_traffic
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.sizes import largest_case

PAGE = Path(__file__).parents[1] / "docs" / "bounds.md"
HEAD = """# Bounds

What no kernel can be faster than on {machine}. The table has the smallest number of bytes and operations of each
task's largest case with the profile `cpu`, and the time that each unit needs for them at its peak. The longest time
is the bound, and `bound by` names its unit. `python -m benchmarks.bounds` generates this page;
[speed](metrics.md#speed) says how bytes and operations are counted. Where the result may depend on
only a part of the inputs, the bytes read are those that every kernel needs (`npukernelbench/judge/reads.yaml`).

| task | case | read | written | memory µs | cache µs | vector µs | cube µs | bound µs | bound by |
|---|---|---|---|---|---|---|---|---|---|
"""


def rows(soc: str) -> Iterator[str]:
    """One row per task."""
    roof = machine.load(soc).roof
    tasks = load_registry(Plugins.load(disabled=("suites",)))  # Suites that a developer has added are not ours.
    for name in sorted(tasks):
        task: Task = tasks[name]
        case = largest_case(task)
        traffic, least = least_traffic(task, case), bound(task, case, roof)
        units = dict(zip(("memory", "cache", "vector", "cube"), least, strict=True))
        slowest = max(units, key=lambda unit: units[unit])
        times = " | ".join(f"{ratio:.3f}" for ratio in (*least, max(least)))
        bytes_ = f"{traffic.reads:,} | {traffic.writes:,}"
        yield f"| {name} | {case.id} | {bytes_} | {times} | {slowest if max(least) else 'nothing'} |"


def page() -> str:
    """The whole page."""
    soc = TwinArgs().soc
    return HEAD.format(machine=soc) + "\n".join(rows(soc)) + "\n"


def main() -> None:
    text = page()
    if "--check" in sys.argv:
        sys.exit(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
