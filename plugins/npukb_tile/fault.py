"""What is wrong with a tile program: the line, the rule that it breaks, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from npukernelbench.errors import NpukbError, SourceLocation
from npukernelbench.nouns import Owner

__all__ = ["ProgramError"]


class ProgramError(NpukbError):
    """A tile program that does not mean anything, or means something that the AI core cannot do.

    ``rule`` is the short name of what it breaks; docs/tile.md lists them.
    """

    owner: ClassVar[Owner] = Owner.USER
    exit_code: ClassVar[int] = 3

    def __init__(self, rule: str, message: str, *, line: int = 0, remedy: str | None = None, path: Path | None = None):
        super().__init__(f"{rule}: {message}", location=SourceLocation(path, line) if path else None, remedy=remedy)
        self.rule = rule
        self.line = line
        self.detail = message
