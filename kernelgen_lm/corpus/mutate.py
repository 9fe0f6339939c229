"""Mistakes of the kinds that models make, put into kernels that are right, so that the judge can say what is wrong.

A mutation is a small change of the text, with the misunderstanding behind it in words. Whether it breaks anything is
the judge's to say: what still is right is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import NamedTuple

import yaml

__all__ = ["Mutant", "Mutation", "mutants", "mutations"]


class Mutant(NamedTuple):
    """A wrong kernel, the mutation's name, and why it is wrong and what is right."""

    source: str
    mutation: str
    misunderstanding: str


class Mutation(NamedTuple):
    """Why a kernel is wrong, and what makes it so: one of the places that match, replaced by the expanded text."""

    why: str
    pattern: str
    text: str

    def change(self, source: str, rng: Random) -> str:
        """The source with the mistake; as it is when nothing matches."""
        matches = list(re.finditer(self.pattern, source, re.MULTILINE))
        if not matches:
            return source
        match = rng.choice(matches)
        return source[: match.start()] + match.expand(self.text) + source[match.end() :]


@cache
def mutations() -> Mapping[str, Mutation]:
    """Mutations by name."""
    rows = yaml.safe_load(files("kernelgen_lm.corpus").joinpath("mutations.yaml").read_text(encoding="utf-8"))
    return {name: Mutation(**row) for name, row in rows.items()}


# An expanded pattern cannot look a name up: it marks the name with an underscore, which is resolved here.
_OPPOSITE = {"Add": "Sub", "Max": "Min", "Sqrt": "Abs", "Exp": "Abs", "Maxs": "Mins"}


def mutants(source: str, rng: Random, most: int) -> list[Mutant]:
    """Up to ``most`` wrong kernels, each with one mutation."""
    made: list[Mutant] = []
    known = mutations()
    # Sorted, so that the draw does not depend on the order of the file.
    for name in rng.sample(sorted(known), len(known)):
        changed = known[name].change(source, rng)
        changed = re.sub(r"\b(Add|Max|Sqrt|Exp|Maxs)_\(", lambda match: f"{_OPPOSITE[match[1]]}(", changed)
        # What matches nowhere changes nothing, and would be a right kernel.
        if changed != source and len(made) < most:
            made.append(Mutant(changed, name, known[name].why))
    return made
