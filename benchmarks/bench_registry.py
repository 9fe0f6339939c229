"""Loading all tasks with a warm cache, against reading the cache files as JSON and nothing else.

The suites of this installation are measured, and a synthetic suite of the size that all suites together are to have.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from timing import median_of_call, report

from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry

TASKS = 210
CASES = 2500

HEAD = """\
name: Synthetic{number}
suite: synthetic
level: {level}
category: Category{category}
version: 1
tags: [elementwise, binary]
kernel: synthetic_{number}
summary: A task for a measurement.
description: As long as a description is in the middle, two lines of text or so, about a hundred characters.
formula: z_i = x_i + y_i
interface:
  inputs:
    - {{name: x, dtypes: [float16, float32, bfloat16], values: {{uniform: [-1.0, 1.0]}}, description: First operand.}}
    - {{name: y, dtypes: [float16, float32, bfloat16], values: {{normal: [0.0, 1.0]}}, description: Second operand.}}
  attributes:
    - {{name: scale, type: float, default: 1.0, description: A factor.}}
  outputs:
    - {{name: z, dtype_like: x, shape_like: x, description: Results.}}
reference: math.add
tolerance: {{limits: {{float16: {{atol: 1.0e-3, rtol: 1.0e-3}}, float32: {{atol: 1.0e-6, rtol: 1.0e-6}}}}}}
hidden: {{value_classes: {{x: [large, tiny]}}}}
cases:
"""
CASE = """\
  - id: "{case}"
    inputs: {{x: {{shape: [{case}, 128, 512], dtype: float16}}, y: {{shape: [{case}, 128, 512], dtype: float16}}}}
    attributes: {{scale: 1.5}}
    profiles: [cpu, full]
"""


def write_suite(folder: Path) -> None:
    """``TASKS`` task files with ``CASES`` cases, a little older than a second so that they are cached."""
    for number in range(TASKS):
        path = folder / f"task{number}" / "task.yaml"
        path.parent.mkdir(parents=True)
        # They add up to `CASES`, whatever the division leaves over.
        cases = CASES * (number + 1) // TASKS - CASES * number // TASKS
        text = HEAD.format(number=number, level=1 + number % 3, category=number % 12)
        path.write_text(text + "".join(CASE.format(case=case) for case in range(1, cases + 1)), encoding="utf-8")
        # A file that changed within the last second is not cached, as its time stamp may not change again.
        old = time.time() - 60
        os.utime(path, (old, old))


def measure(what: str, plugins: Plugins, cache: Path, folders: list[Path]) -> float:
    """Print one comparison; returns the seconds of a warm load."""

    def load() -> None:
        load_registry(plugins, folders, cache_dir=cache)

    load()
    time.sleep(1.1)  # files that have just changed are not cached
    load()
    files = list((cache / "tasks").glob("*.json"))
    floor = median_of_call(lambda: [json.loads(path.read_bytes()) for path in files])
    registry = load_registry(plugins, folders, cache_dir=cache)
    cases = sum(len(task.cases) for task in registry.values())
    seconds = median_of_call(load)
    print(f"{what}: {len(registry)} tasks, {cases} cases, cache {sum(f.stat().st_size for f in files) >> 10} KiB")
    report(f"{what}, warm", seconds, "json.loads of the cache", floor, target=8.0)
    return seconds


def main() -> None:
    plugins = Plugins.load(autoload=False)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        measure("installed tasks", plugins, root / "installed", [])
        write_suite(root / "suite")
        seconds = measure("with a synthetic suite", plugins, root / "synthetic", [root / "suite"])
        report("with a synthetic suite, warm", seconds, "promise", 0.3, target=1.0)
        # Importing NumPy takes longer than the whole listing may.
        if "numpy" in sys.modules:
            raise SystemExit("loading tasks has imported numpy")


if __name__ == "__main__":
    main()
