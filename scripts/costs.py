"""Writes tests/costs.yaml out of a JUnit file: the test functions that take half a second and more, slowest first.

A test costs the processor time of its processes: what else the machine does changes that less than it changes the
clock. One that mostly waits costs what the clock says, less what the mean test waited for a busy processor.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
LEAST_S = 0.5
WAITING = 4  # as many times more on the clock than on the processor
HEAD = "# Seconds that a test of these functions takes in the mean. The quick tier leaves them out.\n"
HEAD += "# Written by scripts/test --costs.\n"


def main(junit: str) -> None:
    rows = sorted(slow(Path(junit)).items(), key=lambda row: (-round(row[1], 1), row[0]))
    text = HEAD + "".join(f"{name}: {cost:.1f}\n" for name, cost in rows)
    (ROOT / "tests/costs.yaml").write_text(text, encoding="utf-8")


def slow(junit: Path) -> dict[str, float]:
    """Seconds by test function, of those in the file that take half a second and more."""
    times = {case: (clock_s(case), processor_s(case)) for case in ElementTree.parse(junit).iter("testcase")}
    clock, processor = (sum(column) for column in zip(*times.values(), strict=True))
    share = min(1.0, processor / clock)
    seconds: dict[str, list[float]] = defaultdict(list)
    for case, (waited, worked) in times.items():
        # A server of several tests is counted where it ends: none works longer than all cores do while it runs.
        worked = min(worked, waited * (os.cpu_count() or 1))
        file = case.get("classname", "").replace(".", "/") + ".py"
        quiet = waited * share
        cost = quiet if worked < quiet / WAITING else worked
        seconds[f"{file}::{case.get('name', '').partition('[')[0]}"].append(cost)
    return {name: mean(costs) for name, costs in seconds.items() if mean(costs) >= LEAST_S}


def clock_s(case: ElementTree.Element) -> float:
    return float(case.get("time", "0"))


def processor_s(case: ElementTree.Element) -> float:
    """What tests/conftest.py noted; the clock's where it did not."""
    noted = case.find("properties/property[@name='processor_s']")
    return clock_s(case) if noted is None else float(noted.get("value", "0"))


if __name__ == "__main__":
    main(sys.argv[1])
