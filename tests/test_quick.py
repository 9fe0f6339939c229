"""The quick tier touches every room, and the list of what it leaves out names tests that exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.conftest import COSTS

HERE = Path(__file__).parent


def functions(path: Path) -> Iterator[str]:
    """Node ids of the test functions of a file."""
    name = path.relative_to(HERE.parent).as_posix()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield f"{name}::{node.name}"


def test_every_room_has_a_test_that_the_quick_tier_keeps() -> None:
    costs = yaml.safe_load(COSTS.read_text(encoding="utf-8"))
    kept: dict[str, int] = {}
    known = set()
    for path in HERE.rglob("test_*.py"):
        room = path.relative_to(HERE).parts[0]
        names = list(functions(path))
        known.update(names)
        kept[room] = kept.get(room, 0) + sum(name not in costs for name in names)
    assert [room for room, count in kept.items() if count == 0] == []
    assert sorted(set(costs) - known) == [], "renew the list: scripts/test --costs"
