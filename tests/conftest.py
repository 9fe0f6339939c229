"""What all tests share: the quick tier, which `scripts/test --quick` runs.

The quick tier takes one test of every test function, without the functions that `tests/costs.yaml` lists: those that
take half a second and more. `scripts/test --costs` measures them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import settings

COSTS = Path(__file__).with_name("costs.yaml")

# No deadline: how long an example takes says more about the machine than about the code. What Hypothesis itself sets
# where continuous integration runs (the same examples each time) stays.
settings.register_profile("all", settings(), deadline=None)
settings.register_profile("quick", settings(), max_examples=10, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="one cheap test of every test function")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if config.getoption("--quick") else "all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        kept = quick(items, yaml.safe_load(COSTS.read_text(encoding="utf-8")))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def quick(items: list[pytest.Item], costs: Mapping[str, float]) -> list[pytest.Item]:
    """The middle one of every function's tests: the first and last are more often special."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [tests[len(tests) // 2] for name, tests in functions.items() if name not in costs]
