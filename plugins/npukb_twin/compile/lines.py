"""From an instruction's address to the candidate's source line, by the DWARF line table of the compiled kernel.

API wrappers are inlined without a location of their own, so the line table gives the candidate's line directly.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["LineTable", "Place"]


class Place(NamedTuple):
    """A line of a source file, by its name in the candidate; line 0 when unknown."""

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
                # before version 5 of DWARF, files are counted from 1
                first = 0 if program.header["version"] >= 5 else 1
                folders = [_text(folder) for folder in program.header["include_directory"]]
                # what the first folder of version 5 is, earlier versions leave unsaid: where the compiler was called
                folders = folders if first == 0 else ["", *folders]
                names = [_name(_text(entry.name), entry.dir_index, folders) for entry in entries]
                for entry in program.get_entries():
                    state = entry.state
                    if state is None:
                        continue
                    at = state.file - first
                    name = names[at] if 0 <= at < len(names) else ""
                    # the row that ends a sequence says where code ends; behind it is no line's
                    rows.append((state.address, Place("", 0) if state.end_sequence else Place(name, state.line)))
        return rows


def _name(name: str, folder: int, folders: Sequence[str]) -> str:
    """A file's name relative to where the compiler was called; its base name when it lies elsewhere."""
    root = folders[0] if folders else ""
    parent = folders[folder] if folder < len(folders) else ""
    path = posixpath.normpath(posixpath.join(root, parent, name))
    if root and path.startswith(root.rstrip("/") + "/"):
        return path[len(root.rstrip("/")) + 1 :]
    return posixpath.basename(path) if posixpath.isabs(path) or path.startswith("..") else path


def _text(raw: object) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
