"""Judges of tests: the twin as executor, and no plugins but those that a test names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

import npukb_twin
from npukernelbench.judge.executor import Executor, make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Diagnostic, Task, Verdict
from npukernelbench.plugins import Plugins
from tests.suite import suite

__all__ = ["all_said", "on_the_twin", "subject", "twin_judge"]


@contextmanager
def on_the_twin(*more: ModuleType, **arguments: object) -> Iterator[tuple[Executor, Plugins]]:
    """The twin with these arguments, and the plugins that it comes with and ``more``."""
    plugins = Plugins.load(autoload=False)
    for plugin in (npukb_twin, *more):
        plugins.register(plugin, plugin.__name__)
    executor = make_executor(plugins.executors.find("twin"), arguments)
    try:
        yield executor, plugins
    finally:
        executor.close()


@contextmanager
def twin_judge(settings: JudgeSettings | None = None, **arguments: object) -> Iterator[Judge]:
    """A judge on the twin that computes no metrics."""
    with on_the_twin(**arguments) as (executor, plugins):
        settings = settings or JudgeSettings()
        yield Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings)


@pytest.fixture(scope="session")
def subject() -> tuple[Task, Case]:
    """What most wrong kernels are wrong for. A folder's conftest imports it."""
    task = suite()["AddCustom"]
    return task, task.case("smoke")


def all_said(verdict: Verdict) -> list[Diagnostic]:
    """What a verdict says of the candidate, then of each case."""
    return [*verdict.diagnostics, *(diagnostic for result in verdict.cases for diagnostic in result.diagnostics)]
