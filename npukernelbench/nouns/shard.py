"""A part of a run: which of its samples one machine takes when several share them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.nouns.sample import SampleKey


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The ``index``-th of ``count`` parts, counted from 1; its text is ``3/16``."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise ValueError(f"{self.index}/{self.count} is no shard: they are counted from 1 to {self.count}")

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``3/16``. ValueError when it is anything else."""
        # ASCII: `\d` alone takes the digits of every script.
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
        if match is None:
            raise ValueError(f"{text!r} is no shard")
        return cls(int(match[1]), int(match[2]))

    def takes(self, key: SampleKey) -> bool:
        """Whether the sample is one of this part, with all its turns.

        Only the sample's own key decides, so a further task or a further sample moves no other one.
        """
        return derive("shard", key.task, key.case, key.track, key.index) % self.count == self.index - 1
