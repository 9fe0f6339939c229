"""Golden kernels out of tile programs: what a program beside a task is lowered to, for the dynamic track."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.tasks.making import sources_digest

if TYPE_CHECKING:
    from npukernelbench.tasks.making import Making

__all__ = ["LOWERED", "LoweredProgram"]


class LoweredProgram:
    """Lowers the program that a task file names. Our own programs are trusted, so that no process is started."""

    def version(self) -> str:
        """The sources of the lowering."""
        return _sources()

    def make(self, request: Making) -> Mapping[str, str]:
        """Host and device code. ProgramError, with file and line, for what is wrong with the program."""
        from npukb_tile.lowering import lower_dynamic
        from npukb_tile.parse import parse_text

        # One program each: another number of files is a fault of the task file.
        [source] = request.sources.values()
        return lower_dynamic(parse_text(source, request.path)).files


LOWERED = LoweredProgram()


@cache
def _sources() -> str:
    # Kept with the golden kernels that are stored: another lowering makes them anew.
    return sources_digest(Path(__file__).parent)
