"""From an instruction's address to the candidate's source line, by the DWARF line table of the compiled kernel.

API wrappers are inlined without a location of their own, so the line table gives the candidate's line directly.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

__all__ = ["LineTable", "Place"]


class Place(NamedTuple):
    """A line of a source file, by base name; line 0 when unknown."""

    file: str
    line: int


class LineTable:
    """The line table of one image, read on first use."""

    def __init__(self, image: Path) -> None:
        self._image = image
        self._starts: list[int] | None = None
        self._places: list[Place] = []

    def place(self, pc: int) -> Place:
        """Where the instruction at offset ``pc`` came from."""
        if pc == 0:
            return Place("", 0)
        if self._starts is None:
            rows = sorted(self._read(), key=lambda row: row[0])
            self._starts = [start for start, _ in rows]
            self._places = [place for _, place in rows]
        index = bisect_right(self._starts, pc) - 1
        return self._places[index] if index >= 0 else Place("", 0)

    def _read(self) -> list[tuple[int, Place]]:
        from elftools.elf.elffile import ELFFile

        rows: list[tuple[int, Place]] = []
        with self._image.open("rb") as stream:
            elf = ELFFile(stream)
            if not elf.has_dwarf_info():
                return rows
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                if program is None:
                    continue
                entries = program.header["file_entry"]
                first = 0 if program.header["version"] >= 5 else 1
                names = [Path(entry.name.decode("utf-8", "replace")).name for entry in entries]
                for entry in program.get_entries():
                    state = entry.state
                    if state is None:
                        continue
                    at = state.file - first
                    name = names[at] if 0 <= at < len(names) else ""
                    rows.append((state.address, Place("", 0) if state.end_sequence else Place(name, state.line)))
        return rows
