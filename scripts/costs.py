"""Writes tests/costs.yaml out of a JUnit file: the test functions that take half a second and more, slowest first."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
LEAST_S = 0.5
HEAD = "# Seconds that a test of these functions takes in the mean. The quick tier leaves them out.\n"
HEAD += "# Written by scripts/test --costs.\n"


def main(junit: str) -> None:
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(junit).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        seconds[f"{file}::{case.get('name', '').partition('[')[0]}"].append(float(case.get("time", "0")))
    slow = {name: mean(times) for name, times in seconds.items() if mean(times) >= LEAST_S}
    rows = sorted(slow.items(), key=lambda row: (-round(row[1], 1), row[0]))
    text = HEAD + "".join(f"{name}: {cost:.1f}\n" for name, cost in rows)
    (ROOT / "tests/costs.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
