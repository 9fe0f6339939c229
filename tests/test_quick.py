"""The quick tier touches every room, and the list of what it leaves out names tests that exist."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import COSTS
from tests.tables import read_yaml

HERE = Path(__file__).parent


def functions(path: Path) -> Iterator[str]:
    """Node ids of the test functions of a file."""
    name = path.relative_to(HERE.parent).as_posix()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield f"{name}::{node.name}"


def test_every_room_has_a_test_that_the_quick_tier_keeps() -> None:
    costs = read_yaml(COSTS)
    kept: dict[str, int] = {}
    known = set()
    for path in HERE.rglob("test_*.py"):
        room = path.relative_to(HERE).parts[0]
        names = list(functions(path))
        known.update(names)
        kept[room] = kept.get(room, 0) + sum(name not in costs for name in names)
    assert [room for room, count in kept.items() if count == 0] == []
    assert sorted(set(costs) - known) == [], "renew the list: scripts/test --costs"


def test_costs_are_processor_time_and_a_busy_machine_makes_no_test_slow(tmp_path: Path) -> None:
    clock_and_processor = {"works": (4.0, 4.0), "sleeps": (8.0, 0.1), "light": (1.0, 0.3)}
    expected = {"tests/a/test_b.py::works": 4.0, "tests/a/test_b.py::sleeps": 8.0}
    slow = runpy.run_path(str(HERE.parent / "scripts/costs.py"))["slow"]
    for times_busy in (1.0, 20.0):
        cases = [
            f'<testcase classname="tests.a.test_b" name="{name}[{index}]" time="{clock * times_busy}">'
            f'<properties><property name="processor_s" value="{processor}"/></properties></testcase>'
            for name, (clock, processor) in clock_and_processor.items()
            for index in range(100 if name == "works" else 1)
        ]
        (tmp_path / "junit.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        costs = slow(tmp_path / "junit.xml")
        assert costs.keys() == expected.keys()
        assert costs == pytest.approx(expected, rel=0.1)
