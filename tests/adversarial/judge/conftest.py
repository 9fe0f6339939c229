"""Candidates out of candidates.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Adversary:
    """A candidate and what must be said to it."""

    name: str
    source: str
    expected: Mapping[str, Any]

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
    right = HERE.joinpath("right.cpp").read_text(encoding="utf-8")
    document = yaml.safe_load(HERE.joinpath("candidates.yaml").read_text(encoding="utf-8"))
    return [Adversary(name, _source(entry, right), entry) for name, entry in document["candidates"].items()]


def _source(entry: Mapping[str, Any], right: str) -> str:
    text = str(entry.get("source", right))
    for edit in entry.get("edits", ()):
        assert text.count(edit["old"]) == 1, edit
        text = text.replace(edit["old"], edit["new"])
    return text


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "adversary" in metafunc.fixturenames:
        metafunc.parametrize("adversary", adversaries(), ids=lambda one: one.name.replace(" ", "_"))
