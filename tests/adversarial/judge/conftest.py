"""Candidates out of candidates.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversarial.candidates import Candidate, edited, right
from tests.tables import read_yaml

HERE = Path(__file__).parent


class Adversary(Candidate):
    """A candidate of candidates.yaml."""

    @property
    def outcomes(self) -> list[str]:
        outcome = self.expected["outcome"]
        return outcome if isinstance(outcome, list) else [outcome]

    @property
    def owner(self) -> str:
        return str(self.expected.get("owner", "model"))

    @property
    def line(self) -> int:
        """The line marked ``// here``, 0 when there is none."""
        marked = [number for number, text in enumerate(self.source.splitlines(), 1) if text.endswith("// here")]
        return marked[0] if marked else 0


def adversaries() -> list[Adversary]:
    document = read_yaml(HERE.joinpath("candidates.yaml"))
    return [
        Adversary(name, edited(str(entry.get("source", right())), entry.get("edits", ())), entry)
        for name, entry in document["candidates"].items()
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "adversary" in metafunc.fixturenames:
        metafunc.parametrize("adversary", adversaries(), ids=str)
