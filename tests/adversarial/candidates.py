"""Hostile candidates that lists in YAML tell, most of them as edits of one right kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Candidate", "edited", "right"]


@dataclass(frozen=True)
class Candidate:
    """A candidate, and what must be said to it."""

    name: str
    source: str
    expected: Mapping[str, Any]

    def __str__(self) -> str:
        return self.name.replace(" ", "_")


def right() -> str:
    """A right kernel, out of which the others are made."""
    return Path(__file__).with_name("judge").joinpath("right.cpp").read_text(encoding="utf-8")


def edited(text: str, edits: Iterable[Mapping[str, str]]) -> str:
    for edit in edits:
        assert text.count(edit["old"]) == 1, edit
        text = text.replace(edit["old"], edit["new"])
    return text
