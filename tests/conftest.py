"""What all tests share: the quick tier, which `scripts/test --quick` runs.

The quick tier takes one test of every test function, without the functions that `tests/costs.yaml` lists: those that
take half a second and more. `scripts/test --costs` measures them anew.
"""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from tests.leaks import nothing_leaks
from tests.tables import read_yaml

__all__ = ["nothing_leaks"]

# A worker for every core: threads of BLAS's would spend a part of it waiting for each other. NumPy looks when it is
# imported, so that nothing is imported here which imports it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_BEFORE = pytest.StashKey[float]()

COSTS = Path(__file__).with_name("costs.yaml")

# No deadline: how long an example takes says more about the machine than about the code. What Hypothesis itself sets
# where continuous integration runs (the same examples each time) stays.
settings.register_profile("all", settings(), deadline=None)
settings.register_profile("quick", settings(), max_examples=10, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="one cheap test of every test function")


def pytest_configure(config: pytest.Config) -> None:
    # Tests read English, whatever the language of the machine is; programs that they start, too.
    os.environ["LC_ALL"] = "C.UTF-8"
    settings.load_profile("quick" if config.getoption("--quick") else "all")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests and their modules stay until the end: looking through them for garbage finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # The usual 700 new objects are one judgement's: what tests share would be looked through again and again.
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        kept = quick(items, read_yaml(COSTS))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.fixture(scope="session", autouse=True)
def _compilers_stay(nothing_leaks: None) -> Iterator[None]:
    """What one test has started and loaded, the next one copies; at the end that is gone, too."""
    from npukb_twin.launch.forkserver import ForkServers

    part = ForkServers()
    part.join()
    yield
    part.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    item.stash[_BEFORE] = _processor_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Notes a test's processor time, children included: other work beside it changes that less than a clock's."""
    # Only a report of costs tells it.
    if call.when == "teardown" and item.config.getoption("xmlpath"):
        item.user_properties.append(("processor_s", f"{_processor_s() - item.stash[_BEFORE]:.3f}"))


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def quick(items: list[pytest.Item], costs: Mapping[str, float]) -> list[pytest.Item]:
    """The middle one of every function's tests: the first and last are more often special."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [tests[len(tests) // 2] for name, tests in functions.items() if name not in costs]
