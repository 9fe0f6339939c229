"""Candidates of the catalogue, and a judge per level of the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Track
from tests.adversarial.candidates import Candidate, edited, right
from tests.judging import on_the_twin
from tests.tables import read_yaml

HERE = Path(__file__).parent


class Way(Candidate):
    """A candidate of the catalogue."""

    def allows(self, field: str, value: str) -> bool:
        wanted = self.expected[field]
        return value in wanted if isinstance(wanted, list) else value == wanted


def ways() -> list[Way]:
    entries = {
        name: entry
        for file in ("candidates.yaml", "native.yaml", "writes.yaml", "machine.yaml")
        for name, entry in read_yaml(HERE.joinpath(file))["candidates"].items()
    }
    return [Way(name, edited(right(), _edits(entry)), entry) for name, entry in entries.items()]


def _edits(entry: Mapping[str, Any]) -> list[dict[str, str]]:
    """``before`` stands in front of the kernel's class, ``first`` at the start of its entry, ``top`` at the top."""
    places = {"before": "class Add2 {", "first": "    Add2 op;", "top": "using namespace AscendC;"}
    short = [{"old": old, "new": f"{entry[key]}\n{old}"} for key, old in places.items() if key in entry]
    return [*short, *entry.get("edits", ())]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", ways(), ids=str)


@pytest.fixture(scope="session", params=["auto", "strict", "off"])
def judges(request: pytest.FixtureRequest) -> Iterator[Callable[[float], Judge]]:
    """With the sandbox as the machine has it, with all of it, and without: what the judge says does not hang on it.
    Called with the seconds that a kernel may run.
    """
    with on_the_twin(sandbox=request.param) as (executor, plugins):
        try:
            prepare(executor, lambda _: None, Track.STATIC)
        except ExecutorError as error:
            pytest.skip(error.message)  # strict, on a machine that lacks a measure

        def judge(run_s: float) -> Judge:
            settings = JudgeSettings(compile_timeout_s=20.0, run_timeout_s=run_s)
            return Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings)

        yield judge


@pytest.fixture(scope="session")
def judge(judges: Callable[[float], Judge]) -> Judge:
    """One with time enough."""
    return judges(3.0)
