"""Sections and symbols of a 64-bit ELF image: as much as is needed to look a compiled kernel over, and fast."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

__all__ = ["Elf", "Section", "Symbol"]

# as the ELF standard lays them out for 64 bits, low byte first
_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")

# numbers of the standard: a kind of section, flags of sections, kinds of symbols
PROGBITS = 1
WRITABLE, LOADED, EXECUTABLE = 0x1, 0x2, 0x4
OBJECT, FUNCTION, IFUNC = 1, 2, 10
X86_64, AARCH64 = 62, 183  # machines
# numbers of sections; from the second on they stand for something else, such as absolute values
UNDEFINED, FIRST_SPECIAL = 0, 0xFF00


class Section(NamedTuple):
    """A section: its contents lie in the file from ``offset`` on, and at ``address`` when the image is loaded;
    ``link`` is the section of its names.
    """

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    address: int


class Symbol(NamedTuple):
    """A symbol: ``kind`` is that of the ELF standard, ``section`` the index of where it is defined, ``value`` its
    address in an image.
    """

    name: str
    kind: int
    section: int
    size: int
    value: int


class Elf:
    """An image, read once. ValueError when it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tables: dict[str, tuple[Symbol, ...]] = {}
        # Read whole: an image is small, and several checks look at most of it.
        self._data = path.read_bytes()
        # The fifth byte says the class: 2 is 64 bits.
        if self._data[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path.name} is no 64-bit ELF image")
        _, _, self.machine, *_, at, _, _, _, _, entry, count, names = _HEADER.unpack_from(self._data)
        rows = [_SECTION.unpack_from(self._data, at + entry * i) for i in range(count)]
        strings = rows[names][4]
        self.sections = tuple(
            Section(self._text(strings + name), kind, flags, offset, size, link, address)
            for name, kind, flags, address, offset, size, link, *_ in rows
        )

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def contents(self, section: Section) -> bytes:
        """The section's bytes in the file."""
        return self._data[section.offset : section.offset + section.size]

    def symbols(self, table: str) -> tuple[Symbol, ...]:
        """The symbols of ``.symtab`` or ``.dynsym``; none when there is no such table."""
        if table not in self._tables:  # several checks ask for the same one
            self._tables[table] = tuple(self._read(table))
        return self._tables[table]

    def _read(self, table: str) -> Iterator[Symbol]:
        table_section = self.section(table)
        if table_section is None:
            return
        strings = self.sections[table_section.link].offset
        for name, info, _, section, value, size in _SYMBOL.iter_unpack(
            # Whole entries only: the image is the candidate's, and its table may be cut off.
            self._data[table_section.offset : table_section.offset + table_section.size // _SYMBOL.size * _SYMBOL.size]
        ):
            # the upper half of info says who sees the symbol
            yield Symbol(self._text(strings + name), info & 0xF, section, size, value)

    def _text(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode("utf-8", "replace")
